// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/plan_memo.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tile/poly/form_key.h"

namespace tartan::fuse {
namespace {

using ir::ValueId;

// Converts the plan of one kernel to a second kernel of the same form, by renaming values.
class Transfer {
 public:
  Transfer(const poly::FlatContraction& from, const poly::FlatContraction& to, bool takes_comments)
      : from_(from), to_(to), takes_comments_(takes_comments) {
    for (size_t t = 0; t < from.tensors.size(); ++t) {
      Map(from.tensors[t].value, to.tensors[t].value);
    }
    for (size_t o = 0; o < from.outputs.size(); ++o) {
      Map(from.outputs[o].value, to.outputs[o].value);
    }
  }

  // Returns nothing if a value of the plan does not map to exactly one value of the second kernel.
  std::optional<plan::PlannedKernel> Run(plan::PlannedKernel planned) {
    Change(&planned.flat);
    for (plan::PackedOperand& packed : planned.packed) {
      Change(&packed.source);
      Change(&packed.copy);
    }
    if (!is_clear_) return std::nullopt;
    return planned;
  }

 private:
  void Map(ValueId from, ValueId to) {
    const auto [place, is_new] = values_.emplace(from, to);
    is_clear_ = is_clear_ && (is_new || place->second == to);
  }

  void Change(ValueId* value) {
    if (*value == ir::kNoValue) return;
    const auto found = values_.find(*value);
    is_clear_ = is_clear_ && found != values_.end();
    if (found != values_.end()) *value = found->second;
  }

  void Change(poly::FlatContraction* flat) {
    for (poly::Tensor& tensor : flat->tensors) Change(&tensor.value);
    for (poly::Output& output : flat->outputs) Change(&output.value);
    if (absl::StartsWith(flat->name, from_.name)) {
      flat->name = absl::StrCat(to_.name, flat->name.substr(from_.name.size()));
    }
    if (takes_comments_ && flat->comments == from_.comments) flat->comments = to_.comments;
  }

  const poly::FlatContraction& from_;
  const poly::FlatContraction& to_;
  const bool takes_comments_;  // the result has the comments of `to`
  std::map<ValueId, ValueId> values_;
  bool is_clear_ = true;
};

// Returns, for each tensor and output, the position of the first one with the same value.
std::string EqualValues(const poly::FlatContraction& flat) {
  std::vector<ValueId> values;
  for (const poly::Tensor& tensor : flat.tensors) values.push_back(tensor.value);
  for (const poly::Output& output : flat.outputs) values.push_back(output.value);
  std::string positions;
  for (const ValueId value : values) {
    const auto first = std::find(values.begin(), values.end(), value);
    absl::StrAppend(&positions, ",", first - values.begin());
  }
  return positions;
}

// Returns a key of kernels with equal form numbers.
std::string KeyOfForm(Planner planner, const poly::FlatContraction& flat,
                      const plan::LaunchContext& launch) {
  return absl::StrCat(fuse::FormOf(flat, launch), std::string(1, static_cast<char>(planner)));
}

}  // namespace

std::string FormOf(const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
  // The binding names every member, so that a new member does not compile until it is added here.
  const auto& [is_constant, copied_bytes, stays_in_cache] = launch;
  std::string key = poly::FormKey(flat);
  for (bool is : is_constant) key.push_back(is ? 'c' : '-');
  absl::StrAppend(&key, copied_bytes, stays_in_cache ? "s" : "");
  return key;
}

std::string PlanMemo::KeyOf(Planner planner, const poly::FlatContraction& flat,
                            const plan::LaunchContext& launch) {
  return absl::StrCat(KeyOfForm(planner, flat, launch), EqualValues(flat));
}

bool PlanMemo::Has(Planner planner, const poly::FlatContraction& flat,
                   const plan::LaunchContext& launch) const {
  return entries_.count(KeyOf(planner, flat, launch)) > 0;
}

Planned PlanMemo::Get(Planner planner, const poly::FlatContraction& flat,
                      const plan::LaunchContext& launch, bool is_launch,
                      const std::function<plan::PlannedKernel()>& make) {
  std::string key = KeyOf(planner, flat, launch);
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    const int next = static_cast<int>(forms_.size());
    const int form = forms_.emplace(KeyOfForm(planner, flat, launch), next).first->second;
    const Planned planned = {make(), form};
    entries_.emplace(std::move(key), Entry{flat, planned, is_launch});
    return planned;
  }
  Entry& entry = found->second;
  const bool is_first = is_launch && !entry.is_launch;
  if (auto transferred = Transfer(entry.flat, flat, is_first).Run(entry.planned.kernel)) {
    const Planned planned = {*std::move(transferred), entry.planned.form};
    if (is_first) entry = {flat, planned, true};
    return planned;
  }
  return {make(), entry.planned.form};
}

}  // namespace tartan::fuse
