// SPDX-License-Identifier: Apache-2.0
// What a trainer is told.
#pragma once

#include <cstdint>
#include <string>

#include "frontend/onnx/import/training_mode.h"
#include "frontend/train/augment.h"
#include "frontend/train/loss.h"
#include "frontend/train/optimizer.h"
#include "frontend/train/parameters.h"
#include "frontend/train/precision/precision.h"

namespace tartan::train {

struct TrainerOptions {
  Loss loss;
  // The value of the graph that the loss sees; empty: the model's first output. Where the loss
  // takes scores and a Softmax (or Sigmoid) makes them, it sees what that is made of.
  std::string output;
  Optimizer optimizer;
  double clip_norm = 0;    // of all gradients together; 0: none
  double clip_value = 0;   // of each element; 0: none
  int64_t accumulate = 1;  // steps whose gradients are averaged for one update
  // How values of a step lie in memory; the loss is scaled with kFloat16.
  Precision precision = Precision::kFloat32;
  LossScale loss_scale;
  ParameterRules rules;
  onnx::TrainingMode mode;
  Augmentations augment;  // of the inputs that are pictures; not of targets
  // Gradients pass straight through numbers that are quantised within their range, as if they were
  // not rounded: models that QuantizeLinear and its kin make of floats can be trained.
  bool straight_through = false;
  bool initialize = false;  // parameters and running statistics begin anew (initialize.h)
  uint64_t seed = 0;        // of dropout and first values
  // Bytes on the device of all that training has there; 0: any. Steps make values again that they
  // would have to keep otherwise. Where that is not enough nothing is trained: ResourceExhausted,
  // with the least that would be.
  int64_t memory_budget = 0;
  bool profile = false;  // steps are timed kernel by kernel, one at a time
};

}  // namespace tartan::train
