// SPDX-License-Identifier: Apache-2.0
// Which outputs of a model are its inputs in the next run.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"

namespace tartan::api {

struct StatePair {
  std::string present;  // an output
  std::string past;     // the input that has its value in the next run
};

// "NAME=NAME". InvalidArgument where it is nothing of that kind.
absl::StatusOr<StatePair> ParseStatePair(absl::string_view text);

// Those whose names say so, in the order of the inputs: "past_key_values.0.key" and
// "present.0.key", "past_0" and "present_0", "past_conv.3" and "present_conv.3".
std::vector<StatePair> UsualStatePairs(const Model& model);

// Positions of a pair's output and input.
struct StatePlaces {
  size_t output = 0;
  size_t input = 0;
};

// InvalidArgument for a name that is no input or output of the model (listing those it has), for
// one in two pairs, and for two of different types.
absl::StatusOr<std::vector<StatePlaces>> FindStates(const Model& model,
                                                    const std::vector<StatePair>& pairs);

// A model's inputs and outputs that are no states.
struct FreeValues {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
};
FreeValues FreeOf(const Model& model, const std::vector<StatePlaces>& states);

// What a state is that was never set: sizes that the model leaves open are those that `values` (of
// all inputs; null for what is left out) have under the same name, 1 for the first size of all and
// 0 for others. InvalidArgument where the model does not say its rank or type.
absl::StatusOr<TensorShape> FirstShape(const Model& model, size_t input,
                                       absl::Span<const HostTensor* const> values);

}  // namespace tartan::api
