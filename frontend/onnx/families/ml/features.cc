// SPDX-License-Identifier: Apache-2.0
// Feature operators of ai.onnx.ml: selection, imputation, scaling and normalization of columns.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Columns of the last dimension at the positions in operand 1; a vector is one row.
Outputs ArrayFeatureExtractor(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() == 0) return Invalid("operand 0 is a scalar");
  TARTAN_RETURN_IF_ERROR(context.CheckInput(1, {IndexBounds(x, x.rank() - 1)}));
  const int64_t count = context.input(1).shape().element_count();
  TARTAN_ASSIGN_OR_RETURN(const Tensor flat, Reshape(context, context.input(1), {count}));
  TARTAN_ASSIGN_OR_RETURN(Tensor y, TakeOf(context, x, flat, x.rank() - 1));
  if (x.rank() == 1) {
    TARTAN_ASSIGN_OR_RETURN(y, Reshape(context, y, {1, count}));
  }
  return std::vector<Tensor>{std::move(y)};
}

Outputs Binarizer(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float threshold, context.Float("threshold", 0.0F));
  const DataType type = context.input(0).type();
  const std::string x = IsFloat(type) ? "X" : Cast("X", DataType::kFloat32);
  return context.Apply(TileFunction(
      "X", "Y",
      {absl::StrCat("Y = ", Cast(absl::StrCat(x, " > ", Literal(double{threshold})), type))}));
}

// A constant that broadcasts, from one number for all features or one per feature.
absl::StatusOr<Tensor> PerFeature(const NodeContext& context, absl::string_view name, DataType type,
                                  const std::vector<double>& values) {
  const Tensor& x = context.input(0);
  const int64_t count = static_cast<int64_t>(values.size());
  if (count != 1 && (x.rank() == 0 || count != x.dims().back())) {
    return Invalid("attribute '", name, "' has ", count, " elements for ", x.shape().ToString());
  }
  return ConstantOf(type, values,
                    count == 1 ? std::vector<int64_t>{} : std::vector<int64_t>{count});
}

absl::StatusOr<Tensor> FloatsPerFeature(const NodeContext& context, absl::string_view name,
                                        DataType type, double otherwise) {
  std::vector<double> values = {otherwise};
  if (context.HasAttribute(name)) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<float> floats, context.Floats(name));
    values.assign(floats.begin(), floats.end());
  }
  return PerFeature(context, name, type, values);
}

Outputs Scaler(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, AsReal(context, context.input(0)));
  TARTAN_ASSIGN_OR_RETURN(const Tensor offset, FloatsPerFeature(context, "offset", x.type(), 0));
  TARTAN_ASSIGN_OR_RETURN(const Tensor scale, FloatsPerFeature(context, "scale", x.type(), 1));
  return context.Apply("function (X, O, S) -> (Y) { Y = as_float((X - O) * S, 32); }",
                       {x, offset, scale});
}

Outputs Imputer(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (IsFloat(x.type())) {
    TARTAN_ASSIGN_OR_RETURN(const float replaced, context.Float("replaced_value_float", 0.0F));
    TARTAN_ASSIGN_OR_RETURN(const Tensor imputed,
                            FloatsPerFeature(context, "imputed_value_floats", x.type(), 0));
    const std::string is_missing =
        std::isnan(replaced) ? "isnan(X)" : absl::StrCat("X == ", Literal(double{replaced}));
    return context.Apply(absl::StrCat("function (X, I) -> (Y) { Y = ", is_missing, " ? I : X; }"),
                         {x, imputed});
  }
  if (!IsInteger(x.type())) return Invalid("operand 0 is ", x.shape().ToString());
  TARTAN_ASSIGN_OR_RETURN(const int64_t replaced, context.Int("replaced_value_int64", 0));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, context.Ints("imputed_value_int64s"));
  const int64_t count = static_cast<int64_t>(values.size());
  if (count != 1 && (x.rank() == 0 || count != x.dims().back())) {
    return Invalid("attribute 'imputed_value_int64s' has ", count, " elements for ",
                   x.shape().ToString());
  }
  return context.Apply(absl::StrCat("function (X, I) -> (Y) { Y = ",
                                    Cast(absl::StrCat(Cast("X", DataType::kInt64),
                                                      " == ", Literal(replaced), " ? I : X"),
                                         x.type()),
                                    "; }"),
                       {x, ConstantInts(values)});
}

// Divides rows by their maximum, L1 norm or L2 norm; rows whose divisor is 0 stay unchanged.
Outputs Normalizer(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string norm, context.String("norm", "MAX"));
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, AsReal(context, context.input(0)));
  if (x.rank() == 0) return Invalid("operand 0 is a scalar");
  std::vector<std::string> kept = IndexNames(x.rank());
  std::vector<int64_t> dims = x.dims();
  const std::vector<std::string> all = kept;
  kept.back() = std::string("z");
  dims.back() = 1;
  const auto over = [&](const char* aggregation, const char* of) {
    return absl::StrCat(Write("D", kept, dims), " = ", aggregation, "(", Read(of, all), "), z < 1");
  };
  std::vector<std::string> lines;
  if (norm == "MAX") {
    lines = {over(">", "X"), "S = D"};
  } else if (norm == "L1") {
    lines = {"P = abs(X)", over("+", "P"), "S = D"};
  } else if (norm == "L2") {
    lines = {"P = X * X", over("+", "P"), "S = sqrt(D)"};
  } else {
    return Invalid("attribute 'norm': expected MAX, L1 or L2, got ", norm);
  }
  lines.push_back("Y = as_float(S == 0 ? X : X / S, 32)");
  return context.Apply(TileFunction("X", "Y", lines), {x});
}

// Concatenates operands [N, C_i], or [C_i], as float32.
Outputs FeatureVectorizer(NodeContext& context) {
  std::vector<Tensor> parts;
  for (const Tensor& input : context.inputs()) {
    TARTAN_ASSIGN_OR_RETURN(Tensor part, ConvertTo(context, input, DataType::kFloat32));
    if (part.rank() == 1) {
      TARTAN_ASSIGN_OR_RETURN(part, Reshape(context, part, {1, part.dims()[0]}));
    }
    if (part.rank() != 2 || (!parts.empty() && part.dims()[0] != parts[0].dims()[0])) {
      return Invalid("operand ", parts.size(), " is ", input.shape().ToString());
    }
    parts.push_back(std::move(part));
  }
  return OneTensor(ConcatOf(context, parts, 1));
}

constexpr OperatorRow kOperators[] = {
    Moving(In(kMlDomain, {"ArrayFeatureExtractor", 1, {2, 2}, ArrayFeatureExtractor})),
    In(kMlDomain, {"Binarizer", 1, {1, 1}, Binarizer}),
    In(kMlDomain, {"FeatureVectorizer", 1, {1, kAnyNumber}, FeatureVectorizer}),
    In(kMlDomain, {"Imputer", 1, {1, 1}, Imputer}),
    In(kMlDomain, {"Normalizer", 1, {1, 1}, Normalizer}),
    In(kMlDomain, {"Scaler", 1, {1, 1}, Scaler}),
};

}  // namespace

absl::Span<const OperatorRow> MlFeatureOperators() { return kOperators; }

}  // namespace tartan::onnx
