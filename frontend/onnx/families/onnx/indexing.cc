// SPDX-License-Identifier: Apache-2.0
// Gather and scatter operators other than Gather, and ReverseSequence.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program.h"

namespace tartan::onnx {
namespace {

absl::StatusOr<int64_t> AxisOf(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Int("axis", 0));
  return NormalAxis(axis, context.input(0).rank());
}

// Checks operand 1: positions along `axis` of operand 0.
absl::Status CheckIndicesAlong(NodeContext& context, int64_t axis) {
  return context.CheckInput(1, {IndexBounds(context.input(0), axis)});
}

// Checks operand 1, whose last dimension holds one position per axis of operand 0, starting at axis
// `first`.
absl::Status CheckPlaces(NodeContext& context, int64_t first) {
  const Tensor& x = context.input(0);
  const Tensor& places = context.input(1);
  // Tile refuses sizes that do not fit.
  if (places.rank() == 0 || places.dims().back() == 0) return absl::OkStatus();
  if (first < 0 || first + places.dims().back() > x.rank()) return absl::OkStatus();
  std::vector<api::Bounds> bounds;
  for (int64_t k = 0; k < places.dims().back(); ++k) bounds.push_back(IndexBounds(x, first + k));
  return context.CheckInput(1, std::move(bounds));
}

// The reduction with the existing element, as the number that Tile's scatters take.
absl::StatusOr<int64_t> ScatterModeOf(NodeContext& context) {
  const absl::StatusOr<std::string> reduction = context.String("reduction", "none");
  if (!reduction.ok()) return reduction.status();
  if (*reduction == "none") return static_cast<int64_t>(ir::ScatterMode::kAssign);
  if (*reduction == "add") return static_cast<int64_t>(ir::ScatterMode::kAdd);
  if (*reduction == "mul") return static_cast<int64_t>(ir::ScatterMode::kMul);
  if (*reduction == "min") return static_cast<int64_t>(ir::ScatterMode::kMin);
  if (*reduction == "max") return static_cast<int64_t>(ir::ScatterMode::kMax);
  return Invalid("attribute 'reduction': expected none, add, mul, min or max, got ", *reduction);
}

Outputs GatherElements(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(context));
  TARTAN_RETURN_IF_ERROR(CheckIndicesAlong(context, axis));
  return context.Apply(
      absl::StrCat("function (X, I) -> (Y) { Y = gather_elements(X, I, ", axis, "); }"));
}

Outputs GatherNd(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t batch_dims, context.Int("batch_dims", 0));
  TARTAN_RETURN_IF_ERROR(CheckPlaces(context, batch_dims));
  return context.Apply(
      absl::StrCat("function (X, I) -> (Y) { Y = gather_nd(X, I, ", batch_dims, "); }"));
}

Outputs ScatterElements(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(context));
  TARTAN_RETURN_IF_ERROR(CheckIndicesAlong(context, axis));
  TARTAN_ASSIGN_OR_RETURN(const int64_t mode, ScatterModeOf(context));
  return context.Apply(absl::StrCat("function (X, I, U) -> (Y) { Y = scatter_elements(X, I, U, ",
                                    axis, ", ", mode, "); }"));
}

Outputs ScatterNd(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t mode, ScatterModeOf(context));
  TARTAN_RETURN_IF_ERROR(CheckPlaces(context, 0));
  return context.Apply(
      absl::StrCat("function (X, I, U) -> (Y) { Y = scatter_nd(X, I, U, ", mode, "); }"));
}

// Reverses the first sequence_lens[b] elements of batch b along the time axis.
Outputs ReverseSequence(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t time, context.Int("time_axis", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t batch, context.Int("batch_axis", 1));
  const bool axes_fit = x.rank() >= 2 && (time == 0 || time == 1) && batch == 1 - time;
  if (!axes_fit || context.input(1).dims() != std::vector<int64_t>{x.dims()[batch]}) {
    return Invalid("lengths ", context.input(1).shape().ToString(), " and axes ", time, " and ",
                   batch, " do not fit ", x.shape().ToString());
  }
  const int64_t steps = x.dims()[static_cast<size_t>(time)];
  TARTAN_RETURN_IF_ERROR(
      context.CheckInput(1, {{0, steps, absl::StrCat("axis ", time)}}, "sequence length"));
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[static_cast<size_t>(batch)] = x.dims()[static_cast<size_t>(batch)];
  return context.Apply(TileFunction(
      "X, LENGTHS", "Y",
      {absl::StrCat("L = ", ReshapeCall("LENGTHS", dims)), absl::StrCat("T = index(X, ", time, ")"),
       "I = T < L ? L - 1 - T : T", absl::StrCat("Y = gather_elements(X, I, ", time, ")")}));
}

constexpr OperatorRow kOperators[] = {
    Moving({"GatherElements", 11, {2, 2}, GatherElements}),
    Moving({"GatherND", 11, {2, 2}, GatherNd}),
    Moving({"ReverseSequence", 10, {2, 2}, ReverseSequence}),
    Moving({"Scatter", 9, {3, 3}, ScatterElements}),
    Moving({"ScatterElements", 11, {3, 3}, ScatterElements}),
    Moving({"ScatterND", 11, {3, 3}, ScatterNd}),
};

}  // namespace

absl::Span<const OperatorRow> IndexingOperators() { return kOperators; }

}  // namespace tartan::onnx
