// SPDX-License-Identifier: Apache-2.0
// Signal processing tables, which are constants once their sizes are known: window functions, and
// the mel weight matrix.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr double kTau = 6.283185307179586;

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), with period n.
Outputs CosineWindow(NodeContext& context, double a0, double a1, double a2) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.HostInt(0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t periodic, context.Int("periodic", 1));
  TARTAN_ASSIGN_OR_RETURN(const DataType type, context.Type("output_datatype", DataType::kFloat32));
  constexpr int64_t kMaxSize = int64_t{1} << 24;
  if (size < 0 || size > kMaxSize) return Invalid("a window of ", size, " elements");
  const double period = static_cast<double>(periodic != 0 ? size : size - 1);
  std::vector<uint8_t> bytes(static_cast<size_t>(size * ByteWidth(type)));
  for (int64_t i = 0; i < size; ++i) {
    const double angle = period == 0 ? 0 : kTau * static_cast<double>(i) / period;
    const double value = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
    StoreElement(type, value, i, bytes.data());
  }
  return std::vector<Tensor>{Tensor::Constant(HostTensor(TensorShape{type, {size}}, bytes))};
}

Outputs BlackmanWindow(NodeContext& context) { return CosineWindow(context, 0.42, 0.5, 0.08); }

Outputs HammingWindow(NodeContext& context) {
  return CosineWindow(context, 25.0 / 46.0, 1 - 25.0 / 46.0, 0);
}

Outputs HannWindow(NodeContext& context) { return CosineWindow(context, 0.5, 0.5, 0); }

// The spectrum bins of the mel bands: band i begins, peaks and ends at edges i, i + 1, i + 2.
std::vector<int64_t> BandEdges(int64_t bands, int64_t length, double rate, double low,
                               double high) {
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (mel(low) + step * static_cast<double>(i)) / 2595) - 1);
    const double edge = std::floor(static_cast<double>(length + 1) * hertz / rate);
    edges.push_back(static_cast<int64_t>(std::min(std::max(edge, -1e15), 1e15)));
  }
  return edges;
}

// The weight of spectrum bin `bin` in a band: a triangle, or 1 at the peak of a band without width.
double BandWeight(int64_t bin, int64_t start, int64_t peak, int64_t end) {
  if (start == peak && bin == peak && peak == end) return 1;
  if (bin >= peak && bin < end) {
    return static_cast<double>(end - bin) / static_cast<double>(end - peak);
  }
  if (bin == peak) return 1;
  if (bin < start || bin > peak) return 0;
  return static_cast<double>(bin - start) / static_cast<double>(peak - start);
}

// Operands: bands, length of the transform, sample rate, lowest and highest frequency.
Outputs MelWeightMatrix(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t bands, context.HostInt(0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t length, context.HostInt(1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t rate, context.HostInt(2));
  TARTAN_ASSIGN_OR_RETURN(const double low, context.HostFloat(3));
  TARTAN_ASSIGN_OR_RETURN(const double high, context.HostFloat(4));
  TARTAN_ASSIGN_OR_RETURN(const DataType type, context.Type("output_datatype", DataType::kFloat32));
  constexpr int64_t kMaxSize = int64_t{1} << 16;
  if (bands < 0 || bands > kMaxSize || length < 0 || length > kMaxSize || rate < 1 ||
      !(low > -700) || !(high > -700)) {
    return Invalid(bands, " bands from ", low, " to ", high, " Hz of a transform of ", length,
                   " elements at ", rate, " Hz");
  }
  const int64_t bins = length / 2 + 1;
  TARTAN_RETURN_IF_ERROR(CheckTable({bins, bands}));
  const std::vector<int64_t> edges = BandEdges(bands, length, static_cast<double>(rate), low, high);
  std::vector<double> weights;
  for (int64_t bin = 0; bin < bins; ++bin) {
    for (size_t i = 0; i < static_cast<size_t>(bands); ++i) {
      weights.push_back(BandWeight(bin, edges[i], edges[i + 1], edges[i + 2]));
    }
  }
  return std::vector<Tensor>{ConstantOf(type, weights, {bins, bands})};
}

constexpr OperatorRow kOperators[] = {
    {"BlackmanWindow", 17, {1, 1}, BlackmanWindow, HostOperands(0)},
    {"HammingWindow", 17, {1, 1}, HammingWindow, HostOperands(0)},
    {"HannWindow", 17, {1, 1}, HannWindow, HostOperands(0)},
    {"MelWeightMatrix", 17, {5, 5}, MelWeightMatrix, HostOperands(0, 1, 2, 3, 4)},
};

}  // namespace

absl::Span<const OperatorRow> WindowOperators() { return kOperators; }

}  // namespace tartan::onnx
