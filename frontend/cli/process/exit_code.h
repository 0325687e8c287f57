// SPDX-License-Identifier: Apache-2.0
// The program's exit codes, and the mapping from errors to them.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tartan::cli {

enum class ExitCode : int {
  kDone = 0,
  kComparisonFailed = 1,
  kUsage = 2,
  kModel = 3,   // the model or Tile text is invalid or not supported
  kDevice = 4,  // no such device
  kKernel = 5,  // a kernel did not build or run
  kFile = 6,    // a file could not be read or written
  kMemory = 7,
  kInterrupted = 130,
};

// The activity during which an error occurred. The same status code means different things when
// reading a model and when opening a device.
enum class Stage { kUsage, kFile, kModel, kDevice, kRun };

// Returns the status with the stage attached; an attached stage is kept.
absl::Status At(Stage stage, absl::Status status);

template <class T>
absl::StatusOr<T> At(Stage stage, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return At(stage, std::move(value).status());
}

// Errors without a stage count as kRun.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace tartan::cli
