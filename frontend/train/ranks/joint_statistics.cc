// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/ranks/joint_statistics.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/train/ranks/joined_sums.h"

namespace tartan::train {
namespace {

constexpr char kStatistics[] = "statistics/";

}  // namespace

std::string OwnStatistics(size_t k) { return absl::StrCat(kStatistics, "own/", k); }
std::string AllStatistics(size_t k) { return absl::StrCat(kStatistics, "all/", k); }

bool IsStatistics(absl::string_view state) { return absl::StartsWith(state, kStatistics); }

JointStatistics::JointStatistics(api::BoundGraph* graph) {
  std::vector<std::pair<api::Tensor, api::Tensor>> updates;
  for (auto& [tensor, value] : graph->updates) {
    // Only an exchange has another rank: one tensor is of a single process, the other of all.
    const int64_t rank = tensor.rank();
    if (rank == value.rank()) {
      updates.emplace_back(std::move(tensor), std::move(value));
    } else if (rank > value.rank()) {
      forward_.push_back({api::Tensor::Placeholder("own", value.shape()), value, tensor});
    } else {
      backward_.insert(backward_.begin(), {tensor, api::Tensor(), value});
    }
  }
  graph->updates = std::move(updates);
}

absl::StatusOr<api::Tensor> JointStatistics::ScaleByExample(const api::Tensor& scale,
                                                            const api::Tensor& weights) const {
  if (forward_.empty()) return scale;
  // The ranks have weights in proportion to the elements of a normalised channel. All ranks get the
  // same bits.
  return api::Apply(
      absl::StrCat("function (S, OWN, ALL) -> (R) { E[] = +(OWN[0, 0]); N[] = +(ALL[r, 0, 0]); "
                   "R = S / (N * (as_float(",
                   weights.shape().element_count(), ", 32) / E)); }"),
      {scale, forward_.front().next, forward_.front().all}, "scale_by_example");
}

absl::StatusOr<api::Tensor> JointStatistics::SeedOf(const api::Tensor& scale,
                                                    const api::Tensor& weight) const {
  if (forward_.empty()) return scale;
  return WeightedSeed(scale, weight);
}

void JointStatistics::AppendTo(std::vector<api::Tensor>* wrt) const {
  for (const Exchange& exchange : backward_) wrt->push_back(exchange.own);
}

void JointStatistics::AddStates(std::vector<api::Tensor>* gradients, AddState add) const {
  std::vector<Exchange> all = forward_;
  size_t next = gradients->size() - backward_.size();
  for (const Exchange& exchange : backward_) {
    all.push_back({exchange.own, std::move((*gradients)[next++]), exchange.all});
  }
  gradients->resize(gradients->size() - backward_.size());
  for (size_t k = 0; k < all.size(); ++k) {
    add(OwnStatistics(k), all[k].own, all[k].next);
    add(AllStatistics(k), all[k].all, api::Tensor());
  }
}

}  // namespace tartan::train
