// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/answer_request.h"

#include <signal.h>
#include <sys/prctl.h>

#include "absl/strings/str_cat.h"
#include "frontend/api/background/compiler_process.h"
#include "frontend/api/device.h"
#include "proto/program.pb.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::api {

absl::Status AnswerCompileRequest(int index, const std::function<std::string()>& read) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  DeviceOptions options;
  options.quiet = true;
  TARTAN_ASSIGN_OR_RETURN(const auto device, Device::Open(absl::StrCat(index), options));
  // Queries the compiler if it is unknown, which loads it; otherwise only compiling a program would
  // load it.
  TARTAN_RETURN_IF_ERROR(device->hal()->Settings(hal::Knowledge::kCompiler).status());
  proto::CompileRequest parsed;
  if (!parsed.ParseFromString(read()) || parsed.version() != kCompileRequestVersion ||
      device->info().platform != parsed.platform() || device->info().name != parsed.name()) {
    return absl::UnimplementedError(
        "the request comes from another version of Tartan, or is for another device");
  }
  hal::ExecutableSource source;
  source.format = parsed.format();
  source.options = parsed.options();
  TARTAN_ASSIGN_OR_RETURN(const auto built, evaluator::CompiledProgram::BuildSerialized(
                                                parsed.program(), source, device->hal()));
  if (!built->has_all_kernels()) TARTAN_RETURN_IF_ERROR(evaluator::CompileKernels(*built));
  // Results of CPUs' drivers reach the disk when the program is destroyed.
  if (device->info().type == hal::DeviceType::kGpu) EndAnswered();
  return absl::OkStatus();
}

}  // namespace tartan::api
