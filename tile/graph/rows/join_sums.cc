// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/join_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Minimum elements of a tensor whose second read costs more than a launch.
constexpr int64_t kMinElements = 1 << 20;

class SumJoiner {
 public:
  explicit SumJoiner(const ir::Program& program) : program_(program), rewriter_(program) {}

  ir::Program Run() && {
    FindPairs();
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const auto v = static_cast<ValueId>(i);
      if (const auto pair = seconds_.find(v); pair != seconds_.end()) {
        joined_[pair->second] = joined_[v] = Append(v, pair->second);
      }
      ir::Value value = program_.values[i];
      if (const auto joined = joined_.find(v); joined != joined_.end()) {
        value.op = SliceOf(joined->second, seconds_.count(v) > 0 ? 0 : 1, v);
      } else {
        ir::RenumberOperands(value.op, rewriter_.numbers());
      }
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  const TensorShape& shape(ValueId v) const { return program_.values[v].shape; }

  // Returns the sum of a large tensor whose last dimension stays; otherwise null.
  const ir::Contraction* AsSum(ValueId v) const {
    const auto* sum = std::get_if<ir::Contraction>(&program_.values[v].op);
    if (sum == nullptr || sum->aggregation != Aggregation::kSum ||
        sum->combination != Combination::kNone || sum->inputs.size() != 1 ||
        !sum->constraints.empty() || sum->default_value != ir::kNoValue) {
      return nullptr;
    }
    const ir::Access& input = sum->inputs.front();
    const TensorShape& from = shape(input.tensor);
    if (!IsFloat(from.type) || from.element_count() < kMinElements ||
        shape(v).element_count() >= from.element_count()) {
      return nullptr;
    }
    if (sum->index_names.size() != input.indices.size()) return nullptr;
    for (const Affine& index : input.indices) {
      const int variable = index.single_variable();
      if (variable < 0 || !(index == Affine::Variable(variable))) return nullptr;
    }
    const std::vector<Affine>& output = sum->output.indices;
    const bool keeps_last =
        std::find(output.begin(), output.end(), input.indices.back()) != output.end();
    return keeps_last ? sum : nullptr;
  }

  void FindPairs() {
    std::vector<ValueId> sums;
    std::set<ValueId> is_joined;
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const auto v = static_cast<ValueId>(i);
      if (AsSum(v) == nullptr) continue;
      const auto first = std::find_if(sums.begin(), sums.end(), [&](ValueId other) {
        return is_joined.count(other) == 0 && AreAlike(other, v);
      });
      if (first == sums.end()) {
        sums.push_back(v);
        continue;
      }
      seconds_[*first] = v;
      is_joined.insert(*first);
    }
  }

  // Returns whether the sum `b` can be computed at the place of `a`, in one pass over memory.
  bool AreAlike(ValueId a, ValueId b) const {
    ir::Contraction one = *AsSum(a);
    const ir::Contraction& other = *AsSum(b);
    const ValueId from = one.inputs.front().tensor;
    const ValueId other_from = other.inputs.front().tensor;
    one.inputs.front().tensor = other_from;
    one.index_names = other.index_names;
    if (!(one == other) || other_from >= a || shape(from) != shape(other_from) ||
        shape(a) != shape(b)) {
      return false;
    }
    std::set<ValueId> sources, other_sources;
    AddSources(from, shape(from).element_count(), &sources);
    AddSources(other_from, shape(from).element_count(), &other_sources);
    return std::any_of(sources.begin(), sources.end(),
                       [&](ValueId source) { return other_sources.count(source) > 0; });
  }

  // Adds the tensors of this size that elementwise operations compute the value from.
  void AddSources(ValueId v, int64_t elements, std::set<ValueId>* sources) const {
    if (shape(v).element_count() != elements) return;
    const auto* elementwise = std::get_if<ir::Elementwise>(&program_.values[v].op);
    if (!sources->insert(v).second || elementwise == nullptr) return;
    for (ValueId operand : elementwise->operands) AddSources(operand, elements, sources);
  }

  ValueId AppendValue(DataType type, std::vector<int64_t> dims, ir::Op op, std::string name = "") {
    return rewriter_.Append({std::move(name), {type, std::move(dims)}, std::move(op)});
  }

  // Appends the sum with one more dimension, of size 2, in front.
  ValueId Append(ValueId a, ValueId b) {
    ir::Contraction sum = *AsSum(a);
    const TensorShape& from = shape(sum.inputs.front().tensor);
    const ValueId first = rewriter_.numbers()[sum.inputs.front().tensor];
    const ValueId second = rewriter_.numbers()[AsSum(b)->inputs.front().tensor];
    std::vector<int64_t> scalars(from.dims.size() + 1, 1);
    scalars[0] = 2;
    const ValueId zero = AppendValue(DataType::kInt32, {}, ir::Constant{int64_t{0}});
    ir::Contraction fill;
    fill.aggregation = Aggregation::kAssign;
    for (size_t d = 0; d < scalars.size(); ++d) {
      fill.index_names.push_back(absl::StrCat("i", d));
      fill.output.indices.push_back(Affine::Variable(static_cast<int>(d)));
    }
    fill.inputs = {{zero, {}}};
    const ValueId zeros = AppendValue(DataType::kInt32, scalars, std::move(fill));
    const ValueId number =
        AppendValue(DataType::kInt32, scalars, ir::Special{ir::SpecialKind::kIndex, {zeros}, {0}});
    const ValueId is_first =
        AppendValue(DataType::kBool, scalars, ir::Elementwise{ScalarOp::kEqual, {number, zero}});
    std::vector<int64_t> dims = from.dims;
    dims.insert(dims.begin(), 2);
    const ValueId both = AppendValue(from.type, std::move(dims),
                                     ir::Elementwise{ScalarOp::kSelect, {is_first, first, second}});
    std::vector<Affine> later;  // the variables after the new one
    for (size_t i = 0; i < sum.index_names.size(); ++i) {
      later.push_back(Affine::Variable(static_cast<int>(i) + 1));
    }
    for (ir::Access* access : {&sum.output, &sum.inputs.front()}) {
      for (Affine& index : access->indices) index = index.Substitute(later);
      access->indices.insert(access->indices.begin(), Affine::Variable(0));
    }
    sum.inputs.front().tensor = both;
    sum.index_names.insert(sum.index_names.begin(), "sum");
    dims = shape(a).dims;
    dims.insert(dims.begin(), 2);
    return AppendValue(shape(a).type, std::move(dims), std::move(sum),
                       absl::StrCat(program_.values[a].name, "_pair"));
  }

  // Returns the operation that takes one of the two sums.
  ir::Contraction SliceOf(ValueId joined, int64_t number, ValueId sum) const {
    ir::Contraction slice = IdentityCopy(joined, shape(sum).dims.size());
    std::vector<Affine>& indices = slice.inputs.front().indices;
    indices.insert(indices.begin(), Affine::Constant(number));
    return slice;
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  std::map<ValueId, ValueId> seconds_;  // by first sum
  std::map<ValueId, ValueId> joined_;   // of both sums, in the new program
};

}  // namespace

ir::Program JoinSums(const ir::Program& program) { return SumJoiner(program).Run(); }

}  // namespace tartan::graph
