#include "tile/graph/widen_halves.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

bool IsHalf(DataType type) { return ComputeType(type) != type; }

// The updates of a scatter replace elements, or are chosen instead of them.
bool KeepsUpdates(const ir::Special& special) {
  const auto mode = static_cast<ir::ScatterMode>(special.params.back());
  return mode != ir::ScatterMode::kAdd && mode != ir::ScatterMode::kMul;
}

// The type a 16-bit value has from now on; those of its operands are known.
class WideTypes {
 public:
  explicit WideTypes(const ir::Program& program)
      : program_(program), is_read_(program.values.size()) {
    for (const ir::Value& value : program.values) {
      for (const ValueId operand : ir::Operands(value.op)) is_read_[operand] = true;
    }
  }

  DataType Of(ValueId v) const {
    const ir::Value& value = program_.values[v];
    const DataType own = value.shape.type;
    if (!IsHalf(own)) return own;
    return Match(
        value.op, [&](const ir::Input&) { return own; },
        [&](const ir::Elementwise& elementwise) {
          return elementwise.op == ScalarOp::kCast ? own : ComputeType(own);
        },
        [&](const ir::Special& special) { return OfSpecial(special, own, is_read_[v]); },
        [&](const auto&) { return ComputeType(own); });
  }

 private:
  DataType OfSpecial(const ir::Special& special, DataType own, bool is_read) const {
    const auto type = [&](size_t operand) {
      return program_.values[special.operands[operand]].shape.type;
    };
    switch (special.kind) {
      case ir::SpecialKind::kReshape:
      case ir::SpecialKind::kSort:
        return type(0);
      case ir::SpecialKind::kScatterElements:
      case ir::SpecialKind::kScatterNd:
        if (!KeepsUpdates(special) || type(0) != own) return ComputeType(own);
        return type(2) == own || !is_read ? own : ComputeType(own);
      case ir::SpecialKind::kCumSum:
      case ir::SpecialKind::kCumProd:
        return is_read ? ComputeType(own) : own;
      default:
        return ComputeType(own);
    }
  }

  const ir::Program& program_;
  std::vector<bool> is_read_;  // by an operation
};

}  // namespace

ir::Program WidenHalves(const ir::Program& program) {
  ir::Program result = program;
  const bool has_halves =
      std::any_of(program.values.begin(), program.values.end(),
                  [](const ir::Value& value) { return IsHalf(value.shape.type); });
  if (!has_halves) return result;
  const WideTypes types(result);
  for (size_t v = 0; v < program.values.size(); ++v) {
    result.values[v].shape.type = types.Of(static_cast<ValueId>(v));
  }
  for (ValueId& output : result.outputs) {
    const TensorShape& shape = program.values[output].shape;
    const ValueId wide = output;
    if (result.values[wide].shape.type == shape.type) continue;
    output = static_cast<ValueId>(result.values.size());
    result.values.push_back({absl::StrCat(program.values[wide].name, "_rounded"), shape,
                             ir::Elementwise{ScalarOp::kCast, {wide}}});
  }
  return result;
}

}  // namespace tartan::graph
