#include "tile/plan/pair_choice.h"

namespace tartan::plan {
namespace {

// Products that a pair takes part in, and as many in all, from which on two kernels more pay.
constexpr int64_t kLeastUses = 16;
constexpr int64_t kLeastProducts = 1 << 16;

}  // namespace

std::optional<poly::PairedProduct> ChoosePairs(const poly::FlatContraction& flat,
                                               const HardwareSettings& settings) {
  if (settings.threads != 1 || !flat.is_reduction() || flat.point_count() < kLeastProducts) {
    return std::nullopt;
  }
  std::optional<poly::PairedProduct> paired = poly::PairProducts(flat);
  if (!paired) return std::nullopt;
  const int64_t pairs = paired->left.point_count() + paired->right.point_count();
  if (paired->products.point_count() < kLeastUses * pairs) return std::nullopt;
  return paired;
}

}  // namespace tartan::plan
