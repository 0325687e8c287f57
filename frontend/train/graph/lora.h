// SPDX-License-Identifier: Apache-2.0
// Low-rank adaptation (Hu et al., 2021): a frozen weight W [m, n] is used as W + scale A B. The
// factors A [m, rank] and B [rank, n] are trained in its place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/onnx/model/onnx_model.h"
#include "frontend/train/graph/parameters.h"

namespace tartan::train {

// Freezes each parameter that a rule adapts, and appends its factors. Other parameters are frozen,
// too, unless the rules name the trainable ones. InvalidArgument for a rule that adapts nothing,
// and for a rank above the smaller size of a weight.
absl::Status AddFactors(const onnx::OnnxModel& model, const ParameterRules& rules,
                        std::vector<Parameter>* parameters);

// Parses "RE:rank=8,alpha=16"; alpha is the rank by default. InvalidArgument names the unknown
// part.
absl::StatusOr<ParameterRules::LoraRule> ParseLora(absl::string_view text);

// The names of the factors of a parameter.
std::string FactorA(const Parameter& parameter);
std::string FactorB(const Parameter& parameter);

// The value that the graph uses for a parameter: its master, or the frozen weight with its factors,
// in their type. `masters` has trained parameters by name.
absl::StatusOr<api::Tensor> ValueOf(const onnx::OnnxModel& model, const Parameter& parameter,
                                    const std::map<std::string, api::Tensor>& masters);

// The same on the host, in the parameter's own type; computed in float64.
HostTensor Merged(const HostTensor& weight, const Parameter& parameter, const HostTensor& a,
                  const HostTensor& b);

}  // namespace tartan::train
