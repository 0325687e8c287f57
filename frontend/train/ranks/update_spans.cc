// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/update_spans.h"

#include "absl/strings/str_cat.h"
#include "tile/base/data_type.h"

namespace tartan::train {

bool JoinsParameters(const Optimizer& optimizer) { return optimizer.kind != OptimizerKind::kLamb; }

std::vector<UpdateSpan> SpansOf(absl::Span<const Parameter* const> parameters,
                                absl::Span<const int64_t> offsets) {
  const int64_t width = ByteWidth(DataType::kFloat32);
  std::vector<UpdateSpan> spans;
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterGroup& group = parameters[p]->group;
    const bool continues = !spans.empty() &&
                           spans.back().parameter.group.rate_factor == group.rate_factor &&
                           spans.back().parameter.group.decay_factor == group.decay_factor;
    if (!continues) {
      UpdateSpan& span = spans.emplace_back();
      span.parameter.name = absl::StrCat("span", spans.size());
      span.parameter.is_trained = true;
      span.parameter.group = group;
      span.offset = offsets[p];
    }
    UpdateSpan& span = spans.back();
    const int64_t end = offsets[p] / width + parameters[p]->shape.element_count();
    span.parameter.shape = {DataType::kFloat32, {end - span.offset / width}};
  }
  return spans;
}

}  // namespace tartan::train
