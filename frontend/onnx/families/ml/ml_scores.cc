// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/ml/ml_scores.h"

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::HostValue;

constexpr char kSoftmax[] = R"(
function (S[N, K]) -> (Y) {
  M[n, z : N, 1] = >(S[n, k]), z < 1;
  E = exp(S - M);
  T[n, z : N, 1] = +(E[n, k]), z < 1;
  Y = E / T;
})";

// The softmax of SOFTMAX_ZERO: scores within 1e-7 of 0 contribute S * exp(-M) instead of exp(S -
// M).
constexpr char kSoftmaxZero[] = R"(
function (S[N, K]) -> (Y) {
  M[n, z : N, 1] = >(S[n, k]), z < 1;
  E = abs(S) > 1e-7 ? exp(S - M) : S * exp(-M);
  T[n, z : N, 1] = +(E[n, k]), z < 1;
  Y = T == 0 ? 0.5 : E / T;
})";

constexpr char kProbit[] = R"(
function (S) -> (Y) {
  X = 2.0 * S - 1.0;
  L = log((1.0 - X) * (1.0 + X));
  V = 4.3307467 + 0.5 * L;
  R = sqrt(sqrt(V * V - L / 0.147) - V);
  Y = 1.41421356 * (X < 0 ? -R : R);
})";

}  // namespace

absl::StatusOr<Tensor> PostTransformed(const NodeContext& context, const Tensor& scores,
                                       absl::string_view transform) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor narrow, ConvertTo(context, scores, DataType::kFloat32));
  if (transform == "NONE") return narrow;
  if (transform == "LOGISTIC") {
    return context.ApplyOne("function (S) -> (Y) { Y = sigmoid(S); }", {narrow});
  }
  if (transform == "SOFTMAX") return context.ApplyOne(kSoftmax, {narrow});
  if (transform == "SOFTMAX_ZERO") return context.ApplyOne(kSoftmaxZero, {narrow});
  if (transform == "PROBIT") return context.ApplyOne(kProbit, {narrow});
  return Invalid("attribute 'post_transform': unknown transform ", transform);
}

absl::StatusOr<HostValue> ReadLabels(const NodeContext& context, absl::string_view integers,
                                     absl::string_view strings) {
  if (context.HasAttribute(strings)) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, context.Strings(strings));
    if (!names.empty()) return api::HostStrings({static_cast<int64_t>(names.size())}, names);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, context.Ints(integers, {}));
  return HostValue(*ConstantInts(numbers).constant());
}

absl::StatusOr<Value> LabelsAt(const NodeContext& context, const HostValue& labels,
                               const Tensor& positions) {
  if (labels.tensor().element_count() == 0) return Invalid("the class labels are missing");
  const Value table = api::ToLazy(labels);
  TARTAN_ASSIGN_OR_RETURN(Tensor y, context.ApplyOne("function (T, I) -> (Y) { Y = gather(T, I); }",
                                                     {table.tensor(), positions}));
  return table.With(std::move(y));
}

absl::StatusOr<Tensor> ArgMaxOfRows(const NodeContext& context, const Tensor& scores) {
  return context.ApplyOne(R"(
function (S[N, K]) -> (Y) {
  M[n, z : N, 1] = >(S[n, k]), z < 1;
  P = S == M ? index(S, 1) : K;
  Y[n : N] = <(P[n, k]);
})",
                          {scores});
}

absl::StatusOr<Tensor> AsReal(const NodeContext& context, const Tensor& x) {
  if (x.type() == DataType::kFloat64) return x;
  return ConvertTo(context, x, DataType::kFloat32);
}

absl::StatusOr<Tensor> RowsOf(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, AsReal(context, context.input(0)));
  if (x.rank() == 2) return x;
  if (x.rank() != 1) return Invalid("operand 0 is ", x.shape().ToString(), ", expected [N, F]");
  return context.ApplyOne(TileFunction("X", "Y", {"Y = " + ReshapeCall("X", {1, x.dims()[0]})}),
                          {x});
}

absl::StatusOr<std::vector<double>> Reals(const NodeContext& context, absl::string_view name) {
  if (!context.HasAttribute(name)) return std::vector<double>();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> values, context.Floats(name));
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace tartan::onnx
