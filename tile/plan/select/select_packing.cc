// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/select/select_packing.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tartan::plan {
namespace {

constexpr int64_t kMinUses = 16;  // minimum uses per word that repay two more kernels; empirical
constexpr int64_t kMinProducts = 1 << 16;  // minimum multiply-adds that repay them; empirical
// Minimum multiply-adds on a GPU. The launches for row maxima, integers and packing take about 8
// us, the time of that many float multiply-adds.
constexpr int64_t kMinQuantizedOnGpu = 1 << 29;

// The forms that the device supports, fastest first.
std::vector<poly::PackedForm> Forms(const HardwareSettings& settings) {
  if (settings.packed_dot_width == 2) return {poly::PackedForm::kPairs};
  if (!settings.packs_unsigned) return {poly::PackedForm::kBytes};
  return {poly::PackedForm::kUnsignedBytes, poly::PackedForm::kPairs};
}

// Number of words that are packed in each run. Constants packed at load cost nothing on CPUs; on
// GPUs they count, because few rows have other kernels there.
int64_t WordsOfEachRun(const poly::FlatContraction& flat, const poly::PackedMatmul& product,
                       const HardwareSettings& settings, const std::vector<bool>& is_constant) {
  std::set<ir::ValueId> constants;
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    if (is_constant[t] && settings.threads == 1) constants.insert(flat.tensors[t].value);
  }
  int64_t words = 0;
  for (size_t factor = 0; factor < 2; ++factor) {
    const poly::FlatContraction& packing = product.operands[factor].kernel;
    const std::vector<poly::Tensor>& read = packing.tensors;
    const bool is_packed_once =
        std::all_of(read.begin(), read.end(),
                    [&](const poly::Tensor& tensor) { return constants.count(tensor.value) > 0; });
    if (!is_packed_once) words += packing.point_count();
  }
  return words;
}

bool IsWorthPacking(const poly::FlatContraction& flat, const poly::PackedMatmul& product,
                    const HardwareSettings& settings, const std::vector<bool>& is_constant) {
  return product.products.point_count() >=
         kMinUses * WordsOfEachRun(flat, product, settings, is_constant);
}

}  // namespace

std::optional<poly::PackedForm> SelectPackedForm(const poly::FlatContraction& flat,
                                                 const HardwareSettings& settings,
                                                 const std::vector<bool>& is_constant) {
  if (settings.packed_dot_width < 2 || !flat.is_reduction() || flat.point_count() < kMinProducts) {
    return std::nullopt;
  }
  for (const poly::PackedForm form : Forms(settings)) {
    const std::optional<poly::PackedMatmul> packed = poly::PackMatmul(flat, form);
    if (!packed) continue;
    if (!IsWorthPacking(flat, *packed, settings, is_constant)) return std::nullopt;
    return form;
  }
  return std::nullopt;
}

bool MayPackFloats(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   const std::vector<bool>& is_constant) {
  if (!flat.is_reduction() || flat.point_count() < kMinProducts) return false;
  const auto packed = poly::PackMatmul(flat, poly::PackedForm::kBFloat16);
  return packed && IsWorthPacking(flat, *packed, settings, is_constant);
}

bool MayQuantize(const poly::FlatContraction& flat, const HardwareSettings& settings,
                 const std::vector<bool>& is_constant) {
  const int64_t least = settings.threads == 1 ? kMinProducts : kMinQuantizedOnGpu;
  return flat.point_count() >= least && MayPackFloats(flat, settings, is_constant);
}

}  // namespace tartan::plan
