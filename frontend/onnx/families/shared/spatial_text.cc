// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/spatial_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"
#include "tile/math/integer.h"

namespace tartan::onnx {
namespace {

absl::StatusOr<Sizes> ReadSizes(const NodeContext& context, absl::string_view name, size_t count,
                                int64_t otherwise, int64_t least) {
  TARTAN_ASSIGN_OR_RETURN(Sizes values, context.Ints(name, Sizes(count, otherwise)));
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count) {
    return Invalid("attribute '", name, "': expected ", count, " numbers, got ",
                   DimsToString(values));
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxAttribute) {
      return Invalid("attribute '", name, "' is ", DimsToString(values));
    }
  }
  return values;
}

// SAME padding: ceil(input / stride) outputs, with the padding split evenly. The odd element goes
// after the input for SAME_UPPER, before it otherwise.
void PadToSame(absl::Span<const int64_t> input, bool is_upper, SamePadding same,
               SlidingWindow* window) {
  const int64_t least = same == SamePadding::kMayCrop ? -kMaxAttribute : 0;
  for (size_t d = 0; d < window->rank(); ++d) {
    const int64_t stride = window->strides[d];
    const int64_t count = math::CeilDiv(input[d], stride);
    const int64_t total = std::max(least, (count - 1) * stride + window->extent(d) - input[d]);
    window->before[d] = is_upper ? total / 2 : total - total / 2;
    window->after[d] = total - window->before[d];
  }
}

absl::Status SetOutputs(absl::Span<const int64_t> input, bool ceil, SlidingWindow* window) {
  for (size_t d = 0; d < window->rank(); ++d) {
    const int64_t room = input[d] + window->before[d] + window->after[d] - window->extent(d);
    const int64_t stride = window->strides[d];
    // Part of a window is enough with ceil_mode.
    if (ceil ? room <= -stride : room < 0) {
      return Invalid("a window of ", window->extent(d), " does not fit into spatial dimension ", d,
                     " of size ", input[d], " with pads ", window->before[d], " and ",
                     window->after[d]);
    }
    int64_t count = (ceil ? math::CeilDiv(room, stride) : room / stride) + 1;
    // A window that starts in the trailing padding is dropped.
    if (ceil && (count - 1) * stride >= input[d] + window->before[d]) --count;
    window->output.push_back(count);
  }
  return absl::OkStatus();
}

std::string WindowIndex(const SlidingWindow& window, size_t d) {
  const auto term = [d](int64_t factor, const char* name) {
    return factor == 1 ? absl::StrCat(name, d) : absl::StrCat(factor, "*", name, d);
  };
  std::string index =
      absl::StrCat(term(window.strides[d], "y"), " + ", term(window.dilations[d], "k"));
  const int64_t before = window.before[d];
  if (before != 0) absl::StrAppend(&index, before > 0 ? " - " : " + ", std::abs(before));
  return index;
}

}  // namespace

absl::StatusOr<SlidingWindow> ReadWindowAttributes(const NodeContext& context, Sizes kernel) {
  const size_t rank = kernel.size();
  SlidingWindow window;
  for (int64_t size : kernel) {
    if (size < 1 || size > kMaxAttribute) return Invalid("the kernel is ", DimsToString(kernel));
  }
  window.kernel = std::move(kernel);
  TARTAN_ASSIGN_OR_RETURN(window.strides, ReadSizes(context, "strides", rank, 1, 1));
  TARTAN_ASSIGN_OR_RETURN(window.dilations, ReadSizes(context, "dilations", rank, 1, 1));
  TARTAN_ASSIGN_OR_RETURN(const Sizes pads,
                          ReadSizes(context, "pads", 2 * rank, 0, -kMaxAttribute));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  window.before.assign(pads.begin(), middle);
  window.after.assign(middle, pads.end());
  return window;
}

absl::StatusOr<SlidingWindow> ReadSlidingWindow(const NodeContext& context,
                                                absl::Span<const int64_t> input, Sizes kernel,
                                                SamePadding same) {
  if (kernel.size() != input.size()) {
    return Invalid("a kernel of ", DimsToString(kernel), " for spatial sizes ",
                   DimsToString(input));
  }
  TARTAN_ASSIGN_OR_RETURN(SlidingWindow window, ReadWindowAttributes(context, std::move(kernel)));
  TARTAN_ASSIGN_OR_RETURN(const std::string auto_pad, context.String("auto_pad", "NOTSET"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t ceil, context.Int("ceil_mode", 0));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    PadToSame(input, auto_pad == "SAME_UPPER", same, &window);
  } else if (auto_pad == "VALID") {
    window.before.assign(window.rank(), 0);
    window.after.assign(window.rank(), 0);
  } else if (auto_pad != "NOTSET" && !auto_pad.empty()) {
    return Invalid("attribute 'auto_pad': expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got ",
                   auto_pad);
  }
  // Without explicit padding, floor and ceil give the same windows.
  const bool is_explicit = auto_pad == "NOTSET" || auto_pad.empty();
  TARTAN_RETURN_IF_ERROR(SetOutputs(input, is_explicit && ceil != 0, &window));
  return window;
}

absl::StatusOr<Sizes> SpatialDims(const Tensor& x) {
  if (x.rank() < 3) {
    return Invalid("operand 0: expected batch, channels and spatial sizes, got ",
                   x.shape().ToString());
  }
  return Sizes(x.dims().begin() + 2, x.dims().end());
}

std::vector<std::string> WindowIndices(const SlidingWindow& window, absl::string_view channel) {
  std::vector<std::string> indices = {"n", std::string(channel)};
  for (size_t d = 0; d < window.rank(); ++d) indices.push_back(WindowIndex(window, d));
  return indices;
}

std::vector<std::string> OutputIndices(const SlidingWindow& window, absl::string_view channel) {
  std::vector<std::string> indices = {"n", std::string(channel)};
  for (size_t d = 0; d < window.rank(); ++d) indices.push_back(absl::StrCat("y", d));
  return indices;
}

std::string WindowConstraints(const SlidingWindow& window) {
  std::string text;
  for (size_t d = 0; d < window.rank(); ++d) {
    absl::StrAppend(&text, ", k", d, " < ", window.kernel[d]);
  }
  return text;
}

Sizes Convolution::dims() const {
  Sizes dims = {batch, outputs()};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  return dims;
}

absl::StatusOr<Convolution> ReadConvolution(const NodeContext& context, const Tensor& x,
                                            const Tensor& weights) {
  TARTAN_ASSIGN_OR_RETURN(const Sizes input, SpatialDims(x));
  TARTAN_ASSIGN_OR_RETURN(const int64_t groups, context.Int("group", 1));
  const Sizes& w = weights.dims();
  if (w.size() != x.dims().size()) {
    return Invalid("weights of sizes ", DimsToString(w), " for ", x.shape().ToString());
  }
  const int64_t channels = x.dims()[1];
  if (groups < 1 || channels % groups != 0 || w[0] % groups != 0) {
    return Invalid("group ", groups, " does not divide channels ", channels, " and ", w[0]);
  }
  if (w[1] != channels / groups) {
    return Invalid("weights for ", w[1], " channels in each of ", groups, " groups, but there are ",
                   channels / groups);
  }
  const Sizes kernel(w.begin() + 2, w.end());
  TARTAN_ASSIGN_OR_RETURN(const Sizes kernel_shape, context.Ints("kernel_shape", kernel));
  if (kernel_shape != kernel) {
    return Invalid("attribute 'kernel_shape' is ", DimsToString(kernel_shape),
                   ", but the weights are ", weights.shape().ToString());
  }
  Convolution convolution{x.dims()[0], groups, w[1], w[0] / groups, {}};
  TARTAN_ASSIGN_OR_RETURN(convolution.window, ReadSlidingWindow(context, input, kernel));
  return convolution;
}

std::string ConvolutionStatement(const Convolution& c, absl::string_view target,
                                 absl::string_view x, absl::string_view weights) {
  const bool is_grouped = c.groups > 1;
  // The group index is the channel index if a group has one channel.
  std::string output_channel = "co";
  std::string constraint;
  if (is_grouped && c.group_outputs == 1) {
    output_channel = "g";
  } else if (is_grouped) {
    output_channel = absl::StrCat(c.group_outputs, "*g + co");
    constraint = absl::StrCat(", co < ", c.group_outputs);
  }
  std::string input_channel = "ci";
  if (is_grouped) {
    input_channel = c.group_inputs == 1 ? "g" : absl::StrCat(c.group_inputs, "*g + ci");
  }
  std::vector<std::string> weight_indices = {output_channel,
                                             is_grouped && c.group_inputs == 1 ? "0" : "ci"};
  for (const std::string& k : IndexNames(static_cast<int64_t>(c.window.rank()), "k")) {
    weight_indices.push_back(k);
  }
  return absl::StrCat(Write(target, OutputIndices(c.window, output_channel), c.dims()), " = +(",
                      Read(x, WindowIndices(c.window, input_channel)), " * ",
                      Read(weights, weight_indices), ")", constraint);
}

std::string PerChannel(absl::string_view tensor, int64_t channels, size_t spatial_rank) {
  std::vector<int64_t> dims(spatial_rank + 1, 1);
  dims[0] = channels;
  return ReshapeCall(tensor, dims);
}

}  // namespace tartan::onnx
