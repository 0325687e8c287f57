// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/row_region.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tile/graph/matmul/is_matmul.h"
#include "tile/graph/rewriter.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using Member = RowRegion::Member;

constexpr int kWhole = RowRegion::kWhole;
constexpr int kUnknown = -2;  // rows are not in one plain dimension
// A value of 1 / kLargeShare of the matmul's elements is large.
constexpr int64_t kLargeShare = 4;

// The dimension whose index is `variable`; kWhole if none depends on it.
int RowDimension(const ir::Access& access, int variable) {
  int found = kWhole;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    const math::Affine& index = access.indices[d];
    if (index.coefficient(variable).is_zero()) continue;
    if (found != kWhole || !(index == math::Affine::Variable(variable))) return kUnknown;
    found = static_cast<int>(d);
  }
  return found;
}

// The dimension of `to` with the elements of dimension `axis` of `from`, where both are the first
// of more than one element; kUnknown otherwise.
int ReshapedAxis(const TensorShape& from, int axis, const TensorShape& to) {
  const auto first = [](const TensorShape& shape) {
    const auto large =
        std::find_if(shape.dims.begin(), shape.dims.end(), [](int64_t size) { return size > 1; });
    return large == shape.dims.end() ? kUnknown : static_cast<int>(large - shape.dims.begin());
  };
  return first(from) == axis ? first(to) : kUnknown;
}

class RegionFinder {
 public:
  RegionFinder(const ir::Program& program, const std::vector<std::vector<ValueId>>& users)
      : program_(program), users_(users) {}

  std::optional<RowRegion> Find(ValueId matmul, int axis) {
    region_.matmul = matmul;
    const std::optional<Member> first = FromResult(matmul, axis);
    if (!first.has_value() || !IsSplitFactor(matmul, first->variable)) return std::nullopt;
    candidates_[matmul] = *first;
    Grow();
    if (!Select() || !HasSoftmaxAndMatmul()) return std::nullopt;
    for (const auto& [value, member] : std::map(region_.members)) AddLargeOperands(value);
    if (!IsIndependent() || !FindResults()) return std::nullopt;
    return std::move(region_);
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }
  const TensorShape& shape(ValueId v) const { return program_.values[v].shape; }

  bool IsLarge(ValueId v) const {
    return shape(v).element_count() * kLargeShare >= shape(region_.matmul).element_count();
  }

  static bool IsMatmulOp(const ir::Op& op) {
    const auto* contraction = std::get_if<ir::Contraction>(&op);
    return contraction != nullptr && IsMatmul(*contraction);
  }

  // Returns true if one factor is the same for all rows, and for all other dimensions of the other.
  bool IsSplitFactor(ValueId matmul, int rows) const {
    const auto& contraction = std::get<ir::Contraction>(value(matmul).op);
    const std::set<int> left = IndicesOf(contraction.inputs[0]);
    const std::set<int> right = IndicesOf(contraction.inputs[1]);
    if (left.count(rows) == right.count(rows)) return false;
    const std::set<int> kept = IndicesOf(contraction.output);
    return std::none_of(kept.begin(), kept.end(),
                        [&](int i) { return left.count(i) > 0 && right.count(i) > 0; });
  }

  // The member if dimension `axis` of its result has the rows.
  std::optional<Member> FromResult(ValueId v, int axis) const {
    const auto* contraction = std::get_if<ir::Contraction>(&value(v).op);
    if (contraction == nullptr) {
      return std::holds_alternative<ir::Elementwise>(value(v).op)
                 ? std::optional<Member>({axis, kWhole})
                 : std::nullopt;
    }
    const int variable = contraction->output.indices[axis].single_variable();
    if (variable < 0 || RowDimension(contraction->output, variable) != axis) return std::nullopt;
    return FromVariable(v, variable);
  }

  std::optional<Member> FromVariable(ValueId v, int variable) const {
    const auto& contraction = std::get<ir::Contraction>(value(v).op);
    for (const math::RangeConstraint& constraint : contraction.constraints) {
      if (!constraint.poly.coefficient(variable).is_zero()) return std::nullopt;
    }
    const int axis = RowDimension(contraction.output, variable);
    if (axis == kUnknown || contraction.default_value != ir::kNoValue) return std::nullopt;
    const auto is_sum = contraction.aggregation == Aggregation::kSum &&
                        ByteWidth(shape(v).type) >= ByteWidth(DataType::kFloat32);
    if (axis == kWhole && !is_sum) return std::nullopt;
    // All dimensions of the rows have the same size.
    int64_t size = axis == kWhole ? 0 : shape(v).dims[axis];
    for (const ir::Access& input : contraction.inputs) {
      const int of_input = RowDimension(input, variable);
      if (of_input == kUnknown) return std::nullopt;
      if (of_input == kWhole) continue;
      const int64_t input_size = shape(input.tensor).dims[of_input];
      if (size != 0 && size != input_size) return std::nullopt;
      size = input_size;
    }
    return Member{axis, variable};
  }

  // The member if dimension `axis` of its operand has the rows.
  std::optional<Member> FromOperand(ValueId v, ValueId operand, int axis) const {
    if (const auto* contraction = std::get_if<ir::Contraction>(&value(v).op)) {
      for (const ir::Access& input : contraction->inputs) {
        if (input.tensor != operand) continue;
        const int variable = input.indices[axis].single_variable();
        if (variable < 0 || RowDimension(input, variable) != axis) return std::nullopt;
        return FromVariable(v, variable);
      }
      return std::nullopt;
    }
    if (std::holds_alternative<ir::Elementwise>(value(v).op)) {
      const auto shift = static_cast<int>(shape(v).dims.size() - shape(operand).dims.size());
      const bool has_rows = shape(v).dims[axis + shift] == shape(operand).dims[axis];
      return has_rows ? std::optional<Member>({axis + shift, kWhole}) : std::nullopt;
    }
    const auto* special = std::get_if<ir::Special>(&value(v).op);
    if (special == nullptr) return std::nullopt;
    if (special->kind == ir::SpecialKind::kIndex && special->params[0] != axis)
      return Member{axis, kWhole};
    if (special->kind != ir::SpecialKind::kReshape) return std::nullopt;
    const int reshaped = ReshapedAxis(shape(operand), axis, shape(v));
    return reshaped == kUnknown ? std::nullopt : std::optional<Member>({reshaped, kWhole});
  }

  // Collects candidates: all operations that can be computed by rows, up to the next matmuls.
  void Grow() {
    for (ValueId v = region_.matmul + 1; v < static_cast<ValueId>(program_.values.size()); ++v) {
      std::optional<Member> member;
      const std::vector<ValueId> operands = ir::Operands(value(v).op);
      for (const ValueId operand : operands) {
        if (!member.has_value() && Continues(operand))
          member = FromOperand(v, operand, candidates_[operand].axis);
      }
      if (member.has_value() && Agrees(v, *member)) candidates_[v] = *member;
    }
  }

  bool Continues(ValueId v) const {
    const auto found = candidates_.find(v);
    if (found == candidates_.end() || found->second.axis == kWhole) return false;
    return v == region_.matmul || !IsMatmulOp(value(v).op);
  }

  // Returns true if the member expects the rows in its operands where they are.
  bool Agrees(ValueId v, const Member& member) const {
    RowRegion alone;
    alone.members[v] = member;
    const std::vector<ValueId> operands = ir::Operands(value(v).op);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (Continues(operands[i]) &&
          alone.AxisOf(program_, v, i) != candidates_.at(operands[i]).axis) {
        return false;
      }
    }
    return true;
  }

  // Selects large candidates, what they are computed from, and what reads them. Returns false if
  // another operation reads a large value.
  bool Select() {
    std::set<ValueId> selected;
    for (const auto& [v, member] : candidates_) {
      if (!Continues(v) || !IsLarge(v)) continue;
      selected.insert(v);
      const auto is_output = std::count(program_.outputs.begin(), program_.outputs.end(), v) > 0;
      if (is_output) return false;
      for (const ValueId user : users_[v]) {
        if (candidates_.count(user) == 0) return false;
        selected.insert(user);
      }
    }
    for (auto candidate = candidates_.rbegin(); candidate != candidates_.rend(); ++candidate) {
      const ValueId v = candidate->first;
      if (selected.count(v) == 0) continue;
      region_.members.insert(*candidate);
      for (const ValueId operand : ir::Operands(value(v).op)) {
        if (Continues(operand)) selected.insert(operand);
      }
    }
    return true;
  }

  bool HasSoftmaxAndMatmul() const {
    bool has_matmul = false;
    bool has_reduction = false;
    for (const auto& [v, member] : region_.members) {
      const auto* contraction = std::get_if<ir::Contraction>(&value(v).op);
      if (contraction == nullptr || v == region_.matmul) continue;
      const bool is_matmul = IsMatmul(*contraction);
      has_matmul |= is_matmul;
      has_reduction |= !is_matmul && member.axis != kWhole && !IsLarge(v);
    }
    return has_matmul && has_reduction;
  }

  // Adds large operands that do not depend on the matmul, such as one-hot targets.
  void AddLargeOperands(ValueId member) {
    const std::vector<ValueId> operands = ir::Operands(value(member).op);
    for (size_t i = 0; i < operands.size(); ++i) {
      const int axis = region_.AxisOf(program_, member, i);
      if (axis == kWhole || region_.members.count(operands[i]) > 0 ||
          shape(operands[i]).element_count() < shape(region_.matmul).element_count()) {
        continue;
      }
      const std::optional<Member> added = FromResult(operands[i], axis);
      if (!added.has_value()) continue;
      region_.members[operands[i]] = *added;
      region_.recomputed.insert(operands[i]);
      AddLargeOperands(operands[i]);
    }
  }

  // Returns true if no other operand of a member depends on members. Sets `last_operand`.
  bool IsIndependent() {
    std::vector<bool> depends(program_.values.size(), false);
    for (ValueId v = 0; v < static_cast<ValueId>(program_.values.size()); ++v) {
      const bool is_member = region_.members.count(v) > 0;
      depends[v] = is_member && region_.recomputed.count(v) == 0;
      for (const ValueId operand : ir::Operands(value(v).op)) {
        if (is_member && region_.members.count(operand) == 0) {
          if (depends[operand]) return false;
          region_.last_operand = std::max(region_.last_operand, operand);
        }
        depends[v] = depends[v] || depends[operand];
      }
    }
    return true;
  }

  bool FindResults() {
    for (const auto& [v, member] : region_.members) {
      if (member.axis != kWhole)
        region_.extent = std::gcd(region_.extent, shape(v).dims[member.axis]);
      if (region_.recomputed.count(v) > 0) continue;
      if (member.axis == kWhole) {
        region_.sums.push_back(v);
        continue;
      }
      const bool is_read = std::count(program_.outputs.begin(), program_.outputs.end(), v) > 0 ||
                           std::any_of(users_[v].begin(), users_[v].end(), [&](ValueId user) {
                             return region_.members.count(user) == 0;
                           });
      if (is_read) region_.rows.push_back(v);
    }
    return region_.extent > 1;
  }

  const ir::Program& program_;
  const std::vector<std::vector<ValueId>>& users_;
  std::map<ValueId, Member> candidates_;
  RowRegion region_;
};

}  // namespace

int RowRegion::AxisOf(const ir::Program& program, ValueId member, size_t operand) const {
  const ir::Value& value = program.values[member];
  const Member& known = members.at(member);
  if (const auto* contraction = std::get_if<ir::Contraction>(&value.op))
    return RowDimension(contraction->inputs[operand], known.variable);
  const TensorShape& from = program.values[ir::Operands(value.op)[operand]].shape;
  const auto* special = std::get_if<ir::Special>(&value.op);
  if (special != nullptr && special->kind == ir::SpecialKind::kReshape)
    return ReshapedAxis(value.shape, known.axis, from);
  const auto axis = known.axis - static_cast<int>(value.shape.dims.size() - from.dims.size());
  return axis >= 0 && from.dims[axis] == value.shape.dims[known.axis] ? axis : kWhole;
}

std::optional<RowRegion> FindRowRegion(const ir::Program& program, int64_t min_elements) {
  const std::vector<std::vector<ValueId>> users = UsersOf(program);
  for (ValueId v = 0; v < static_cast<ValueId>(program.values.size()); ++v) {
    const ir::Value& value = program.values[v];
    const auto* contraction = std::get_if<ir::Contraction>(&value.op);
    if (contraction == nullptr || !IsFloat(value.shape.type) || !IsMatmul(*contraction) ||
        value.shape.element_count() < min_elements) {
      continue;
    }
    for (size_t axis = 0; axis < value.shape.dims.size(); ++axis) {
      if (value.shape.dims[axis] < 2) continue;
      std::optional<RowRegion> region =
          RegionFinder(program, users).Find(v, static_cast<int>(axis));
      if (region.has_value()) return region;
    }
  }
  return std::nullopt;
}

}  // namespace tartan::graph
