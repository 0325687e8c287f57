// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/batch_bindings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tartan::train {

absl::StatusOr<std::vector<api::InputBinding>> BindBatch(
    const onnx::OnnxModel& model, absl::Span<const std::pair<std::string, TensorShape>> shapes) {
  std::vector<api::InputBinding> bindings(model.inputs().size());
  for (size_t i = 0; i < model.own_input_count(); ++i) {
    const api::TensorSpec& spec = model.inputs()[i];
    const auto given = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const auto& input) { return input.first == spec.name; });
    if (given == shapes.end()) {
      bindings[i].given = false;
      if (spec.is_optional) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.name, "' is missing: ", spec.ToString()));
    }
    bindings[i].shape = given->second;
    bindings[i].tensor = api::Tensor::Placeholder(spec.name, given->second);
  }
  return bindings;
}

}  // namespace tartan::train
