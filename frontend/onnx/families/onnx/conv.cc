// SPDX-License-Identifier: Apache-2.0
// Convolutions, transposed convolutions and Col2Im, each one contraction.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Checks operand 2, if present: one value per output channel.
absl::Status CheckBias(const NodeContext& context, int64_t channels) {
  if (!context.HasInput(2) || context.input(2).shape().element_count() == channels) {
    return absl::OkStatus();
  }
  return Invalid("the bias is ", context.input(2).shape().ToString(), " for ", channels,
                 " channels");
}

// Adds the bias to O, the result of `statement`.
Outputs WithBias(const NodeContext& context, const std::string& statement, int64_t channels) {
  TARTAN_RETURN_IF_ERROR(CheckBias(context, channels));
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  if (!context.HasInput(2)) return context.Apply(TileFunction("X, W", "O", {statement}), {x, w});
  const size_t spatial_rank = static_cast<size_t>(x.rank() - 2);
  return context.Apply(
      TileFunction("X, W, B", "Y",
                   {statement, absl::StrCat("Y = O + ", PerChannel("B", channels, spatial_rank))}),
      {x, w, context.input(2)});
}

Outputs Conv(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Convolution convolution,
                          ReadConvolution(context, context.input(0), context.input(1)));
  return WithBias(context, ConvolutionStatement(convolution, "O", "X", "W"), convolution.outputs());
}

// Sets the pads and output sizes: output_shape determines the pads, otherwise the pads determine
// the output.
absl::Status SetTransposedSizes(const NodeContext& context, const Sizes& input,
                                SlidingWindow* window) {
  const size_t rank = window->rank();
  TARTAN_ASSIGN_OR_RETURN(const std::string auto_pad, context.String("auto_pad", "NOTSET"));
  TARTAN_ASSIGN_OR_RETURN(Sizes extra, context.Ints("output_padding", Sizes(rank, 0)));
  if (extra.empty()) extra.assign(rank, 0);
  TARTAN_ASSIGN_OR_RETURN(Sizes wanted, context.Ints("output_shape", Sizes()));
  // Some exporters include batch and channels.
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (extra.size() != rank || (!wanted.empty() && wanted.size() != rank)) {
    return Invalid("attributes 'output_padding' and 'output_shape' have ", extra.size(), " and ",
                   wanted.size(), " numbers for ", rank, " spatial dimensions");
  }
  for (const Sizes* sizes : {&extra, &wanted}) {
    for (const int64_t size : *sizes) {
      if (size < 0 || size > kMaxAttribute) {
        return Invalid("attribute '", sizes == &extra ? "output_padding" : "output_shape", "' is ",
                       DimsToString(*sizes));
      }
    }
  }
  const bool is_same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  for (size_t d = 0; d < rank; ++d) {
    const int64_t full = (input[d] - 1) * window->strides[d] + extra[d] + window->extent(d);
    if (auto_pad == "VALID") window->before[d] = window->after[d] = 0;
    if (!wanted.empty() || is_same) {
      const int64_t size = wanted.empty() ? input[d] * window->strides[d] : wanted[d];
      const int64_t total = std::max<int64_t>(0, full - size);
      window->before[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window->after[d] = full - size - window->before[d];
    }
    window->output.push_back(full - window->before[d] - window->after[d]);
    if (window->output[d] < 1) {
      return Invalid("spatial dimension ", d, " of the result has size ", window->output[d]);
    }
  }
  return absl::OkStatus();
}

// Each input element adds its kernel to the output: the accesses of Conv with input and output
// exchanged.
Outputs ConvTranspose(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes& w = context.input(1).dims();
  TARTAN_ASSIGN_OR_RETURN(const Sizes input, SpatialDims(x));
  TARTAN_ASSIGN_OR_RETURN(const int64_t groups, context.Int("group", 1));
  const int64_t channels = x.dims()[1];
  if (w.size() != x.dims().size() || w[0] != channels || groups < 1 || channels % groups != 0) {
    return Invalid("weights ", context.input(1).shape().ToString(), " in ", groups, " groups for ",
                   x.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(SlidingWindow window,
                          ReadWindowAttributes(context, Sizes(w.begin() + 2, w.end())));
  TARTAN_RETURN_IF_ERROR(SetTransposedSizes(context, input, &window));
  const std::string group_output = groups > 1 ? absl::StrCat(w[1], "*g + co") : "co";
  const std::string group_input = groups > 1 ? absl::StrCat(channels / groups, "*g + ci") : "ci";
  std::vector<std::string> weight_indices = {group_input, "co"};
  for (const std::string& k : IndexNames(x.rank() - 2, "k")) weight_indices.push_back(k);
  Sizes dims = {x.dims()[0], groups * w[1]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  const std::string statement =
      absl::StrCat(Write("O", WindowIndices(window, group_output), dims), " = +(",
                   Read("X", OutputIndices(window, group_input)), " * ", Read("W", weight_indices),
                   ")", groups > 1 ? absl::StrCat(", ci < ", channels / groups) : "");
  return WithBias(context, statement, groups * w[1]);
}

// Adds blocks [batch, channels * kernel, positions] into an image, each at the window of its
// position. Operands 1 and 2 are the sizes of the image and of a block.
Outputs Col2Im(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const Sizes image, context.HostInts(1));
  TARTAN_ASSIGN_OR_RETURN(Sizes block, context.HostInts(2));
  if (x.rank() != 3 || image.empty() || image.size() != block.size()) {
    return Invalid("blocks ", DimsToString(block), " in ", x.shape().ToString(),
                   " for an image of ", DimsToString(image));
  }
  TARTAN_ASSIGN_OR_RETURN(const SlidingWindow window,
                          ReadWindowAttributes(context, std::move(block)));
  int64_t elements = 1;
  int64_t positions = 1;
  Sizes apart = {x.dims()[0], 0};
  Sizes counts;
  for (size_t d = 0; d < image.size(); ++d) {
    const int64_t room = image[d] + window.before[d] + window.after[d] - window.extent(d);
    counts.push_back(room < 0 ? 0 : room / window.strides[d] + 1);
    elements *= window.kernel[d];
    positions *= counts.back();
    if (elements > x.dims()[1] || positions > x.dims()[2]) break;
  }
  if (x.dims()[1] % elements != 0 || positions != x.dims()[2] || positions == 0) {
    return Invalid("blocks ", x.shape().ToString(), " do not cover an image of ",
                   DimsToString(image), " with ", DimsToString(window.kernel), " elements each");
  }
  Sizes dims = {x.dims()[0], x.dims()[1] / elements};
  apart[1] = dims[1];
  apart.insert(apart.end(), window.kernel.begin(), window.kernel.end());
  apart.insert(apart.end(), counts.begin(), counts.end());
  dims.insert(dims.end(), image.begin(), image.end());
  TARTAN_RETURN_IF_ERROR(CheckShape(TensorShape{x.type(), dims}));
  std::vector<std::string> indices = {"n", "c"};
  for (const char* name : {"k", "y"}) {
    for (const std::string& index : IndexNames(static_cast<int64_t>(image.size()), name)) {
      indices.push_back(index);
    }
  }
  return context.Apply(TileFunction("X", "O",
                                    {absl::StrCat("B = ", ReshapeCall("X", apart)),
                                     absl::StrCat(Write("O", WindowIndices(window, "c"), dims),
                                                  " = +(", Read("B", indices), ")")}),
                       {x});
}

constexpr OperatorRow kOperators[] = {
    {"Col2Im", 18, {3, 3}, Col2Im, HostOperands(1, 2)},
    {"Conv", 1, {2, 3}, Conv},
    {"ConvTranspose", 1, {2, 3}, ConvTranspose},
};

}  // namespace

absl::Span<const OperatorRow> ConvOperators() { return kOperators; }

}  // namespace tartan::onnx
