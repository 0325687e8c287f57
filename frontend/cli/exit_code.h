// SPDX-License-Identifier: Apache-2.0
// The exit codes of the program, and the one place that decides which an error leads to.
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

// What was being done when an error came up: the same status code means different things to a user
// when a model is read and when a device is opened.
enum class Stage { kUsage, kFile, kModel, kDevice, kRun };

// The status with the stage attached; a stage that is already attached stays.
absl::Status At(Stage stage, absl::Status status);

template <class T>
absl::StatusOr<T> At(Stage stage, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return At(stage, std::move(value).status());
}

// Without a stage, an error counts as one of kRun.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace tartan::cli
