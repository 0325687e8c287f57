// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/prepare_elements.h"

#include <utility>
#include <vector>

#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Tensor;
using api::Value;

// Maps a tensor of strings to another list of words.
absl::StatusOr<Value> WithWords(NodeContext& context, const Value& value, const api::Words& words) {
  if (value.words() == words) return value;
  const std::vector<int64_t> positions = api::PositionsIn(words, value.words());
  if (positions.empty()) return Value(value.tensor(), value.element(), words);
  TARTAN_ASSIGN_OR_RETURN(Tensor tensor,
                          context.ApplyOne("function (W, X) -> (Y) { Y = gather(W, X); }",
                                           {ConstantInts(positions), value.tensor()}));
  return Value(std::move(tensor), value.element(), words);
}

}  // namespace

absl::StatusOr<int> PrepareElements(const OperatorRow& row, NodeContext& context) {
  int special = -1;
  for (int i = 0; i < context.input_count(); ++i) {
    const Value& value = context.value(i);
    if (value.is_sequence()) return Unsupported("operand ", i, " is a sequence");
    if (value.is_map()) return Unsupported("operand ", i, " is a map");
    if (!value.is_tensor() || value.element() == api::Element::kPlain) continue;
    if (row.elements == ElementUse::kRefused) {
      return Unsupported("operand ", i, " has elements of type ", api::Name(value.element()));
    }
    if (special >= 0 && context.value(special).element() != value.element()) {
      return Invalid("operand ", i, " has elements of type ", api::Name(value.element()),
                     ", operand ", special, " of type ",
                     api::Name(context.value(special).element()));
    }
    if (special < 0) special = i;
  }
  if (special < 0 || !context.value(special).is_strings()) return special;
  api::Words words = context.value(special).words();
  for (int i = special + 1; i < context.input_count(); ++i) {
    if (context.value(i).is_strings()) words = api::Merge(words, context.value(i).words());
  }
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.value(i).is_strings()) continue;
    TARTAN_ASSIGN_OR_RETURN(Value value, WithWords(context, context.value(i), words));
    context.SetInput(i, std::move(value));
  }
  return special;
}

}  // namespace tartan::onnx
