// SPDX-License-Identifier: Apache-2.0
// tartan compile-kernels: compiles kernels on behalf of another process, so that a crash of the
// driver's compiler does not end that process. Internal: it reads a proto::CompileRequest from
// stdin and reports only its exit code.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <string>

#include "frontend/api/background/compiler_process.h"
#include "frontend/api/tiers/answer_request.h"
#include "frontend/cli/commands/commands.h"

namespace tartan::cli {
namespace {

std::string ReadStdin() {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
    count = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (count > 0) text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

absl::StatusOr<ExitCode> Run(int device) {
  const absl::Status done = api::AnswerCompileRequest(device, [] {
    api::AwaitRequest();
    return ReadStdin();
  });
  if (done.ok()) return ExitCode::kDone;
  return At(absl::IsUnimplemented(done) ? Stage::kUsage : Stage::kRun, done);
}

}  // namespace

Command AddCompileKernels(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand(std::string(api::kCompileCommand), "Compile kernels for another process");
  command->group("");  // hidden from the help
  const auto device = std::make_shared<int>(0);
  command->add_option("device", *device, "Index of the device")->required();
  return {command, [device](const Context&) { return Run(*device); }};
}

}  // namespace tartan::cli
