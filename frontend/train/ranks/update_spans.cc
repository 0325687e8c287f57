// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/update_spans.h"

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

std::vector<UpdateSpan> SpansOf(absl::Span<const Parameter* const> parameters,
                                absl::Span<const int64_t> positions) {
  std::vector<UpdateSpan> spans;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterGroup& group = parameters[p]->group;
    const bool continues = !spans.empty() &&
                           spans.back().parameter.group.rate_factor == group.rate_factor &&
                           spans.back().parameter.group.decay_factor == group.decay_factor;
    if (!continues) {
      UpdateSpan& span = spans.emplace_back();
      span.parameter.is_trained = true;
      span.parameter.group = group;
      span.first = positions[p];
    }
    UpdateSpan& span = spans.back();
    const int64_t end = positions[p] + parameters[p]->shape.element_count();
    span.parameter.shape = {DataType::kFloat32, {end - span.first}};
  }
  return spans;
}

}  // namespace tartan::train
