// SPDX-License-Identifier: Apache-2.0
// Selects which of a model's initialisers are trained, and with which factors.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/graph/optimizer.h"

namespace tartan::train {

struct ParameterRules {
  // RE2 expressions that must match a whole name; empty: none. By default, all floats with one or
  // more dimensions are trained, except running statistics. `trainable`, if given, selects instead
  // exactly the names it matches. Names that match `frozen` are never trained.
  std::string trainable;
  std::string frozen;
  // The first group that matches a name applies; other names have factors of 1.
  struct Group {
    std::string names;
    ParameterGroup factors;
  };
  std::vector<Group> groups;
  // Weights of matmuls that train low-rank factors instead (lora.h); the first rule that matches a
  // name applies. Other parameters are then trained only if `trainable` selects them.
  struct LoraRule {
    std::string names;
    int64_t rank = 8;
    double alpha = 8;
  };
  std::vector<LoraRule> lora;
  // True: weight decay also applies to parameters with fewer than two dimensions, which are biases
  // and scales of normalisations.
  bool decay_vectors = true;
  bool may_train_nothing = false;  // for models that are only evaluated
};

enum class Role : uint8_t {
  kWeight,      // weights of matmuls and convolutions, and all unrecognised parameters
  kBias,        // added
  kScale,       // multiplied after a normalisation
  kEmbedding,   // rows of a lookup table
  kStatistics,  // running mean of a BatchNormalization
  kVariance,    // running variance
  kFactorA,     // left low-rank factor of a frozen weight
  kFactorB,     // right one
};

struct Parameter {
  std::string name;
  TensorShape shape;
  Role role = Role::kWeight;
  bool is_trained = false;
  ParameterGroup group;
  size_t input = 0;  // index among the model's inputs
  // The number of weights that contribute to one output element of a matmul or convolution.
  int64_t fan_in = 1;
  // The rank of the low-rank factors of a frozen weight (0: none), and the scale of their matmul.
  int64_t lora_rank = 0;
  double lora_scale = 0;

  // True for states on the device: trained parameters, and running statistics that are updated.
  bool is_state(bool updates_statistics) const {
    const bool is_running = role == Role::kStatistics || role == Role::kVariance;
    return is_trained || (is_running && updates_statistics);
  }
  // True for a low-rank factor, which is no initialiser of the model.
  bool is_factor() const { return role == Role::kFactorA || role == Role::kFactorB; }
};

// Finds all float initialisers of a model loaded with parameters_as_inputs, in the order of its
// inputs, without low-rank factors. InvalidArgument for an invalid expression, and if nothing would
// be trained (except with may_train_nothing).
absl::StatusOr<std::vector<Parameter>> FindParameters(const onnx::OnnxModel& model,
                                                      const ParameterRules& rules);

// Marks the parameters that are these inputs of the model as not trained, because their values
// decide shapes. Unimplemented, with the input, for one that is not trained anyway.
absl::Status FreezeInputs(const onnx::OnnxModel& model, const std::vector<int>& inputs,
                          std::vector<Parameter>* parameters);

}  // namespace tartan::train
