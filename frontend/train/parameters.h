// SPDX-License-Identifier: Apache-2.0
// Which of a model's initialisers are trained, and how.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/optimizer.h"

namespace tartan::train {

struct ParameterRules {
  // Regular expressions (RE2) that a whole name matches; empty: none. Trained are all floats of one
  // dimension and more but running statistics, and what `trainable` matches; where that is given,
  // nothing else is. What `frozen` matches is not.
  std::string trainable;
  std::string frozen;
  // The first group that matches a name; others have factors of 1.
  struct Group {
    std::string names;
    ParameterGroup factors;
  };
  std::vector<Group> groups;
  // No decay for parameters of one dimension: biases and what normalisations scale by.
  bool decay_vectors = true;
};

enum class Role : uint8_t {
  kWeight,      // of products and convolutions, and whatever is not told apart
  kBias,        // added
  kScale,       // multiplied after a normalisation
  kEmbedding,   // rows that are looked up
  kStatistics,  // a running mean of a BatchNormalization
  kVariance,    // a running variance
};

struct Parameter {
  std::string name;
  TensorShape shape;
  Role role = Role::kWeight;
  bool is_trained = false;
  ParameterGroup group;
  size_t input = 0;  // position among the model's inputs
  // Along which a product or convolution sums: its weights' elements for one element of its output.
  int64_t fan_in = 1;
};

// All floats among the initialisers of a model loaded with parameters_as_inputs, in the order of
// its inputs. InvalidArgument for an expression that is none, and where nothing would be trained.
absl::StatusOr<std::vector<Parameter>> FindParameters(const onnx::OnnxModel& model,
                                                      const ParameterRules& rules);

}  // namespace tartan::train
