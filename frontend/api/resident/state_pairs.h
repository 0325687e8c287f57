// SPDX-License-Identifier: Apache-2.0
// Pairs of model outputs and inputs: the output's value becomes the input's value in the next run.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"

namespace tartan::api {

struct StatePair {
  std::string present;  // an output
  std::string past;     // the input that gets its value in the next run
};

// Parses "NAME=NAME". InvalidArgument for other texts.
absl::StatusOr<StatePair> ParseStatePair(absl::string_view text);

// Pairs recognised by usual names, in the order of the inputs: "past_key_values.0.key" and
// "present.0.key", "past_0" and "present_0", "past_conv.3" and "present_conv.3".
std::vector<StatePair> UsualStatePairs(const Model& model);

// Indices of a pair's output and input.
struct StatePlaces {
  size_t output = 0;
  size_t input = 0;
};

// InvalidArgument in three cases: a name is no input or output of the model (listing its names), a
// name is in two pairs, or the types of a pair differ.
absl::StatusOr<std::vector<StatePlaces>> FindStates(const Model& model,
                                                    const std::vector<StatePair>& pairs);

// A model's inputs and outputs that are not states.
struct FreeValues {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};
FreeValues FreeOf(const Model& model, const std::vector<StatePlaces>& states);

// The shape of a state that was never set. A dimension that the model leaves open has the size that
// another input has under the same name. Otherwise it is 1 if it is the first dimension, else 0.
// `shapes` covers all inputs, null for those left out. InvalidArgument if the model does not
// declare rank or type.
absl::StatusOr<TensorShape> FirstShape(const Model& model, size_t input,
                                       absl::Span<const TensorShape* const> shapes);

}  // namespace tartan::api
