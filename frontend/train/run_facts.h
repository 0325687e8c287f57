// SPDX-License-Identifier: Apache-2.0
// Describes a training run, and compares it with the run of a checkpoint.
// Internal to frontend/train.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/data/dataset.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/checkpoint.h"
#include "frontend/train/fit_options.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/trainer_options.h"

namespace tartan::train {

struct RunParts {
  const onnx::OnnxModel& model;
  const std::vector<Parameter>& parameters;
  const TrainerOptions& trainer;
  const FitOptions& fit;
  const data::Dataset& dataset;
  std::vector<std::string> columns;  // that training reads
  int64_t batch = 0;
  int64_t incomplete = 0;  // examples at the end of an epoch that do not fill a batch
  bool drops_last = false;
};

// Reads up to 128 MiB of rows of each dataset, evenly spaced, for digests. Returns errors of
// Dataset.
absl::StatusOr<RunFacts> FactsOf(const RunParts& parts);

// Compares the facts of a run with those in the checkpoint at `path`. InvalidArgument names each
// difference, with both values. Differences that are allowed are appended to `notes`. A fact that
// only one of them has is not compared, except parameters.
absl::Status CompareFacts(const std::string& path, const RunFacts& stored, const RunFacts& now,
                          std::vector<std::string>* notes);

// The facts that all ranks of a run have in common, with options that a resumed run may change.
std::map<std::string, std::string> FactsToAgreeOn(const RunParts& parts, const RunFacts& facts);

}  // namespace tartan::train
