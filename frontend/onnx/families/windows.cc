// Window functions of signal processing: constants once their length is known.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/operator_table.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;

constexpr double kTau = 6.283185307179586;

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), n the length of a period.
Outputs CosineWindow(NodeContext& context, double a0, double a1, double a2) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.HostInt(0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t periodic, context.Int("periodic", 1));
  TARTAN_ASSIGN_OR_RETURN(const DataType type,
                          context.Type("output_datatype", DataType::kFloat32));
  constexpr int64_t kMaxSize = int64_t{1} << 24;
  if (size < 0 || size > kMaxSize) return Invalid("a window of ", size, " elements");
  const double period = static_cast<double>(periodic != 0 ? size : size - 1);
  std::vector<uint8_t> bytes(static_cast<size_t>(size * ByteWidth(type)));
  for (int64_t i = 0; i < size; ++i) {
    const double angle = period == 0 ? 0 : kTau * static_cast<double>(i) / period;
    const double value = a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
    StoreElement(type, value, i, bytes.data());
  }
  return std::vector<api::Tensor>{
      api::Tensor::Constant(HostTensor(TensorShape{type, {size}}, bytes))};
}

Outputs BlackmanWindow(NodeContext& context) { return CosineWindow(context, 0.42, 0.5, 0.08); }

Outputs HammingWindow(NodeContext& context) {
  return CosineWindow(context, 25.0 / 46.0, 1 - 25.0 / 46.0, 0);
}

Outputs HannWindow(NodeContext& context) { return CosineWindow(context, 0.5, 0.5, 0); }

constexpr OperatorRow kOperators[] = {
    {"BlackmanWindow", 17, {1, 1}, BlackmanWindow, nullptr, nullptr, HostOperands(0)},
    {"HammingWindow", 17, {1, 1}, HammingWindow, nullptr, nullptr, HostOperands(0)},
    {"HannWindow", 17, {1, 1}, HannWindow, nullptr, nullptr, HostOperands(0)},
};

}  // namespace

absl::Span<const OperatorRow> WindowOperators() { return kOperators; }

}  // namespace tartan::onnx
