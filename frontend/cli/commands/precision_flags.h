// SPDX-License-Identifier: Apache-2.0
// Options for training in 16-bit precision.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "frontend/train/trainer_options.h"
#include "tile/base/precision.h"

namespace tartan::cli {

struct PrecisionFlags {
  std::string precision = "float32";
  std::string loss_scale;
  std::optional<Precision> matmuls;  // set by SetPrecision for tf32, a precision of the device
};

void AddPrecisionFlags(CLI::App* command, PrecisionFlags* flags);
absl::Status SetPrecision(PrecisionFlags* flags, train::TrainerOptions* trainer);

}  // namespace tartan::cli
