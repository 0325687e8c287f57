// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax.
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Axes = std::vector<int64_t>;

// One axis from opset 13 on. Before, all axes from the given one on are reduced together.
absl::StatusOr<Axes> ReadAxes(const NodeContext& context) {
  const bool is_one = context.opset() >= 13;
  const int64_t rank = context.input(0).rank();
  TARTAN_ASSIGN_OR_RETURN(int64_t axis, context.Int("axis", is_one ? -1 : 1));
  if (!is_one && axis == rank) return Axes();
  TARTAN_ASSIGN_OR_RETURN(axis, NormalAxis(axis, rank));
  return is_one ? Axes{axis} : AxesFrom(axis, rank);
}

// Subtracts the maximum first, so that no exponential overflows.
std::vector<std::string> ExponentialStatements(const Tensor& x, const Axes& axes) {
  return {ReduceStatement("M", '>', "X", x.dims(), axes), "D = X - M", "E = exp(D)",
          ReduceStatement("S", '+', "E", x.dims(), axes)};
}

// Applies `result` with the derivative `rule`, a function of the result: training keeps no other
// tensor. The gradient ignores the maximum, which does not change the result.
Outputs WithDerivative(NodeContext& context, const Axes& axes, absl::string_view result,
                       const std::vector<std::string>& rule) {
  std::vector<std::string> statements = ExponentialStatements(context.input(0), axes);
  statements.push_back(absl::StrCat("Y = custom_gradient(", result, ", rule, X)"));
  return context.Apply(absl::StrCat(TileFunction("X", "Y", statements),
                                    "function rule (X, Y, DY) -> (DX) {\n  ",
                                    absl::StrJoin(rule, ";\n  "), ";\n}\n"));
}

// Masks cache positions past the current length with -infinity (decoding_mode.h).
absl::Status MaskUnusedCache(const Axes& axes, NodeContext* context) {
  const DecodingMode* mode = context->decoding();
  const Tensor& x = context->input(0);
  const int64_t last = x.rank() - 1;
  if (mode == nullptr || axes != Axes{last} || x.dims().back() != mode->capacity) {
    return absl::OkStatus();
  }
  const std::string ones = absl::StrJoin(std::vector<int>(x.dims().size(), 1), ", ");
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor there,
      context->ApplyOne(
          TileFunction("X, N", "Y",
                       {absl::StrCat("IS_THERE = index(X, ", last, ") < reshape(N, ", ones, ") + ",
                                     mode->step),
                        absl::StrCat("Y = IS_THERE ? X : ",
                                     Literal(-std::numeric_limits<float>::infinity()))}),
          {x, mode->length}));
  context->SetInput(0, there);
  return absl::OkStatus();
}

Outputs Softmax(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(context));
  TARTAN_RETURN_IF_ERROR(MaskUnusedCache(axes, &context));
  return WithDerivative(
      context, axes, "E / S",
      {"G = DY * Y", ReduceStatement("T", '+', "G", context.input(0).dims(), axes),
       "DX = Y * (DY - T)"});
}

Outputs LogSoftmax(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(context));
  return WithDerivative(
      context, axes, "D - log(S)",
      {ReduceStatement("T", '+', "DY", context.input(0).dims(), axes), "DX = DY - exp(Y) * T"});
}

// 1 at the first maximum, 0 elsewhere. MARKS decreases along the axes, so that the first maximum
// has the largest mark.
Outputs Hardmax(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Axes axes, ReadAxes(context));
  const Tensor& x = context.input(0);
  Axes mark_dims(x.dims().size(), 1);
  for (int64_t axis : axes) {
    mark_dims[static_cast<size_t>(axis)] = x.dims()[static_cast<size_t>(axis)];
  }
  TARTAN_RETURN_IF_ERROR(CheckTable(mark_dims));
  return context.Apply(
      TileFunction("X, MARKS", "Y",
                   {ReduceStatement("M", '>', "X", x.dims(), axes), "HIT = X == M ? MARKS : 0",
                    ReduceStatement("FIRST", '>', "HIT", x.dims(), axes),
                    absl::StrCat("Y = ", Cast("HIT == FIRST && HIT > 0", x.type()))}),
      {x, Countdown(mark_dims)});
}

constexpr OperatorRow kOperators[] = {
    {"Hardmax", 1, {1, 1}, Hardmax},
    {"LogSoftmax", 1, {1, 1}, LogSoftmax},
    {"Softmax", 1, {1, 1}, Softmax},
};

}  // namespace

absl::Span<const OperatorRow> SoftmaxOperators() { return kOperators; }

}  // namespace tartan::onnx
