// SPDX-License-Identifier: Apache-2.0
// Gradients of normalizations, convolutions, pools and operators that move elements, as nodes of
// training graphs.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/backward.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Axes of `rank` that are not in `axes`.
Sizes OtherAxes(const Sizes& axes, int64_t rank) {
  Sizes others;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) others.push_back(d);
  }
  return others;
}

// Adds DX, DA and DB, computed from DY, the gradient of NORM * SCALE + bias. NORM is (X - mean over
// `axes`) * INV. DA and DB are summed over `summed`, the dimensions that `scale` lacks.
Outputs NormalizationGradient(FunctionText& text, const Tensor& x, const Tensor& scale,
                              const Sizes& axes, const Sizes& summed, bool is_centered) {
  const int64_t count = ReducedCount(x.dims(), axes);
  text.Add("G", "DY * SCALE");
  text.Add("GN", "G * NORM");
  text.Add(ReduceStatement("GNSUM", '+', "GN", x.dims(), axes));
  std::string inner = absl::StrCat("G - NORM * (GNSUM / ", count, ")");
  if (is_centered) {
    text.Add(ReduceStatement("GSUM", '+', "G", x.dims(), axes));
    absl::StrAppend(&inner, " - GSUM / ", count);
  }
  text.Add("DX", Cast(absl::StrCat("INV * (", inner, ")"), x.type()));
  text.Add("DYN", "DY * NORM");
  text.Add("DYF", "DY * 1.0");
  text.Add(DropStatement("DASUM", '+', "DYN", x.dims(), summed));
  text.Add(DropStatement("DBSUM", '+', "DYF", x.dims(), summed));
  text.Add("DA", Cast(ReshapeCall("DASUM", scale.dims()), scale.type()));
  text.Add("DB", Cast(ReshapeCall("DBSUM", scale.dims()), scale.type()));
  return text.Apply(is_centered ? "DX, DA, DB" : "DX, DA");
}

// Positions of the optional operands after gradient, operand and scale; -1: absent.
struct LayerForm {
  int bias = -1;  // if present, operand 1 is the layer's result instead of its operand
  int mean = -1;
  int inverse = -1;  // 1 / standard deviation
  bool is_centered = true;
};

Outputs LayerGradient(NodeContext& context, const LayerForm& form) {
  const Tensor& x = context.input(1);
  const Tensor& scale = context.input(2);
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, context.Axis("axis", -1, x.rank()));
  const Sizes axes = AxesFrom(axis, x.rank());
  const int64_t count = ReducedCount(x.dims(), axes);
  const int64_t rows = count == 0 ? 0 : x.shape().element_count() / count;
  if (context.input(0).dims() != x.dims()) {
    return Invalid("the gradient ", context.input(0).shape().ToString(), " does not fit ",
                   x.shape().ToString());
  }
  TARTAN_RETURN_IF_ERROR(context.CheckCount(2, count));
  for (int i : {form.mean, form.inverse}) {
    if (i >= 0) TARTAN_RETURN_IF_ERROR(context.CheckCount(i, rows));
  }
  const Sizes kept = KeptDims(x.dims(), axes);
  const Sizes tail(x.dims().begin() + axis, x.dims().end());
  FunctionText text(context);
  text.Add("DY", text.Operand(0) + " * 1.0");
  text.Add("X", text.Operand(1) + " * 1.0");
  text.Add("SCALE", ReshapeCall(text.Operand(2), tail));
  if (form.inverse < 0) {
    TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
    for (std::string& statement :
         StandardizeStatements("X", x.dims(), axes, epsilon, form.is_centered)) {
      text.Add(std::move(statement));
    }
  } else {
    text.Add("INV", ReshapeCall(text.Operand(form.inverse), kept));
    if (form.bias >= 0) {
      TARTAN_RETURN_IF_ERROR(context.CheckCount(form.bias, count));
      text.Add("BIAS", ReshapeCall(text.Operand(form.bias), tail));
      text.Add("NORM", "(X - BIAS) / SCALE");
    } else if (form.mean >= 0) {
      text.Add("MEAN", ReshapeCall(text.Operand(form.mean), kept));
      text.Add("NORM", "(X - MEAN) * INV");
    } else {
      text.Add("NORM", "X * INV");
    }
  }
  return NormalizationGradient(text, x, scale, axes, OtherAxes(axes, x.rank()), form.is_centered);
}

// The last of four operands is the bias, and the statistics are recomputed then.
Outputs LayerNormalizationGrad(NodeContext& context) {
  if (context.input_count() < 5) return LayerGradient(context, {});
  return LayerGradient(context, {.mean = 3, .inverse = 4});
}
Outputs InvertibleLayerNormalizationGrad(NodeContext& context) {
  return LayerGradient(context, {.bias = 3, .inverse = 4});
}
Outputs SimplifiedLayerNormalizationGrad(NodeContext& context) {
  return LayerGradient(context, {.inverse = 3, .is_centered = false});
}

// Operands: gradient, X, scale, mean, 1 / standard deviation.
Outputs BatchNormalizationGrad(NodeContext& context) {
  const Tensor& x = context.input(1);
  if (x.rank() < 2 || context.input(0).dims() != x.dims()) {
    return Invalid("the gradient ", context.input(0).shape().ToString(), " does not fit ",
                   x.shape().ToString());
  }
  const int64_t channels = x.dims()[1];
  for (int i : {2, 3, 4}) TARTAN_RETURN_IF_ERROR(context.CheckCount(i, channels));
  const size_t spatial = static_cast<size_t>(x.rank() - 2);
  const Sizes axes = OtherAxes({1}, x.rank());
  FunctionText text(context);
  text.Add("DY", text.Operand(0) + " * 1.0");
  text.Add("X", text.Operand(1) + " * 1.0");
  text.Add("SCALE", PerChannel(text.Operand(2), channels, spatial));
  text.Add("MEAN", PerChannel(text.Operand(3), channels, spatial));
  text.Add("INV", PerChannel(text.Operand(4), channels, spatial));
  text.Add("NORM", "(X - MEAN) * INV");
  return NormalizationGradient(text, x, context.input(2), axes, axes, true);
}

// Gradients by X, W and a bias. Operands: gradient, X, W.
Outputs ConvolutionGradient(NodeContext& context, absl::string_view name) {
  const Tensor& seed = context.input(0);
  std::vector<Tensor> at = {context.input(1), context.input(2)};
  if (context.WantsOutput(2)) {
    if (seed.rank() < 2) return Invalid("the gradient is ", seed.shape().ToString());
    TARTAN_ASSIGN_OR_RETURN(at.emplace_back(), Zeros(context, seed.type(), {seed.dims()[1]}));
  }
  return Backward(context, seed, at, [&](absl::Span<const Tensor> operands) {
    return ForwardOf(context, "", name, 11, operands);
  });
}

Outputs ConvGrad(NodeContext& context) { return ConvolutionGradient(context, "Conv"); }
Outputs ConvTransposeGrad(NodeContext& context) {
  return ConvolutionGradient(context, "ConvTranspose");
}

// The sizes of a pool's operand, as the file declares them for the result; open batch and channel
// sizes come from the gradient. They cannot be inferred, because with strides several sizes give
// the same result.
absl::StatusOr<Sizes> PooledFrom(NodeContext& context) {
  const Tensor& seed = context.input(0);
  const std::string& name = context.node().output(0);
  const std::optional<Sizes> declared = context.services().DeclaredDims(name);
  if (!declared.has_value()) {
    return Invalid("the model does not declare the sizes of the result '", name, "'");
  }
  Sizes dims = *declared;
  if (seed.rank() < 3 || dims.size() != seed.dims().size()) {
    return Invalid("the model declares ", DimsToString(dims), " for the gradient of ",
                   seed.shape().ToString());
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d < 2 && dims[d] < 0) dims[d] = seed.dims()[d];
    if (dims[d] < 0) return Invalid("the model leaves axis ", d, " of '", name, "' open");
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{seed.type(), dims}));
  return dims;
}

// Operands: gradient, position of each maximum in the pool's operand.
Outputs MaxPoolGrad(NodeContext& context) {
  const Tensor& seed = context.input(0);
  if (context.input(1).dims() != seed.dims()) {
    return Invalid("positions ", context.input(1).shape().ToString(), " for the gradient ",
                   seed.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, PooledFrom(context));
  const TensorShape shape{seed.type(), dims};
  TARTAN_RETURN_IF_ERROR(context.CheckInput(
      1, {{0, shape.element_count() - 1, absl::StrCat("the result ", DimsToString(dims))}}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor zeros, Zeros(context, seed.type(), {shape.element_count()}));
  const int64_t count = seed.shape().element_count();
  return context.Apply(
      TileFunction("DY, I, Z", "DX",
                   {absl::StrCat("FLAT = scatter_elements(Z, ", ReshapeCall("I", {count}), ", ",
                                 ReshapeCall("DY", {count}), ", 0, 1)"),
                    absl::StrCat("DX = ", ReshapeCall("FLAT", dims))}),
      {seed, context.input(1), zeros});
}

// The gradient by operand 0, of sizes `dims`, of an operator that is linear in it.
Outputs LinearGradient(NodeContext& context, const Tensor& seed, const Sizes& dims,
                       absl::string_view name, int opset, absl::Span<const Tensor> rest) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor zeros, Zeros(context, seed.type(), dims));
  return Backward(context, seed, {zeros}, [&](absl::Span<const Tensor> at) {
    std::vector<Tensor> operands = {at[0]};
    operands.insert(operands.end(), rest.begin(), rest.end());
    return ForwardOf(context, "", name, opset, operands);
  });
}

Outputs AveragePoolGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, PooledFrom(context));
  return LinearGradient(context, context.input(0), dims, "AveragePool", 19, {});
}

// Operands: sizes, indices, gradient.
Outputs GatherGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, context.HostInts(0));
  return LinearGradient(context, context.input(2), dims, "Gather", 13, {context.input(1)});
}
Outputs GatherNdGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, context.HostInts(0));
  return LinearGradient(context, context.input(2), dims, "GatherND", 13, {context.input(1)});
}
// Operands: gradient, sizes, indices.
Outputs GatherElementsGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, context.HostInts(1));
  return LinearGradient(context, context.input(0), dims, "GatherElements", 13, {context.input(2)});
}
// Operands: gradient, sizes, starts, ends, axes, steps.
Outputs SliceGrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes dims, context.HostInts(1));
  return LinearGradient(context, context.input(0), dims, "Slice", 13, context.inputs().subspan(2));
}

constexpr OperatorRow kRows[] = {
    MicrosoftRow("AveragePoolGrad", {1, 1}, AveragePoolGrad),
    MicrosoftRow("BatchNormalizationGrad", {5, 5}, BatchNormalizationGrad),
    MicrosoftRow("ConvGrad", {3, 3}, ConvGrad),
    MicrosoftRow("ConvTransposeGrad", {3, 3}, ConvTransposeGrad),
    MicrosoftRow("GatherElementsGrad", {3, 3}, GatherElementsGrad, HostOperands(1)),
    MicrosoftRow("GatherGrad", {3, 3}, GatherGrad, HostOperands(0)),
    MicrosoftRow("GatherNDGrad", {3, 3}, GatherNdGrad, HostOperands(0)),
    MicrosoftRow("InvertibleLayerNormalizationGrad", {5, 5}, InvertibleLayerNormalizationGrad),
    MicrosoftRow("LayerNormalizationGrad", {4, 5}, LayerNormalizationGrad),
    MicrosoftRow("MaxPoolGrad", {2, 2}, MaxPoolGrad),
    MicrosoftRow("SimplifiedLayerNormalizationGrad", {4, 4}, SimplifiedLayerNormalizationGrad),
    MicrosoftRow("SliceGrad", {4, 6}, SliceGrad, HostOperands(1, 2, 3, 4, 5)),
};
constexpr auto kOperators = InBothDomains(kRows);

}  // namespace

absl::Span<const OperatorRow> LayerGradientOperators() { return kOperators; }

}  // namespace tartan::onnx
