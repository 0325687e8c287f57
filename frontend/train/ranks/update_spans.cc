// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/update_spans.h"

#include <algorithm>

#include "tile/base/data_type.h"

namespace tartan::train {

bool JoinsParameters(const Optimizer& optimizer) { return optimizer.kind != OptimizerKind::kLamb; }

std::vector<SumBuffer> LayOutSums(absl::Span<const int64_t> counts, int64_t unit, int64_t most) {
  std::vector<SumBuffer> buffers;
  for (size_t t = 0; t < counts.size(); ++t) {
    int64_t position = buffers.empty() ? 0 : (buffers.back().count + unit - 1) / unit * unit;
    if (buffers.empty() || position + counts[t] > most) {
      buffers.emplace_back().first = t;
      position = 0;
    }
    buffers.back().positions.push_back(position);
    buffers.back().count = position + counts[t];
  }
  return buffers;
}

std::vector<std::vector<const Parameter*>> DivideByFactors(
    absl::Span<const Parameter* const> parameters) {
  std::vector<std::vector<const Parameter*>> divided;
  for (const Parameter* const parameter : parameters) {
    const auto found = std::find_if(divided.begin(), divided.end(), [&](const auto& others) {
      const ParameterGroup& group = others[0]->group;
      return group.rate_factor == parameter->group.rate_factor &&
             group.decay_factor == parameter->group.decay_factor;
    });
    (found == divided.end() ? divided.emplace_back() : *found).push_back(parameter);
  }
  return divided;
}

Parameter Joined(absl::Span<const Parameter* const> parameters,
                 absl::Span<const int64_t> positions) {
  Parameter joined;
  joined.is_trained = true;
  joined.group = parameters.front()->group;
  joined.shape = {DataType::kFloat32,
                  {positions.back() + parameters.back()->shape.element_count()}};
  return joined;
}

}  // namespace tartan::train
