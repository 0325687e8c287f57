// SPDX-License-Identifier: Apache-2.0
// Operators of sequences and optionals. Both exist only during import, as lists of values; devices
// see their tensors.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

OutputValues One(Value value) { return std::vector<Value>{std::move(value)}; }

OutputValues SequenceOperand(const NodeContext& context, int i) {
  if (context.value(i).is_sequence()) return context.value(i).elements();
  return Invalid("operand ", i, " is not a sequence");
}

// Sequences must hold tensors: nested sequences could double in size with each node.
absl::Status CheckElements(absl::Span<const Value> elements) {
  const bool fits = std::all_of(elements.begin(), elements.end(),
                                [](const Value& element) { return element.is_tensor(); });
  return fits ? absl::OkStatus() : Invalid("an element of a sequence is not a tensor");
}

// The position in operand `i`, counted from 0; negative ones count from the end.
absl::StatusOr<size_t> Position(NodeContext& context, int i, size_t size, size_t end) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t position, context.HostInt(i));
  const int64_t count = static_cast<int64_t>(size);
  const int64_t normal = position < 0 ? position + count : position;
  if (normal >= 0 && normal < static_cast<int64_t>(end)) return static_cast<size_t>(normal);
  return Invalid("position ", position, " in a sequence of ", size);
}

OutputValues SequenceConstruct(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckElements(context.values()));
  return One(Value::Sequence({context.values().begin(), context.values().end()}));
}

OutputValues SequenceEmpty(NodeContext&) { return One(Value::Sequence({})); }

OutputValues SequenceAt(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> elements, SequenceOperand(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const size_t position,
                          Position(context, 1, elements.size(), elements.size()));
  return One(elements[position]);
}

// Without operand 2 the element is appended.
OutputValues SequenceInsert(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Value> elements, SequenceOperand(context, 0));
  size_t position = elements.size();
  if (context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(position, Position(context, 2, elements.size(), elements.size() + 1));
  }
  TARTAN_RETURN_IF_ERROR(CheckElements({context.value(1)}));
  elements.insert(elements.begin() + static_cast<int64_t>(position), context.value(1));
  return One(Value::Sequence(std::move(elements)));
}

OutputValues SequenceErase(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Value> elements, SequenceOperand(context, 0));
  if (elements.empty()) return Invalid("the sequence is empty");
  size_t position = elements.size() - 1;
  if (context.HasInput(1)) {
    TARTAN_ASSIGN_OR_RETURN(position, Position(context, 1, elements.size(), elements.size()));
  }
  elements.erase(elements.begin() + static_cast<int64_t>(position));
  return One(Value::Sequence(std::move(elements)));
}

OutputValues SequenceLength(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> elements, SequenceOperand(context, 0));
  return One(ConstantInt(static_cast<int64_t>(elements.size())));
}

absl::StatusOr<Tensor> WithAxis(const NodeContext& context, const Tensor& x, int64_t axis) {
  std::vector<int64_t> dims = x.dims();
  dims.insert(dims.begin() + axis, 1);
  return Reshape(context, x, dims);
}

// Elements must have the same type, rank and sizes, except along `joined`, which is absent for a
// new axis.
absl::Status CheckJoined(absl::Span<const Tensor> elements, std::optional<size_t> joined) {
  for (const Tensor& element : elements) {
    const std::vector<int64_t>& expected = elements[0].dims();
    std::vector<int64_t> dims = element.dims();
    if (joined.has_value() && dims.size() == expected.size()) dims[*joined] = expected[*joined];
    if (dims != expected || element.type() != elements[0].type()) {
      return Invalid("elements ", elements[0].shape().ToString(), " and ",
                     element.shape().ToString(), " do not match");
    }
  }
  return absl::OkStatus();
}

// Concatenates the elements along an axis, or stacks them along a new one with new_axis = 1.
OutputValues ConcatFromSequence(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> elements, SequenceOperand(context, 0));
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t new_axis, context.Int("new_axis", 0));
  const bool is_new = new_axis != 0;
  if (elements.empty()) return Invalid("the sequence is empty");
  std::vector<Tensor> parts;
  for (const Value& element : elements) {
    if (!element.is_tensor()) return Invalid("an element is not a tensor");
    if (element.element() != elements[0].element()) {
      return Invalid("elements of types ", api::Name(elements[0].element()), " and ",
                     api::Name(element.element()), " do not match");
    }
    if (element.is_strings() && element.words() != elements[0].words()) {
      return Unsupported("concatenation of strings that come from different tensors");
    }
    parts.push_back(element.tensor());
  }
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, parts[0].rank() + (is_new ? 1 : 0)));
  TARTAN_RETURN_IF_ERROR(
      CheckJoined(parts, is_new ? std::nullopt : std::optional(static_cast<size_t>(axis))));
  if (is_new) {
    for (Tensor& part : parts) {
      TARTAN_ASSIGN_OR_RETURN(part, WithAxis(context, part, axis));
    }
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor joined, ConcatOf(context, parts, axis));
  return One(elements[0].With(std::move(joined)));
}

// Sizes of the parts along an axis of `size`: operand 1 is one size for all, or one per part.
absl::StatusOr<std::vector<int64_t>> PartSizes(NodeContext& context, int64_t size) {
  constexpr int64_t kMaxParts = 1 << 14;
  const auto too_many = [](int64_t parts) {
    return absl::ResourceExhaustedError(absl::StrCat("a sequence of ", parts, " parts"));
  };
  if (!context.HasInput(1)) {
    if (size > kMaxParts) return too_many(size);
    return std::vector<int64_t>(static_cast<size_t>(size), 1);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.HostInts(1));
  if (context.input(1).rank() > 0) {
    int64_t rest = size;
    for (int64_t part : sizes) {
      if (part < 0 || part > rest) return Invalid("a part of size ", part, " of ", size);
      rest -= part;
    }
    if (rest != 0) return Invalid("the parts leave ", rest, " of ", size);
    return sizes;
  }
  if (sizes[0] <= 0) return Invalid("parts of size ", sizes[0]);
  if (size / sizes[0] > kMaxParts) return too_many(size / sizes[0]);
  std::vector<int64_t> parts;
  for (int64_t begin = 0; begin < size; begin += sizes[0]) {
    parts.push_back(std::min(sizes[0], size - begin));
  }
  return parts;
}

OutputValues SplitToSequence(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (!x.defined()) return Invalid("operand 0 is not a tensor");
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", 0, x.rank()));
  TARTAN_ASSIGN_OR_RETURN(const int64_t keepdims, context.Int("keepdims", 1));
  const size_t along = static_cast<size_t>(axis);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, PartSizes(context, x.dims()[along]));
  std::vector<Value> parts;
  Window window = WholeOf(x);
  for (int64_t size : sizes) {
    window.sizes[along] = size;
    TARTAN_ASSIGN_OR_RETURN(Tensor part, SliceOf(context, x, window));
    window.start[along] += size;
    if (keepdims == 0 && !context.HasInput(1)) {
      std::vector<int64_t> dims = part.dims();
      dims.erase(dims.begin() + axis);
      TARTAN_ASSIGN_OR_RETURN(part, Reshape(context, part, dims));
    }
    parts.push_back(context.value(0).With(std::move(part)));
  }
  return One(Value::Sequence(std::move(parts)));
}

// Imports the body once per element; operands that are not sequences are passed to every call.
OutputValues SequenceMap(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> first, SequenceOperand(context, 0));
  TARTAN_ASSIGN_OR_RETURN(const GraphProto* body, context.Graph("body"));
  std::vector<std::vector<Value>> made(static_cast<size_t>(body->output_size()));
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Value> inputs;
    for (const Value& operand : context.values()) {
      if (operand.is_sequence() && operand.elements().size() != first.size()) {
        return Invalid("sequences of ", first.size(), " and ", operand.elements().size());
      }
      inputs.push_back(operand.is_sequence() ? operand.elements()[i] : operand);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                            context.ImportSubgraph("body", inputs));
    TARTAN_RETURN_IF_ERROR(CheckElements(outputs));
    for (size_t o = 0; o < made.size(); ++o) made[o].push_back(outputs[o]);
  }
  std::vector<Value> sequences;
  for (std::vector<Value>& elements : made) {
    sequences.push_back(Value::Sequence(std::move(elements)));
  }
  return sequences;
}

// An optional is represented by its value, or by Nothing.
OutputValues Optional(NodeContext& context) { return One(context.value(0)); }

OutputValues OptionalGetElement(NodeContext& context) {
  if (context.value(0).is_nothing()) return Invalid("the optional is empty");
  return One(context.value(0));
}

OutputValues OptionalHasElement(NodeContext& context) {
  return One(ConstantScalar(DataType::kBool, context.value(0).is_nothing() ? 0 : 1));
}

OutputValues Identity(NodeContext& context) { return One(context.value(0)); }

constexpr OperatorRow kOperators[] = {
    ValueRow("ConcatFromSequence", 11, {1, 1}, ConcatFromSequence),
    ValueRow("Identity", 1, {1, 1}, Identity),
    ValueRow("Optional", 15, {0, 1}, Optional),
    ValueRow("OptionalGetElement", 15, {1, 1}, OptionalGetElement),
    ValueRow("OptionalHasElement", 15, {0, 1}, OptionalHasElement),
    ValueRow("SequenceAt", 11, {2, 2}, SequenceAt, HostOperands(1)),
    ValueRow("SequenceConstruct", 11, {1, kAnyNumber}, SequenceConstruct),
    ValueRow("SequenceEmpty", 11, {0, 0}, SequenceEmpty),
    ValueRow("SequenceErase", 11, {1, 2}, SequenceErase, HostOperands(1)),
    ValueRow("SequenceInsert", 11, {2, 3}, SequenceInsert, HostOperands(2)),
    ValueRow("SequenceLength", 11, {1, 1}, SequenceLength),
    ValueRow("SequenceMap", 17, {1, kAnyNumber}, SequenceMap),
    ValueRow("SplitToSequence", 11, {1, 2}, SplitToSequence, HostOperands(1)),
};

}  // namespace

absl::Span<const OperatorRow> SequenceOperators() { return kOperators; }

}  // namespace tartan::onnx
