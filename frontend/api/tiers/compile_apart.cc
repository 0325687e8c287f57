// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/compile_apart.h"

#include <string>
#include <thread>
#include <vector>

#include "frontend/api/tiers/compiler_process.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Many kernels are done in half a minute beside threads that want all processors at the
// background's priority, few with less, so that runs lose less meanwhile.
constexpr size_t kManyBytes = 500'000;
constexpr int kNicenessOfFew = 7;

}  // namespace

absl::Status CompileApart(const Device& device, const proto::Program& program,
                          const Background::GoOn& go_on) {
  const std::string compiler = CompilerProgram();
  if (compiler.empty() || device.FindCompiled(program) != nullptr) return absl::OkStatus();
  const absl::StatusOr<std::vector<std::string>> requests = device.MakeCompileRequests(program);
  if (absl::IsFailedPrecondition(requests.status())) return absl::OkStatus();
  TARTAN_RETURN_IF_ERROR(requests.status());
  size_t bytes = 0;
  for (const std::string& request : *requests) bytes += request.size();
  std::vector<absl::Status> compiled(requests->size());
  std::vector<std::thread> waiting;  // with the priority of their processes
  for (size_t r = 0; r < requests->size(); ++r) {
    waiting.emplace_back([&, r] {
      if (bytes < kManyBytes) SetNiceness(kNicenessOfFew);
      compiled[r] = CompileInProcess(compiler, device.info().index, (*requests)[r], go_on);
    });
  }
  for (std::thread& thread : waiting) thread.join();
  absl::Status first;
  for (const absl::Status& status : compiled) {
    if (!absl::IsUnimplemented(status)) first.Update(status);
  }
  return first;
}

}  // namespace tartan::api
