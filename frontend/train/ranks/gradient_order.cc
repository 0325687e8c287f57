// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/gradient_order.h"

#include <algorithm>
#include <map>
#include <string>

namespace tartan::train {

std::vector<const Parameter*> InOrderOfGradients(const onnx::OnnxModel& model,
                                                 const std::vector<Parameter>& parameters) {
  std::map<std::string, size_t> first_use;  // numbers of nodes by value
  const std::vector<onnx::NodeSummary> nodes = model.Nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const std::string& value : nodes[n].inputs) first_use.try_emplace(value, n);
  }
  // Low-rank factors are used with their weight.
  const auto use = [&](const Parameter* parameter) {
    const auto found = first_use.find(model.inputs()[parameter->input].name);
    return found == first_use.end() ? 0 : found->second;
  };
  std::vector<const Parameter*> ordered;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (parameter->is_trained && parameter->shape.element_count() > 0)
      ordered.push_back(&*parameter);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Parameter* a, const Parameter* b) { return use(a) > use(b); });
  return ordered;
}

}  // namespace tartan::train
