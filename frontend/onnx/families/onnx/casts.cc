// SPDX-License-Identifier: Apache-2.0
// Conversion of element types: numbers of all widths, strings, bit patterns.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/cast_elements.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "frontend/onnx/values/value_proto.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Element;

// --- Cast

OutputValues CastTo(NodeContext& context, const ElementType& to) {
  const Value x = context.value(0);
  if (!x.is_tensor()) return Invalid("operand 0 is no tensor");
  TARTAN_ASSIGN_OR_RETURN(Value y, CastElements(context, x, to));
  return std::vector<Value>{std::move(y)};
}

// The first form gives the type by name: "FLOAT".
OutputValues CastByName(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string name, context.String("to"));
  const std::string lower = absl::AsciiStrToLower(name);
  for (int32_t type = 1; type <= 13; ++type) {
    if (OnnxTypeName(type) != lower) continue;
    TARTAN_ASSIGN_OR_RETURN(const ElementType to, ElementFromOnnx(type));
    return CastTo(context, to);
  }
  return Invalid("attribute 'to': unknown type ", name);
}

absl::StatusOr<ElementType> TargetType(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t number, context.Int("to"));
  return ElementFromOnnx(static_cast<int32_t>(number));
}

OutputValues CastOperator(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const ElementType to, TargetType(context));
  return CastTo(context, to);
}

OutputValues CastLike(NodeContext& context) {
  if (!context.value(1).is_tensor()) return Invalid("operand 1 is not a tensor");
  return CastTo(context, TypeOf(context.value(1)));
}

// --- BitCast

int BitsOf(const ElementType& type) {
  return type.element == Element::kPlain ? static_cast<int>(8 * ByteWidth(type.type))
                                         : api::PackedBits(type.element);
}

// Integer types of one width share their bit patterns. Only the patterns of floats that Tile
// computes with are not accessible.
OutputValues BitCast(NodeContext& context) {
  const Value x = context.value(0);
  TARTAN_ASSIGN_OR_RETURN(const ElementType to, TargetType(context));
  const ElementType from = TypeOf(x);
  if (!x.is_tensor() || BitsOf(from) == 0 || BitsOf(from) != BitsOf(to)) {
    return Invalid(NameOf(from), " and ", NameOf(to), " have different numbers of bits");
  }
  const bool hidden = tartan::IsFloat(from.type) || tartan::IsFloat(to.type);
  if (from == to) return std::vector<Value>{x};
  if (hidden) {
    const TensorShape shape{to.type, x.tensor().dims()};
    TARTAN_ASSIGN_OR_RETURN(
        std::vector<Tensor> y,
        context.RunOnHost({x.tensor()}, [shape](absl::Span<const HostTensor> operands) {
          return absl::StatusOr<std::vector<HostTensor>>(
              std::vector<HostTensor>{HostTensor(shape, operands[0].bytes())});
        }));
    return std::vector<Value>{Value(std::move(y[0]), to.element)};
  }
  if (BitsOf(to) < 8 && to.type == DataType::kInt8) {
    TARTAN_ASSIGN_OR_RETURN(Value y, EncodeElements(context, x.tensor(), to, EncodingOptions()));
    return std::vector<Value>{std::move(y)};
  }
  std::string bits = Cast("X", to.type);
  if (BitsOf(to) < 8) bits = absl::StrCat(bits, " & ", (1 << BitsOf(to)) - 1);
  TARTAN_ASSIGN_OR_RETURN(Tensor y,
                          context.ApplyOne(TileFunction("X", "Y", {"Y = " + bits}), {x.tensor()}));
  return std::vector<Value>{Value(std::move(y), to.element)};
}

constexpr OperatorRow kOperators[] = {
    ValueRow("BitCast", 26, {1, 1}, BitCast),
    ValueRow("Cast", 1, {1, 1}, CastByName),
    ValueRow("Cast", 6, {1, 1}, CastOperator),
    ValueRow("CastLike", 15, {2, 2}, CastLike),
};

}  // namespace

absl::Span<const OperatorRow> CastOperators() { return kOperators; }

}  // namespace tartan::onnx
