// SPDX-License-Identifier: Apache-2.0
// Options for training in 16-bit precision.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "frontend/train/trainer_options.h"

namespace tartan::cli {

struct PrecisionFlags {
  std::string precision = "float32";
  std::string loss_scale;
};

void AddPrecisionFlags(CLI::App* command, PrecisionFlags* flags);
absl::Status SetPrecision(const PrecisionFlags& flags, train::TrainerOptions* trainer);

}  // namespace tartan::cli
