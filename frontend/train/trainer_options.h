// SPDX-License-Identifier: Apache-2.0
// Options of a trainer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/train/augment.h"
#include "frontend/train/graph/loss.h"
#include "frontend/train/graph/optimizer.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/precision/precision.h"
#include "frontend/train/ranks/gradient_exchange.h"
#include "frontend/train/ranks/shard.h"

namespace tartan::train {

struct TrainerOptions {
  Loss loss;
  // The graph value that the loss is applied to; empty: the model's first output. If the loss takes
  // scores and a Softmax (or Sigmoid) computes the value, the loss is applied to the input of the
  // Softmax.
  std::string output;
  Optimizer optimizer;
  double clip_norm = 0;   // limit of the norm of all gradients; 0: none
  double clip_value = 0;  // limit of each element; 0: none
  // Embeddings change only in the rows that a batch reads (graph/sparse_rows.h).
  bool sparse_embeddings = false;
  int64_t accumulate = 1;  // number of steps whose gradients are averaged for one update
  // Storage type of values in a step; the loss is scaled with kFloat16. Factors of matmuls have 16
  // bits with it, otherwise the device's precision.
  Precision precision = Precision::kFloat32;
  LossScale loss_scale;
  ParameterRules rules;
  onnx::TrainingMode mode;
  // Batch normalization by the examples of all ranks, as in one process. Implies mode.batch_norm.
  bool sync_batch_norm = false;
  Augmentations augment;  // applied to inputs that are pictures, not to targets
  // Straight-through estimator: gradients pass unchanged through quantisation within its range.
  // Models with QuantizeLinear and similar operators on floats can be trained.
  bool straight_through = false;
  bool initialize = false;  // reset parameters and running statistics (initialize.h)
  uint64_t seed = 0;        // seed of dropout and initial values
  // Limit in bytes of all device memory of training; 0: none. Steps recompute values instead of
  // keeping them. If that does not suffice, training fails with ResourceExhausted, which has the
  // minimum budget.
  int64_t memory_budget = 0;
  // The ranks of a data-parallel run; null: one process trains.
  std::shared_ptr<GradientExchange> exchange;
  // The states that the ranks divide among them.
  Shard shard = Shard::kNone;
  // Type in which the ranks exchange gradients: float32, or bfloat16 without accumulation.
  DataType gradient_type = DataType::kFloat32;
  // Bytes of gradients that the ranks add at once; 0: what suits the exchange.
  int64_t bucket_bytes = 0;
  bool profile = false;  // time steps kernel by kernel, one step at a time
};

// InvalidArgument or Unimplemented for options out of range, and options that exclude each other.
absl::Status CheckTrainerOptions(const TrainerOptions& options);

}  // namespace tartan::train
