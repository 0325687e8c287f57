// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/plan_cache.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Converts the plan of one kernel to a second kernel of the same form, by renaming values.
class Transfer {
 public:
  Transfer(const poly::FlatContraction& from, const poly::FlatContraction& to)
      : from_(from), to_(to) {
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
  }

  const poly::FlatContraction& from_;
  const poly::FlatContraction& to_;
  std::map<ValueId, ValueId> values_;
  bool is_clear_ = true;
};

}  // namespace

PlanCache::Remembered PlanCache::Get(const poly::FlatContraction& flat,
                                     const std::vector<bool>& is_constant,
                                     const std::function<plan::PlannedKernel()>& make) {
  std::string key = poly::FormKey(flat);
  for (bool is : is_constant) key.push_back(is ? 'c' : '-');
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    const Remembered planned = {make(), static_cast<int>(entries_.size())};
    entries_.emplace(std::move(key), Entry{flat, planned});
    return planned;
  }
  const Entry& entry = found->second;
  if (auto transferred = Transfer(entry.flat, flat).Run(entry.planned.kernel)) {
    return {*std::move(transferred), entry.planned.form};
  }
  return {make(), entry.planned.form};
}

}  // namespace tartan::compiler
