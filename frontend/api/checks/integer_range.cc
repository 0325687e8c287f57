// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checks/integer_range.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "frontend/api/check.h"
#include "frontend/api/tensor_node.h"
#include "tile/ir/program.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

// Maximum number of applications to analyse.
constexpr int kMaxApplications = 16;
// Maximum number of elements of a known tensor to read.
constexpr int64_t kMaxKnownElements = 1 << 16;

using Range = IntegerRange;
using Wide = __int128;

Range Exactly(int64_t value) { return {value, value}; }

Range Union(const Range& a, const Range& b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}

// The range of the type; uint64 is treated as int64.
Range OfType(DataType type) {
  if (type == DataType::kBool) return {0, 1};
  if (type == DataType::kUInt64) return {INT64_MIN, INT64_MAX};
  return {MinInteger(type), MaxInteger(type)};
}

// Returns the given range if the type can represent it. Otherwise returns the range of the type,
// because arithmetic wraps.
Range InType(Wide least, Wide greatest, DataType type) {
  const Range all = OfType(type);
  const bool fits =
      least >= all.least && greatest <= all.greatest && (type != DataType::kUInt64 || least >= 0);
  if (!fits) return all;
  return {static_cast<int64_t>(least), static_cast<int64_t>(greatest)};
}

template <class T>
Range OfElements(absl::Span<const uint8_t> bytes) {
  T least = std::numeric_limits<T>::max();
  T greatest = std::numeric_limits<T>::min();
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + at, sizeof(T));
    least = std::min(least, element);
    greatest = std::max(greatest, element);
  }
  return {least, greatest};
}

bool IsWhole(DataType type) { return IsInteger(type) || type == DataType::kBool; }

// Computes the ranges of one application's values from the ranges of its inputs.
class Ranges {
 public:
  Ranges(const ir::Program& program, std::vector<Range> inputs)
      : program_(program), ranges_(program.values.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) ranges_[program.inputs[i]] = inputs[i];
    for (size_t v = 0; v < program.values.size(); ++v) {
      const ir::Value& value = program.values[v];
      if (std::holds_alternative<ir::Input>(value.op) || !IsWhole(value.shape.type)) continue;
      ranges_[v] = Of(value);
    }
  }

  Range operator[](ir::ValueId value) const { return ranges_[value]; }

 private:
  Range Of(const ir::Value& value) const {
    const DataType type = value.shape.type;
    if (const auto* constant = std::get_if<ir::Constant>(&value.op)) {
      const auto* whole = std::get_if<int64_t>(&constant->value);
      return whole != nullptr ? Exactly(*whole) : OfType(type);
    }
    if (const auto* elementwise = std::get_if<ir::Elementwise>(&value.op)) {
      return OfElementwise(*elementwise, type);
    }
    if (const auto* contraction = std::get_if<ir::Contraction>(&value.op)) {
      return OfContraction(*contraction, type);
    }
    return OfSpecial(std::get<ir::Special>(value.op), type);
  }

  bool AreWhole(absl::Span<const ir::ValueId> operands) const {
    return std::all_of(operands.begin(), operands.end(), [&](ir::ValueId operand) {
      return IsWhole(program_.values[operand].shape.type);
    });
  }

  Range OfElementwise(const ir::Elementwise& x, DataType type) const {
    if (type == DataType::kBool || !AreWhole(x.operands)) return OfType(type);
    const Range a = ranges_[x.operands[0]];
    const Range b = x.operands.size() > 1 ? ranges_[x.operands[1]] : Range();
    // The conversion of operands to the type may change their values.
    const auto changes = [&](const Range& range) {
      const Range all = OfType(type);
      return range.least < all.least || range.greatest > all.greatest;
    };
    const bool selects = x.op == ScalarOp::kSelect;
    for (size_t i = selects ? 1 : 0; i < x.operands.size(); ++i) {
      if (changes(ranges_[x.operands[i]])) return OfType(type);
    }
    switch (x.op) {
      case ScalarOp::kIdentity:
      case ScalarOp::kCast:
        return InType(a.least, a.greatest, type);
      case ScalarOp::kNeg:
        return InType(-Wide{a.greatest}, -Wide{a.least}, type);
      case ScalarOp::kAdd:
        return InType(Wide{a.least} + b.least, Wide{a.greatest} + b.greatest, type);
      case ScalarOp::kSub:
        return InType(Wide{a.least} - b.greatest, Wide{a.greatest} - b.least, type);
      case ScalarOp::kMul: {
        const Wide products[] = {Wide{a.least} * b.least, Wide{a.least} * b.greatest,
                                 Wide{a.greatest} * b.least, Wide{a.greatest} * b.greatest};
        return InType(*std::min_element(products, products + 4),
                      *std::max_element(products, products + 4), type);
      }
      case ScalarOp::kMod:
        if (b.least <= 0) return OfType(type);
        return {0, b.greatest - 1};
      case ScalarOp::kDiv:
        if (b.least <= 0 || b.least != b.greatest) return OfType(type);
        return {a.least / b.least, a.greatest / b.least};
      case ScalarOp::kMax:
        return {std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
      case ScalarOp::kMin:
        return {std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
      case ScalarOp::kSelect:
        return Union(b, ranges_[x.operands[2]]);
      default:
        return OfType(type);
    }
  }

  // Elements that no index point writes are 0, or the default's elements.
  Range OfContraction(const ir::Contraction& x, DataType type) const {
    const bool chooses = x.aggregation == Aggregation::kAssign ||
                         x.aggregation == Aggregation::kMax || x.aggregation == Aggregation::kMin;
    const bool moves = x.combination == Combination::kNone || x.combination == Combination::kCond;
    if (!chooses || !moves || !AreWhole({x.inputs.back().tensor})) return OfType(type);
    const bool has_default = x.default_value != ir::kNoValue;
    if (has_default && !AreWhole({x.default_value})) return OfType(type);
    Range chosen = ranges_[x.inputs.back().tensor];
    if (x.combination == Combination::kCond) chosen = Union(chosen, Exactly(0));
    const Range all = Union(chosen, has_default ? ranges_[x.default_value] : Exactly(0));
    return InType(all.least, all.greatest, type);
  }

  Range OfSpecial(const ir::Special& x, DataType type) const {
    const auto size = [&] { return program_.values[x.operands[0]].shape.dims[x.params[0]]; };
    switch (x.kind) {
      case ir::SpecialKind::kIndex:
      case ir::SpecialKind::kArgSort:
        return {0, std::max<int64_t>(size() - 1, 0)};
      case ir::SpecialKind::kReshape:
      case ir::SpecialKind::kGather:
      case ir::SpecialKind::kGatherElements:
      case ir::SpecialKind::kGatherNd:
      case ir::SpecialKind::kSort:
      case ir::SpecialKind::kCustomGradient:
        return AreWhole({x.operands[0]}) ? ranges_[x.operands[0]] : OfType(type);
      case ir::SpecialKind::kCumSum: {
        const Range each = ranges_[x.operands[0]];
        return InType(std::min<Wide>(0, Wide{each.least} * size()),
                      std::max<Wide>(0, Wide{each.greatest} * size()), type);
      }
      default:
        return OfType(type);
    }
  }

  const ir::Program& program_;
  std::vector<Range> ranges_;
};

class Search {
 public:
  Range Of(const Tensor& tensor) {
    if (!IsWhole(tensor.type())) return {};
    const auto key = std::pair(tensor.node().get(), tensor.result());
    if (const auto found = found_.find(key); found != found_.end()) return found->second;
    const Range range = Find(tensor);
    found_[key] = range;
    return range;
  }

 private:
  Range Find(const Tensor& tensor) {
    if (const std::optional<HostTensor> known = KnownValue(tensor); known.has_value()) {
      return known->element_count() > kMaxKnownElements ? OfType(tensor.type()) : RangeOf(*known);
    }
    const TensorNode& node = *tensor.node();
    const auto* application = std::get_if<ApplicationNode>(&node.kind);
    if (application == nullptr || applications_ == 0) return OfType(tensor.type());
    --applications_;
    std::vector<Range> inputs;
    std::vector<TensorShape> shapes;
    for (const Tensor input : application->inputs) {
      inputs.push_back(Of(input));
      shapes.push_back(input.shape());
    }
    const absl::StatusOr<ir::Program> program = lang::Bind(*application->function, shapes, {});
    if (!program.ok()) return OfType(tensor.type());
    Range range = Ranges(*program, std::move(inputs))[program->outputs[tensor.result()]];
    // Values outside the check's bounds fail the run.
    if (node.check != nullptr && node.check->bounds.size() == 1 && !node.check->exempt) {
      range.least = std::max(range.least, node.check->bounds[0].least);
      range.greatest = std::min(range.greatest, node.check->bounds[0].greatest);
    }
    return range;
  }

  int applications_ = kMaxApplications;
  std::map<std::pair<const TensorNode*, int>, Range> found_;
};

}  // namespace

IntegerRange RangeOf(const Tensor& tensor) { return Search().Of(tensor); }

IntegerRange OutputRange(const ir::Program& program, std::vector<IntegerRange> inputs) {
  return Ranges(program, std::move(inputs))[program.outputs[0]];
}

IntegerRange RangeOf(const HostTensor& values) {
  if (values.element_count() == 0) return OfType(values.type());
  if (values.type() == DataType::kInt64) return OfElements<int64_t>(values.bytes());
  if (values.type() == DataType::kInt32) return OfElements<int32_t>(values.bytes());
  Range range = Exactly(values.GetInt(0));
  for (int64_t i = 1; i < values.element_count(); ++i) {
    range = Union(range, Exactly(values.GetInt(i)));
  }
  return range;
}

}  // namespace tartan::api
