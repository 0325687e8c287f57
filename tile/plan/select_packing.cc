// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select_packing.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tartan::plan {
namespace {

// Uses of each word, and products in all, from which on two kernels more pay.
constexpr int64_t kLeastUses = 16;
constexpr int64_t kLeastProducts = 1 << 16;

// What the device multiplies, the quickest first.
std::vector<poly::PackedForm> Forms(const HardwareSettings& settings) {
  if (settings.packed_products == 2) return {poly::PackedForm::kPairs};
  if (!settings.packs_unsigned) return {poly::PackedForm::kBytes};
  return {poly::PackedForm::kUnsignedBytes, poly::PackedForm::kPairs};
}

}  // namespace

std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings) {
  if (settings.packed_products < 2 || !flat.is_reduction() || flat.point_count() < kLeastProducts) {
    return std::nullopt;
  }
  for (const poly::PackedForm form : Forms(settings)) {
    const std::optional<poly::PackedProduct> packed = poly::PackProducts(flat, form);
    if (!packed) continue;
    const int64_t words =
        packed->operands[0].kernel.point_count() + packed->operands[1].kernel.point_count();
    if (packed->products.point_count() < kLeastUses * words) return std::nullopt;
    return form;
  }
  return std::nullopt;
}

bool MayPackBFloat16(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) {
  if (!flat.is_reduction() || flat.point_count() < kLeastProducts) return false;
  const auto packed = poly::PackProducts(flat, poly::PackedForm::kBFloat16);
  if (!packed) return false;
  std::set<ir::ValueId> constants;
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    if (is_constant[t]) constants.insert(flat.tensors[t].value);
  }
  int64_t words = 0;  // packed at each run
  for (const poly::PackedProduct::Operand& operand : packed->operands) {
    const std::vector<poly::Tensor>& read = operand.kernel.tensors;
    const bool is_packed_once =
        std::all_of(read.begin(), read.end(),
                    [&](const poly::Tensor& tensor) { return constants.count(tensor.value) > 0; });
    if (!is_packed_once) words += operand.kernel.point_count();
  }
  return packed->products.point_count() >= kLeastUses * words;
}

}  // namespace tartan::plan
