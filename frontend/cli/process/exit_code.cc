// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/process/exit_code.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/types/optional.h"

namespace tartan::cli {
namespace {

constexpr char kStageUrl[] = "tartan/stage";

Stage StageOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kStageUrl);
  if (!payload.has_value()) return Stage::kRun;
  return static_cast<Stage>(std::string(*payload)[0]);
}

ExitCode WhileReadingModel(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnavailable:
      return ExitCode::kFile;
    case absl::StatusCode::kInternal:
      return ExitCode::kKernel;
    default:
      return ExitCode::kModel;
  }
}

ExitCode WhileRunning(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kModel;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kDevice;
    default:
      return ExitCode::kKernel;
  }
}

}  // namespace

absl::Status At(Stage stage, absl::Status status) {
  if (!status.ok() && !status.GetPayload(kStageUrl).has_value()) {
    status.SetPayload(kStageUrl, absl::Cord(std::string(1, static_cast<char>(stage))));
  }
  return status;
}

ExitCode ExitCodeFor(const absl::Status& status) {
  if (status.ok()) return ExitCode::kDone;
  if (status.code() == absl::StatusCode::kResourceExhausted) return ExitCode::kMemory;
  if (status.code() == absl::StatusCode::kAborted) return ExitCode::kFile;  // a full disk
  switch (StageOf(status)) {
    case Stage::kUsage:
      return ExitCode::kUsage;
    case Stage::kFile:
      return ExitCode::kFile;
    case Stage::kModel:
      return WhileReadingModel(status.code());
    case Stage::kDevice:
      return status.code() == absl::StatusCode::kPermissionDenied ? ExitCode::kFile
                                                                  : ExitCode::kDevice;
    case Stage::kRun:
      return WhileRunning(status.code());
  }
  return ExitCode::kKernel;
}

}  // namespace tartan::cli
