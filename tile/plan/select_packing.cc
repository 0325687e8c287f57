// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select_packing.h"

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

}  // namespace tartan::plan
