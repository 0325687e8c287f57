// SPDX-License-Identifier: Apache-2.0
// Linear models of ai.onnx.ml.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Rows times 'coefficients' [targets, F], plus 'intercepts'.
absl::StatusOr<Tensor> LinearScores(const NodeContext& context, int64_t targets) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, RowsOf(context));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> factors, Reals(context, "coefficients"));
  TARTAN_ASSIGN_OR_RETURN(std::vector<double> intercepts, Reals(context, "intercepts"));
  const int64_t features = x.dims()[1];
  const int64_t count = static_cast<int64_t>(factors.size());
  if (targets < 1 || count / targets != features || count % targets != 0) {
    return Invalid("attribute 'coefficients' has ", count, " elements for ", features,
                   " features and ", targets, " targets");
  }
  if (intercepts.empty()) intercepts.resize(static_cast<size_t>(targets));
  if (static_cast<int64_t>(intercepts.size()) != targets) {
    return Invalid("attribute 'intercepts' has ", intercepts.size(), " elements for ", targets,
                   " targets");
  }
  return context.ApplyOne(R"(
function (X[N, F], C[K, F], B) -> (Y) {
  P[n, k : N, K] = +(X[n, f] * C[k, f]);
  Y = P + B;
})",
                          {x, ConstantOf(x.type(), factors, {targets, features}),
                           ConstantOf(x.type(), intercepts, {targets})});
}

Outputs LinearRegressor(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t targets, context.Int("targets", 1));
  TARTAN_ASSIGN_OR_RETURN(const std::string transform, context.String("post_transform", "NONE"));
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, LinearScores(context, targets));
  return OneTensor(PostTransformed(context, scores, transform));
}

// A single score for two classes is the second class's score, and the first class gets its
// negative. A single score for one class selects its label from 0 on, or from 0.5 on if
// transformed, otherwise label 0.
OutputValues LinearClassifier(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(Tensor numbers, DecodeLowPrecision(context, context.value(0)));
  context.SetInput(0, Value(std::move(numbers)));
  TARTAN_ASSIGN_OR_RETURN(const api::HostValue labels,
                          ReadLabels(context, "classlabels_ints", "classlabels_strings"));
  TARTAN_ASSIGN_OR_RETURN(const std::string transform, context.String("post_transform", "NONE"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> factors, context.Floats("coefficients"));
  const Tensor& x = context.input(0);
  const int64_t features = x.rank() == 0 ? 0 : x.dims().back();
  const int64_t targets = features == 0 ? 0 : static_cast<int64_t>(factors.size()) / features;
  const int64_t classes = labels.tensor().element_count();
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, LinearScores(context, targets));
  if (targets == 1 && classes == 2) {
    TARTAN_ASSIGN_OR_RETURN(
        scores, context.ApplyOne("function (S[N, K]) -> (Y) { T[n, z : N, 2] = +(S[n, k]), "
                                 "z < 2, k < 1; Y = index(T, 1) == 1 ? T : -T; }",
                                 {scores}));
  } else if (targets != classes) {
    return Invalid(classes, " labels for ", targets, " classes");
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor transformed, PostTransformed(context, scores, transform));
  if (classes == 1) {
    if (labels.is_strings()) return Unsupported("a single class whose label is a string");
    const int64_t label = labels.tensor().GetInt(0);
    TARTAN_ASSIGN_OR_RETURN(
        Tensor made,
        context.ApplyOne(absl::StrCat("function (S[N, K]) -> (Y) { T[n : N] = +(S[n, k]); "
                                      "Y = T >= ",
                                      transform == "NONE" ? "0.0" : "0.5", " ? as_int(", label,
                                      ", 64) : as_int(0, 64); }"),
                         {transformed}));
    return std::vector<Value>{Value(std::move(made)), Value(std::move(transformed))};
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor greatest, ArgMaxOfRows(context, scores));
  TARTAN_ASSIGN_OR_RETURN(Value label, LabelsAt(context, labels, greatest));
  return std::vector<Value>{std::move(label), Value(std::move(transformed))};
}

constexpr OperatorRow kOperators[] = {
    In(kMlDomain, ValueRow("LinearClassifier", 1, {1, 1}, LinearClassifier)),
    In(kMlDomain, {"LinearRegressor", 1, {1, 1}, LinearRegressor}),
};

}  // namespace

absl::Span<const OperatorRow> MlLinearOperators() { return kOperators; }

}  // namespace tartan::onnx
