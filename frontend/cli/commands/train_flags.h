// SPDX-License-Identifier: Apache-2.0
// The flags of tartan train.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/cli/commands/precision_flags.h"
#include "frontend/cli/commands/training_ranks.h"
#include "frontend/train/fit.h"

namespace tartan::cli {

struct TrainFlags {
  std::string model;
  std::string data;
  std::string validation_data;
  std::vector<std::string> shapes;  // NAME=DIMS or SIZE=NUMBER
  std::string loss = "softmax_cross_entropy";
  std::string optimizer = "adamw";
  std::string schedule = "constant";
  std::string dropout = "off";
  PrecisionFlags precision;
  std::vector<std::string> targets;     // COLUMN or INPUT=COLUMN
  std::vector<std::string> groups;      // RE:rate=X,decay=X
  std::vector<std::string> lora;        // RE:rank=N,alpha=X
  std::vector<std::string> dropout_of;  // VALUE=RATIO
  std::vector<std::string> metrics;
  std::vector<std::string> augment;
  std::string mask_text;             // V0/V1/…
  std::vector<uint8_t> mask_values;  // the same as numbers
  bool no_shuffle = false;
  bool no_check = false;
  bool channels_last = false;
  std::string log;
  std::string page;
  std::string plot;
  std::string tensorboard;
  std::string export_path;
  train::TrainerOptions trainer;
  train::FitOptions fit;
  RankFlags ranks;
};

void AddTrainFlags(CLI::App* command, TrainFlags* flags);

// Converts the flags to library options: fills `trainer` and `fit`. InvalidArgument names the flag
// or its value.
absl::Status Interpret(TrainFlags* flags);

}  // namespace tartan::cli
