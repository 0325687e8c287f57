#include "tile/graph/widen_halves.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

bool IsHalf(DataType type) { return ComputeType(type) != type; }

// The type a 16-bit value has from now on.
DataType WideType(const ir::Program& program, const ir::Value& value) {
  const DataType own = value.shape.type;
  if (!IsHalf(own)) return own;
  return Match(
      value.op, [&](const ir::Input&) { return own; },
      [&](const ir::Elementwise& elementwise) {
        return elementwise.op == ScalarOp::kCast ? own : ComputeType(own);
      },
      [&](const ir::Special& special) {
        switch (special.kind) {
          case ir::SpecialKind::kReshape:  // a view: the type of what it shows
            return program.values[special.operands[0]].shape.type;
          case ir::SpecialKind::kGather:
          case ir::SpecialKind::kGatherElements:
          case ir::SpecialKind::kGatherNd:
            return ComputeType(own);
          default:
            return own;
        }
      },
      [&](const auto&) { return ComputeType(own); });
}

}  // namespace

ir::Program WidenHalves(const ir::Program& program) {
  ir::Program result = program;
  const bool has_halves =
      std::any_of(program.values.begin(), program.values.end(),
                  [](const ir::Value& value) { return IsHalf(value.shape.type); });
  if (!has_halves) return result;
  for (ir::Value& value : result.values) value.shape.type = WideType(result, value);
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
