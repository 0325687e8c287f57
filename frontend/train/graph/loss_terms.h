// SPDX-License-Identifier: Apache-2.0
// Helpers of the losses: their Tile functions return the terms of a batch. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/train/graph/loss.h"

namespace tartan::train {

// The function `rule` of a custom_gradient in a loss, and the values that it reads, which the loss
// keeps (", MAX, LOGSUM").
struct GradientRule {
  std::string text;
  std::string read;
};

// Applies the function (names) -> (NUM, DEN) that the statements define.
absl::StatusOr<LossTerms> ApplyTerms(const std::vector<std::string>& names,
                                     const std::vector<std::string>& statements,
                                     const std::vector<api::Tensor>& inputs, absl::string_view what,
                                     const GradientRule& rule = {});

// InvalidArgument with the loss, both shapes and the reason. `target` may be undefined.
absl::Status DoNotFit(const Loss& loss, const api::Tensor& output, const api::Tensor& target,
                      absl::string_view why);

// `target`[first dimension] = sum of `value` over the other indices of `dims`.
std::string SumByExample(absl::string_view target, const std::vector<int64_t>& dims,
                         absl::string_view value);

// Appends `name`[count] = value.
void AppendRepeated(absl::string_view name, int64_t count, double value,
                    std::vector<std::string>* statements);

// `share`^gamma. Its gradient is finite for a share of 0, too.
std::string FocalFactor(absl::string_view share, double gamma);

int64_t ElementsPerExample(const std::vector<int64_t>& dims);

}  // namespace tartan::train
