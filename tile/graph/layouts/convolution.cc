// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/layouts/convolution.h"

#include <algorithm>

namespace tartan::graph {
namespace {

bool IsConvolutionOf(const ir::Access& output, const ir::Access& data, const ir::Access& weights,
                     size_t channels) {
  const auto depends_on_weights = [&](const math::Affine& poly) {
    return std::any_of(weights.indices.begin(), weights.indices.end(),
                       [&](const math::Affine& index) { return ShareVariable(poly, index); });
  };
  const size_t rank = output.indices.size();
  if (data.indices.size() != rank || !depends_on_weights(output.indices[channels])) return false;
  for (size_t d = 0; d < rank; ++d) {
    if (d != channels && !ShareVariable(output.indices[d], data.indices[d])) return false;
  }
  return true;
}

}  // namespace

bool ShareVariable(const math::Affine& a, const math::Affine& b) {
  const size_t count = std::min(a.coefficients.size(), b.coefficients.size());
  for (size_t i = 0; i < count; ++i) {
    if (!a.coefficients[i].is_zero() && !b.coefficients[i].is_zero()) return true;
  }
  return false;
}

std::optional<Convolution> AsConvolution(const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  if (contraction == nullptr || contraction->aggregation != Aggregation::kSum ||
      contraction->combination != Combination::kMultiply || contraction->inputs.size() != 2) {
    return std::nullopt;
  }
  const std::vector<ir::Access>& inputs = contraction->inputs;
  const int rank = static_cast<int>(contraction->output.indices.size());
  if (rank < 3) return std::nullopt;
  for (const int channels : {1, rank - 1}) {
    for (const int data : {0, 1}) {
      if (IsConvolutionOf(contraction->output, inputs[data], inputs[1 - data],
                          static_cast<size_t>(channels))) {
        return Convolution{contraction, data, 1 - data, channels};
      }
    }
  }
  return std::nullopt;
}

}  // namespace tartan::graph
