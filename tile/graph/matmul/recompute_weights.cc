// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/recompute_weights.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// The scores of one attention, and the values that follow from them element by element.
struct Weights {
  std::set<ValueId> values;
  ValueId product = ir::kNoValue;  // the matmul of weights and values
};

class WeightsFinder {
 public:
  explicit WeightsFinder(const ir::Program& program)
      : program_(program), users_(UsersOf(program)) {}

  // Returns nothing if `scores` is not the first matmul of an attention.
  std::optional<Weights> Find(ValueId scores) const {
    if (!IsBatchedMatmul(scores)) return std::nullopt;
    Weights weights;
    bool has_exponential = false;
    bool has_row_sum = false;
    const TensorShape& shape = program_.values[scores].shape;
    for (std::set<ValueId> next = {scores}; !next.empty(); next.erase(next.begin())) {
      const ValueId value = *next.begin();
      weights.values.insert(value);
      const auto* elementwise = std::get_if<ir::Elementwise>(&program_.values[value].op);
      has_exponential |= elementwise != nullptr && elementwise->op == ScalarOp::kExp;
      for (const ValueId user : users_[value]) {
        if (IsElementOf(weights.values, user, shape)) next.insert(user);
        has_row_sum |= IsRowSum(user);
        if (!IsBatchedMatmul(user) || !ReducesKeys(user, value)) continue;
        if (weights.product == ir::kNoValue || user < weights.product) weights.product = user;
      }
    }
    if (!has_exponential || !has_row_sum || weights.product == ir::kNoValue) return std::nullopt;
    return weights;
  }

  // Returns the users of the weights that depend on `weights.product`, in program order.
  std::vector<ValueId> LateReaders(const Weights& weights) const {
    std::set<ValueId> readers;
    for (const ValueId value : weights.values) {
      for (const ValueId user : users_[value]) {
        if (user > weights.product && weights.values.count(user) == 0) readers.insert(user);
      }
    }
    std::vector<bool> depends(program_.values.size(), false);
    depends[weights.product] = true;
    std::vector<ValueId> late;
    for (ValueId v = weights.product + 1; !readers.empty() && v <= *readers.rbegin(); ++v) {
      for (const ValueId operand : ir::Operands(program_.values[v].op)) {
        depends[v] = depends[v] || depends[operand];
      }
      if (depends[v] && readers.count(v) > 0) late.push_back(v);
    }
    return late;
  }

 private:
  // Keys that are the same for all rows are weights of the model, as in a classifier.
  bool IsBatchedMatmul(ValueId value) const {
    const auto* contraction = std::get_if<ir::Contraction>(&program_.values[value].op);
    if (contraction == nullptr || !contraction->constraints.empty() ||
        contraction->default_value != ir::kNoValue || !IsMatmul(*contraction)) {
      return false;
    }
    const std::set<int> left = IndicesOf(contraction->inputs[0]);
    const std::set<int> right = IndicesOf(contraction->inputs[1]);
    const std::set<int> kept = IndicesOf(contraction->output);
    return std::any_of(left.begin(), left.end(),
                       [&](int i) { return right.count(i) > 0 && kept.count(i) > 0; });
  }

  // Returns true for a matmul over the last dimension of `weights`, the keys.
  bool ReducesKeys(ValueId product, ValueId weights) const {
    const auto& contraction = std::get<ir::Contraction>(program_.values[product].op);
    const std::set<int> kept = IndicesOf(contraction.output);
    return std::any_of(
        contraction.inputs.begin(), contraction.inputs.end(), [&](const ir::Access& access) {
          if (access.tensor != weights) return false;
          const std::set<int> keys = IndicesOf({weights, {access.indices.back()}});
          return std::none_of(keys.begin(), keys.end(), [&](int i) { return kept.count(i) > 0; });
        });
  }

  bool IsRowSum(ValueId value) const {
    const auto* contraction = std::get_if<ir::Contraction>(&program_.values[value].op);
    return contraction != nullptr && contraction->inputs.size() == 1 &&
           contraction->aggregation == Aggregation::kSum &&
           !program_.values[value].shape.dims.empty() &&
           program_.values[value].shape.dims.back() == 1;
  }

  // Returns true for an elementwise function of `known`, and of values that are constant in some
  // dimension.
  bool IsElementOf(const std::set<ValueId>& known, ValueId value, const TensorShape& shape) const {
    const auto* elementwise = std::get_if<ir::Elementwise>(&program_.values[value].op);
    if (elementwise == nullptr || program_.values[value].shape.dims != shape.dims) return false;
    return std::all_of(
        elementwise->operands.begin(), elementwise->operands.end(), [&](ValueId operand) {
          return known.count(operand) > 0 || program_.values[operand].shape.dims != shape.dims;
        });
  }

  const ir::Program& program_;
  const std::vector<std::vector<ValueId>> users_;
};

// Copies of an attention's weights, and where they come in the program.
struct Copies {
  const Weights* weights = nullptr;
  std::vector<ValueId> readers;
};

class WeightsRecomputer {
 public:
  explicit WeightsRecomputer(const ir::Program& program) : program_(program), rewriter_(program) {}

  ir::Program Run(const std::vector<Copies>& all) && {
    std::map<ValueId, const Copies*> at;
    std::map<ValueId, const Weights*> late;
    for (const Copies& copies : all) {
      at[PlaceOf(copies)] = &copies;
      for (const ValueId reader : copies.readers) late[reader] = copies.weights;
    }
    for (ValueId v = 0; v < static_cast<ValueId>(program_.values.size()); ++v) {
      if (const auto found = at.find(v); found != at.end()) Copy(*found->second);
      ir::Value value = program_.values[v];
      const auto reader = late.find(v);
      Renumber(reader == late.end() ? nullptr : reader->second, &value.op);
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  // Copies come before the first value that may use registers while they are computed: as soon as
  // the other operands of their first reader exist.
  ValueId PlaceOf(const Copies& copies) const {
    ValueId last = copies.weights->product;
    for (const ValueId operand : ir::Operands(program_.values[copies.readers.front()].op)) {
      if (copies.weights->values.count(operand) == 0) last = std::max(last, operand);
    }
    return last + 1;
  }

  void Copy(const Copies& copies) {
    for (const ValueId reader : copies.readers) {
      for (const ValueId operand : ir::Operands(program_.values[reader].op)) {
        if (copies.weights->values.count(operand) > 0) CopyOf(operand, *copies.weights);
      }
    }
  }

  // Replaces operands by their new numbers; values of `weights` (may be null) by their copies.
  void Renumber(const Weights* weights, ir::Op* op) const {
    std::vector<ValueId> numbers = rewriter_.numbers();
    numbers.resize(program_.values.size(), ir::kNoValue);
    for (const ValueId operand : ir::Operands(*op)) {
      if (weights != nullptr && weights->values.count(operand) > 0) {
        numbers[operand] = copies_.at(operand);
      }
    }
    ir::RenumberOperands(*op, numbers);
  }

  ValueId CopyOf(ValueId original, const Weights& weights) {
    if (const auto found = copies_.find(original); found != copies_.end()) return found->second;
    ir::Value copy = program_.values[original];
    for (const ValueId operand : ir::Operands(copy.op)) {
      if (weights.values.count(operand) > 0) CopyOf(operand, weights);
    }
    Renumber(&weights, &copy.op);
    copy.name = absl::StrCat(copy.name, "_again");
    return copies_[original] = rewriter_.Append(std::move(copy));
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

ir::Program RecomputeWeights(const ir::Program& program, int64_t min_bytes, bool only_narrow) {
  const WeightsFinder finder(program);
  std::deque<Weights> found;  // does not move its elements
  std::vector<Copies> all;
  for (ValueId v = 0; v < static_cast<ValueId>(program.values.size()); ++v) {
    if (program.values[v].shape.byte_size() < min_bytes) continue;
    if (only_narrow && !IsNarrowMatmul(program, program.values[v])) continue;
    std::optional<Weights> weights = finder.Find(v);
    if (!weights.has_value()) continue;
    std::vector<ValueId> readers = finder.LateReaders(*weights);
    if (readers.empty()) continue;
    found.push_back(*std::move(weights));
    all.push_back({&found.back(), std::move(readers)});
  }
  return all.empty() ? program : WeightsRecomputer(program).Run(all);
}

}  // namespace tartan::graph
