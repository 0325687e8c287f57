// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/epilogue_stores.h"

#include <algorithm>
#include <bitset>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace tartan::graph {
namespace {

using ir::ValueId;

// The epilogue of one reduction.
class Epilogue {
 public:
  // `members`: the reduction and the values after it in its kernel, in program order.
  Epilogue(const EpilogueValues& in, int max_operations, std::vector<ValueId> members)
      : in_(in), max_operations_(max_operations), members_(std::move(members)) {}

  std::vector<ValueId> Stores() {
    for (const ValueId v : members_) Classify(v);
    while (!candidates_.empty() && StoreBase()) {
    }
    stored_.insert(candidates_.begin(), candidates_.end());
    return {stored_.begin(), stored_.end()};
  }

 private:
  // The operations between stored values and one that is computed from them, by position in
  // `members_`. Later members are stored.
  using Chain = std::bitset<128>;

  const ir::Value& value(ValueId v) const { return in_.program.values[v]; }
  int64_t Count(ValueId v) const { return value(v).shape.element_count(); }
  bool IsInside(ValueId v) const { return in_.regions[v] == members_.front(); }

  // The value in memory from which readers take `v`.
  ValueId StoredForm(ValueId v) const {
    const ValueId narrow = in_.narrow[v];
    return narrow != ir::kNoValue && IsInside(narrow) ? narrow : v;
  }

  // Finds the other kernels that read the value, and whether each could compute it.
  void Classify(ValueId v) {
    const ValueId stored = StoredForm(v);
    const bool is_epilogue = in_.kinds[v] == Kind::kPointwise || in_.kinds[v] == Kind::kReshape;
    bool is_read = is_epilogue && in_.users[v].empty();
    bool may_recompute = is_epilogue && !is_read;
    for (const ValueId user : in_.users[v]) {
      if (IsInside(user)) continue;
      is_read = true;
      may_recompute = may_recompute && MayRecompute(user, v);
      readers_[stored].insert(KernelOf(user));
    }
    if (in_.in_memory[v]) stored_.insert(v);
    if (!is_read || !is_epilogue) return;
    if (!may_recompute || in_.in_memory[stored]) {
      stored_.insert(stored);
      candidates_.erase(stored);
    } else if (stored_.count(stored) == 0) {
      candidates_.insert(stored);
    }
  }

  // The value whose kernel computes `v`: an elementwise operation with a single user may be inlined
  // into it.
  ValueId KernelOf(ValueId v) const {
    while (in_.regions[v] == ir::kNoValue && in_.kinds[v] == Kind::kPointwise &&
           !in_.in_memory[v] && in_.users[v].size() == 1) {
      v = in_.users[v].front();
    }
    return in_.regions[v] == ir::kNoValue ? v : in_.regions[v];
  }

  // Returns true if the kernel of `user` needs each element of `v` once, at its own position.
  bool MayRecompute(ValueId user, ValueId v) const {
    if (std::holds_alternative<ir::Elementwise>(value(user).op)) return Count(user) == Count(v);
    return in_.kinds[user] == Kind::kRoot && in_.spaces[user].has_value() &&
           PointsOf(in_.spaces[user]) <= Count(v);
  }

  // Returns true if every kernel can read or compute `v`, which is less than a whole tensor.
  bool IsSmallOperand(ValueId v) const {
    if (IsInside(v) || Count(v) == Count(members_.front())) return false;
    if (in_.kinds[v] == Kind::kInput || in_.kinds[v] == Kind::kConstant || in_.in_memory[v]) {
      return true;
    }
    // Another epilogue that is read here stores the value, or another one that it is computed from.
    if (in_.regions[v] != ir::kNoValue) return true;
    const std::vector<ValueId> operands = ir::Operands(value(v).op);
    return std::holds_alternative<ir::Elementwise>(value(v).op) &&
           std::all_of(operands.begin(), operands.end(),
                       [&](ValueId operand) { return IsSmallOperand(operand); });
  }

  // Returns the candidates that are functions of `base` and of stored values.
  std::set<ValueId> ComputableFrom(ValueId base) const {
    std::map<ValueId, Chain> chains = {{base, {}}};
    for (const ValueId v : stored_) chains[v] = {};
    std::set<ValueId> computable;
    const size_t count = std::min(members_.size(), Chain().size());
    for (size_t m = 0; m < count; ++m) {
      const ValueId v = members_[m];
      if (!std::holds_alternative<ir::Elementwise>(value(v).op) || chains.count(v) > 0) continue;
      Chain chain;
      chain.set(m);
      bool is_computable = true;
      for (const ValueId operand : ir::Operands(value(v).op)) {
        const auto found = chains.find(operand);
        is_computable = is_computable && (found != chains.end() || IsSmallOperand(operand));
        if (found != chains.end()) chain |= found->second;
      }
      if (!is_computable || OperationsIn(chain) > max_operations_) continue;
      if (candidates_.count(v) > 0) computable.insert(v);
      chains.emplace(v, chain);
    }
    return computable;
  }

  int OperationsIn(const Chain& chain) const {
    int operations = 0;
    for (size_t m = 0; m < members_.size() && m < chain.size(); ++m) {
      if (chain[m]) operations += OperationsOf(value(members_[m]), in_.spaces[members_[m]]);
    }
    return operations;
  }

  // Bytes that writing and reading the value moves.
  double Traffic(ValueId v, size_t readers) const {
    return static_cast<double>(value(v).shape.byte_size()) * static_cast<double>(1 + readers);
  }
  double Traffic(ValueId v) const { return Traffic(v, ReadersOf(v).size()); }

  std::set<ValueId> ReadersOf(ValueId v) const {
    const auto found = readers_.find(v);
    return found == readers_.end() ? std::set<ValueId>() : found->second;
  }

  // Bytes that storing `base` instead of `recomputed` saves.
  double Saved(ValueId base, const std::set<ValueId>& recomputed) const {
    const bool is_stored = stored_.count(base) > 0 || candidates_.count(base) > 0;
    double saved = is_stored ? Traffic(base) : 0;
    std::set<ValueId> readers = ReadersOf(base);
    for (const ValueId v : recomputed) {
      saved += Traffic(v);
      const std::set<ValueId> more = ReadersOf(v);
      readers.insert(more.begin(), more.end());
    }
    return saved - Traffic(base, readers.size());
  }

  // Stores the value that saves most, for readers that compute others from it. Returns false if
  // none saves anything.
  bool StoreBase() {
    ValueId best = ir::kNoValue;
    std::set<ValueId> recomputed;
    double most = 0;
    for (const ValueId base : members_) {
      const std::set<ValueId> computable = ComputableFrom(base);
      const double saved = computable.empty() ? 0 : Saved(base, computable);
      if (saved <= 0 || saved < most) continue;  // of equals the last: fewest operations
      best = base;
      recomputed = computable;
      most = saved;
    }
    if (best == ir::kNoValue) return false;
    for (const ValueId v : recomputed) {
      candidates_.erase(v);
      const std::set<ValueId> more = ReadersOf(v);
      readers_[best].insert(more.begin(), more.end());
    }
    candidates_.erase(best);
    stored_.insert(best);
    return true;
  }

  const EpilogueValues& in_;
  const int max_operations_;
  const std::vector<ValueId> members_;
  std::set<ValueId> stored_;
  std::set<ValueId> candidates_;                  // stored, or recomputed by all readers
  std::map<ValueId, std::set<ValueId>> readers_;  // other kernels that read the value
};

}  // namespace

std::vector<ValueId> StoresOfEpilogues(const EpilogueValues& in, int max_operations) {
  std::map<ValueId, std::vector<ValueId>> members;
  for (size_t v = 0; v < in.regions.size(); ++v) {
    if (in.regions[v] != ir::kNoValue) members[in.regions[v]].push_back(static_cast<ValueId>(v));
  }
  std::vector<ValueId> stored;
  for (auto& [root, values] : members) {
    const std::vector<ValueId> stores = Epilogue(in, max_operations, std::move(values)).Stores();
    stored.insert(stored.end(), stores.begin(), stores.end());
  }
  return stored;
}

}  // namespace tartan::graph
