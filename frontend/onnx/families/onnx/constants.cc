// SPDX-License-Identifier: Apache-2.0
// Operators whose result follows from sizes and host values alone.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum bytes of a constant made on the host; larger results are an error.
constexpr int64_t kMaxHostBytes = int64_t{1} << 24;

// Constants with a value of their own are in the graph already. This handler serves those that
// refer to a function's attribute.
OutputValues Constant(NodeContext& context) {
  for (const AttributeProto& attribute : context.node().attribute()) {
    const AttributeProto* value = context.Find(attribute.name());
    if (value == nullptr) continue;
    AttributeProto renamed = *value;
    renamed.set_name(attribute.name());
    TARTAN_ASSIGN_OR_RETURN(const api::HostValue constant,
                            ConstantFromAttribute(renamed, {nullptr, nullptr}));
    return std::vector<Value>{api::ToLazy(constant)};
  }
  return Invalid("no attribute gives the value");
}

OutputValues ConstantOfShape(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, context.HostInts(0));
  api::HostValue value(HostTensor::Zeros(TensorShape{DataType::kFloat32, {}}));
  if (context.HasAttribute("value")) {
    TARTAN_ASSIGN_OR_RETURN(value, context.ConstantValue("value"));
    if (value.tensor().element_count() != 1) {
      return Invalid("attribute 'value': expected one element, got ", Describe(value));
    }
  }
  const TensorShape shape{value.tensor().type(), dims};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  TARTAN_ASSIGN_OR_RETURN(Tensor result,
                          Fill(context, Tensor::Constant(value.tensor().Reshaped({})), dims));
  return std::vector<Value>{api::ToLazy(value).With(std::move(result))};
}

Outputs EyeLike(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const DataType type, context.Type("dtype", x.type()));
  TARTAN_ASSIGN_OR_RETURN(int64_t k, context.Int("k", 0));
  if (x.rank() != 2) return Invalid("a matrix is expected, got ", x.shape().ToString());
  // Past the corners all k give the same result; within the sizes k fits the type of coordinates.
  k = std::min(std::max(k, -x.dims()[0]), x.dims()[1]);
  const std::string value = Cast(absl::StrCat("index(X, 1) - index(X, 0) == ", Literal(k)), type);
  return context.Apply(absl::StrCat("function (X) -> (Y) { Y = ", value, "; }"));
}

// `element(i)` for each of `count` positions.
template <class Element>
Outputs RangeOf(DataType type, int64_t count, Element element) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count * ByteWidth(type)));
  for (int64_t i = 0; i < count; ++i) StoreElement(type, element(i), i, bytes.data());
  return std::vector<Tensor>{Tensor::Constant(HostTensor(TensorShape{type, {count}}, bytes))};
}

// True if a range is the positions of a decoder step with a preallocated cache (decoding_mode.h).
bool IsDecoderPositions(const NodeContext& context, double start, double limit, double delta) {
  const DecodingMode* mode = context.decoding();
  return mode != nullptr && delta == 1 && limit == static_cast<double>(mode->capacity) &&
         start == static_cast<double>(mode->capacity - mode->step);
}

Outputs Range(NodeContext& context) {
  const DataType type = context.input(0).type();
  TARTAN_ASSIGN_OR_RETURN(const double start, context.HostFloat(0));
  TARTAN_ASSIGN_OR_RETURN(const double limit, context.HostFloat(1));
  TARTAN_ASSIGN_OR_RETURN(const double delta, context.HostFloat(2));
  if (delta == 0 || !std::isfinite(start) || !std::isfinite(limit) || std::isnan(delta)) {
    return Invalid("no range exists from ", start, " to ", limit, " by ", delta);
  }
  if (IsDecoderPositions(context, start, limit, delta)) {
    const DecodingMode& mode = *context.decoding();
    return context.Apply(TileFunction("N", "Y",
                                      {absl::StrCat("L[i : ", mode.step, "] = =(N[0])"),
                                       absl::StrCat("Y = ", Cast("L + index(L, 0)", type))}),
                         {mode.length});
  }
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (count * static_cast<double>(ByteWidth(type)) > kMaxHostBytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a range of ", count, " numbers"));
  }
  if (IsFloat(type)) {
    return RangeOf(type, static_cast<int64_t>(count),
                   [&](int64_t i) { return start + static_cast<double>(i) * delta; });
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t from, context.HostInt(0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t by, context.HostInt(2));
  // Unsigned arithmetic, because the multiplication may overflow int64 although the sum does not.
  return RangeOf(type, static_cast<int64_t>(count), [&](int64_t i) {
    return static_cast<int64_t>(static_cast<uint64_t>(from) +
                                static_cast<uint64_t>(i) * static_cast<uint64_t>(by));
  });
}

// Elements [start, end) of the sizes; both count from the end when negative, and are clamped.
Outputs Shape(NodeContext& context) {
  const std::vector<int64_t>& dims = context.input(0).dims();
  const int64_t rank = context.input(0).rank();
  TARTAN_ASSIGN_OR_RETURN(int64_t start, context.Int("start", 0));
  TARTAN_ASSIGN_OR_RETURN(int64_t end, context.Int("end", rank));
  const auto clamp = [&](int64_t i) {
    return std::min(std::max<int64_t>(i < 0 ? i + rank : i, 0), rank);
  };
  start = clamp(start);
  end = std::max(start, clamp(end));
  return std::vector<Tensor>{ConstantInts({dims.begin() + start, dims.begin() + end})};
}

Outputs Size(NodeContext& context) {
  return std::vector<Tensor>{ConstantInt(context.input(0).shape().element_count())};
}

constexpr OperatorRow kOperators[] = {
    ValueRow("Constant", 1, {0, 0}, Constant),
    ValueRow("ConstantOfShape", 9, {1, 1}, ConstantOfShape, HostOperands(0)),
    {"EyeLike", 9, {1, 1}, EyeLike},
    {"Range", 11, {3, 3}, Range, HostOperands(0, 1, 2)},
    Reading({"Shape", 1, {1, 1}, Shape}),
    Reading({"Size", 1, {1, 1}, Size}),
};

}  // namespace

absl::Span<const OperatorRow> ConstantOperators() { return kOperators; }

}  // namespace tartan::onnx
