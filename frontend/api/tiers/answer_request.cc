// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/answer_request.h"

#include <signal.h>
#include <sys/prctl.h>

#include "absl/strings/str_cat.h"
#include "frontend/api/device.h"
#include "proto/program.pb.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::api {

absl::Status AnswerCompileRequest(const std::string& request) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  proto::CompileRequest parsed;
  if (!parsed.ParseFromString(request) || parsed.version() != kCompileRequestVersion) {
    return absl::UnimplementedError("the request is of another version");
  }
  DeviceOptions options;
  options.quiet = true;
  TARTAN_ASSIGN_OR_RETURN(const auto device, Device::Open(absl::StrCat(parsed.device()), options));
  if (device->info().platform != parsed.platform() || device->info().name != parsed.name()) {
    return absl::UnimplementedError("the device is another");
  }
  hal::ExecutableSource source;
  source.format = parsed.format();
  source.options = parsed.options();
  TARTAN_ASSIGN_OR_RETURN(const auto built, evaluator::CompiledProgram::BuildSerialized(
                                                parsed.program(), source, device->hal()));
  return built->has_all_kernels() ? absl::OkStatus() : evaluator::CompileKernels(*built);
}

}  // namespace tartan::api
