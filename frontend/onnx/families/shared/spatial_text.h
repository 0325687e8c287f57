// SPDX-License-Identifier: Apache-2.0
// Sliding windows over the spatial dimensions of [batch, channels, spatial …] tensors: their sizes,
// and the Tile text of convolutions and pools. Tile ignores reads outside a tensor, so padding
// needs no text of its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// Larger values of attributes are refused.
inline constexpr int64_t kMaxAttribute = int64_t{1} << 31;

// The sizes of a sliding window, one entry per spatial dimension.
struct SlidingWindow {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> before;  // padding; may be negative
  std::vector<int64_t> after;
  std::vector<int64_t> output;

  size_t rank() const { return kernel.size(); }
  // The elements that a window spans, including the gaps of its dilation.
  int64_t extent(size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
};

// Reads and checks strides, dilations and pads. The output sizes are not set.
absl::StatusOr<SlidingWindow> ReadWindowAttributes(const NodeContext& context,
                                                   std::vector<int64_t> kernel);

// The meaning of auto_pad SAME when strides skip part of the input. The standard's formula for
// pools gives negative padding, which crops; convolutions pad.
enum class SamePadding { kNeverCrops, kMayCrop };

// Also applies auto_pad and ceil_mode to an input of the spatial sizes `input`, and sets the output
// sizes.
absl::StatusOr<SlidingWindow> ReadSlidingWindow(const NodeContext& context,
                                                absl::Span<const int64_t> input,
                                                std::vector<int64_t> kernel,
                                                SamePadding same = SamePadding::kNeverCrops);

// The sizes after batch and channels; InvalidArgument if there are none.
absl::StatusOr<std::vector<int64_t>> SpatialDims(const Tensor& x);

// {"n", "c", "2*y0 + 3*k0 - 1", …}: the indices that window position y, kernel position k reads.
std::vector<std::string> WindowIndices(const SlidingWindow& window, absl::string_view channel);
// {"n", "c", "y0", …}.
std::vector<std::string> OutputIndices(const SlidingWindow& window, absl::string_view channel);
// ", k0 < 3, k1 < 3": for contractions that bound the kernel positions in no other way.
std::string WindowConstraints(const SlidingWindow& window);

struct Convolution {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t group_inputs = 0;   // input channels of one group
  int64_t group_outputs = 0;  // output channels of one group
  SlidingWindow window;

  int64_t outputs() const { return groups * group_outputs; }
  std::vector<int64_t> dims() const;  // of the result
};

// x [batch, channels, spatial …], weights [output channels, channels / groups, kernel …].
absl::StatusOr<Convolution> ReadConvolution(const NodeContext& context, const Tensor& x,
                                            const Tensor& weights);

// "O[n, co, y0 : 1, 8, 5] = +(X[n, ci, y0 + k0 - 1] * W[co, ci, k0])".
std::string ConvolutionStatement(const Convolution& convolution, absl::string_view target,
                                 absl::string_view x, absl::string_view weights);

// "reshape(B, 8, 1, 1)": one value per channel, ready to broadcast over [batch, channels, …].
std::string PerChannel(absl::string_view tensor, int64_t channels, size_t spatial_rank);

}  // namespace tartan::onnx
