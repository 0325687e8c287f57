// SPDX-License-Identifier: Apache-2.0
// Operators of early operator sets that models still use: experimental ones that never became part
// of the standard, and forms without a newer counterpart.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Y = `value`, in terms of X and the attributes alpha ($0) and beta ($1).
Outputs OfAlphaAndBeta(NodeContext& context, absl::string_view value, float alpha, float beta) {
  TARTAN_ASSIGN_OR_RETURN(alpha, context.Float("alpha", alpha));
  TARTAN_ASSIGN_OR_RETURN(beta, context.Float("beta", beta));
  const std::string y = absl::Substitute(value, Literal(alpha), Literal(beta));
  return context.Apply(absl::StrCat("function (X) -> (Y) { ", y, " }"));
}

Outputs Affine(NodeContext& context) { return OfAlphaAndBeta(context, "Y = $0 * X + $1;", 1, 0); }

// A form without overflow for large beta * X.
Outputs ParametricSoftplus(NodeContext& context) {
  return OfAlphaAndBeta(context, "Z = $1 * X; Y = $0 * (max(Z, 0) + log1p(exp(-abs(Z))));", 1, 1);
}

Outputs ScaledTanh(NodeContext& context) {
  return OfAlphaAndBeta(context, "Y = $0 * tanh($1 * X);", 1, 1);
}

Outputs Scale(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("scale", 1.0f));
  return context.Apply(absl::StrCat("function (X) -> (Y) { Y = X * ", Literal(scale), "; }"));
}

absl::Status CheckImage(const Tensor& x) {
  if (x.rank() == 4) return absl::OkStatus();
  return Invalid("expected [batch, channels, rows, columns], got ", x.shape().ToString());
}

// Multiplies a picture by a number and adds one number per channel.
Outputs ImageScaler(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckImage(x));
  TARTAN_ASSIGN_OR_RETURN(const float scale, context.Float("scale", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> bias, context.Floats("bias"));
  const int64_t channels = x.dims()[1];
  if (static_cast<int64_t>(bias.size()) != channels) {
    return Invalid("attribute 'bias' has ", bias.size(), " elements for ", channels, " channels");
  }
  const std::vector<double> values(bias.begin(), bias.end());
  return context.Apply(absl::StrCat("function (X, B) -> (Y) { Y = X * ", Literal(scale), " + B; }"),
                       {x, ConstantOf(ComputeType(x.type()), values, {channels, 1, 1})});
}

// 'border' is left, top, right, bottom. 'scale' gives the rows and columns of the result, which
// starts after left and top.
Outputs Crop(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckImage(x));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> border, context.Ints("border"));
  if (border.size() != 4) return Invalid("attribute 'border' is ", DimsToString(border));
  Window window = WholeOf(x);
  for (size_t d : {2, 3}) {
    window.start[d] = border[3 - d];
    window.sizes[d] = x.dims()[d] - border[3 - d] - border[5 - d];
  }
  if (context.HasAttribute("scale")) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, context.Ints("scale"));
    if (sizes.size() != 2) return Invalid("attribute 'scale' is ", DimsToString(sizes));
    window.sizes[2] = sizes[0];
    window.sizes[3] = sizes[1];
  }
  for (size_t d : {2, 3}) {
    const int64_t size = x.dims()[d];
    const bool fits = window.start[d] >= 0 && window.sizes[d] >= 0 && window.start[d] <= size &&
                      window.sizes[d] <= size - window.start[d];
    if (fits) continue;
    return Invalid("elements from ", window.start[d], " on, ", window.sizes[d],
                   " of them, exceed dimension ", d, " of ", x.shape().ToString());
  }
  return OneTensor(SliceOf(context, x, window));
}

// The attribute 'values' in a shape: the operand's shape, the operand's elements, or an attribute.
Outputs GivenTensorFill(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> values, context.Floats("values"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t as_shape, context.Int("input_as_shape", 0));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> extra,
                          context.Ints("extra_shape", std::vector<int64_t>()));
  std::vector<int64_t> dims;
  if (!context.HasInput(0)) {
    TARTAN_ASSIGN_OR_RETURN(dims, context.Ints("shape"));
  } else if (as_shape != 0) {
    TARTAN_ASSIGN_OR_RETURN(dims, context.HostInts(0));
  } else {
    dims = context.input(0).dims();
  }
  dims.insert(dims.end(), extra.begin(), extra.end());
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{DataType::kFloat32, dims}));
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  if (count != static_cast<int64_t>(values.size())) {
    return Invalid(values.size(), " values for a shape of ", DimsToString(dims));
  }
  const std::vector<double> all(values.begin(), values.end());
  return std::vector<Tensor>{ConstantOf(DataType::kFloat32, all, dims)};
}

// The form before operator set 9 normalizes over batch and space, and with 'across_channels' over
// channels too.
Outputs MeanVarianceNormalization(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_RETURN_IF_ERROR(CheckImage(x));
  TARTAN_ASSIGN_OR_RETURN(const int64_t across, context.Int("across_channels", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t divides, context.Int("normalize_variance", 1));
  const std::vector<int64_t> axes =
      across != 0 ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0, 2, 3};
  std::vector<std::string> statements = StandardizeStatements("X", x.dims(), axes, 0);
  statements.push_back("DEVIATION = sqrt(VAR)");
  statements.push_back(divides != 0 ? "Y = (X - MEAN) / (DEVIATION + 1e-9)" : "Y = X - MEAN");
  return context.Apply(TileFunction("X", "Y", statements));
}

Outputs DynamicSlice(NodeContext& context) {
  constexpr int kSameForm = 10;
  return FindOperator("", "Slice", kSameForm)->handler(context);
}

// Before operator set 7 the scales are two attributes of pictures.
absl::Status ScalesFromSides(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckImage(context.input(0)));
  TARTAN_ASSIGN_OR_RETURN(const float rows, context.Float("height_scale"));
  TARTAN_ASSIGN_OR_RETURN(const float columns, context.Float("width_scale"));
  context.SetInput(1, ConstantOf(DataType::kFloat32, {1, 1, rows, columns}, {4}));
  return absl::OkStatus();
}

Outputs Upsample(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(ScalesFromSides(context));
  constexpr int kSameForm = 9;
  return FindOperator("", "Upsample", kSameForm)->handler(context);
}

constexpr OperatorRow kOperators[] = {
    {"Affine", 1, {1, 1}, Affine},
    {"Crop", 1, {1, 1}, Crop},
    {"DynamicSlice", 1, {3, 4}, DynamicSlice, HostOperands(1, 2, 3)},
    {"GivenTensorFill", 1, {0, 1}, GivenTensorFill},
    {"ImageScaler", 1, {1, 1}, ImageScaler},
    {"MeanVarianceNormalization", 1, {1, 1}, MeanVarianceNormalization},
    {"ParametricSoftplus", 1, {1, 1}, ParametricSoftplus},
    {"Scale", 1, {1, 1}, Scale},
    {"ScaledTanh", 1, {1, 1}, ScaledTanh},
    {"Upsample", 1, {1, 1}, Upsample},
};

}  // namespace

absl::Span<const OperatorRow> LegacyOperators() { return kOperators; }

}  // namespace tartan::onnx
