// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/compile_in_processes.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "frontend/api/background/compiler_process.h"
#include "tile/base/cancellation.h"
#include "tile/base/status_macros.h"

namespace tartan::api {

absl::Status CompileInProcesses(const Device& device, const proto::Program& program,
                                const Background::ContinueCallback& should_continue) {
  const std::string compiler = CompilerProgram();
  if (compiler.empty() || device.FindCompiled(program) != nullptr) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> requests = device.MakeCompileRequests(program);
  if (absl::IsFailedPrecondition(requests.status())) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(requests.status());
  std::vector<absl::Status> compiled(requests->size());
  std::atomic<size_t> next = 0;
  const auto compile = [&] {
    for (size_t r = next++; r < requests->size(); r = next++) {
      compiled[r] = CompileInIdleTime(compiler, device.info().index, (*requests)[r],
                                      should_continue, IdleTime::OfProcess());
    }
  };
  std::vector<std::thread> others;  // each waits for one process
  if (!IdleTime::OfProcess().has_few_processors()) {
    while (others.size() + 1 < requests->size()) others.emplace_back(compile);
  }
  compile();
  for (std::thread& other : others) other.join();
  absl::Status first;
  for (const absl::Status& status : compiled) {
    if (absl::IsCancelled(status)) return status;
    if (!absl::IsUnimplemented(status)) first.Update(status);
  }
  return first;
}

absl::Status CompileSeparately(const Device& device, const proto::Program& program) {
  return CompileInProcesses(device, program, [cancellation = Cancellation::OfThread()] {
    IdleTime::OfProcess().MayWork();  // stops and continues the compiler
    return cancellation == nullptr || !cancellation->is_cancelled();
  });
}

}  // namespace tartan::api
