// SPDX-License-Identifier: Apache-2.0
// The domain com.microsoft.nchwc, which onnxruntime writes when it saves optimized convolutions. A
// tensor with blocked channels is represented in the standard's order, with channels padded with
// zeros to whole blocks (import/channel_blocks.h). Most operators are therefore the standard's.
#include "frontend/onnx/import/channel_blocks.h"

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/operator_table.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr int kOnnxForm = 13;

absl::Status CheckImage(const Tensor& x) {
  if (x.rank() == 4) return absl::OkStatus();
  return Invalid("operand 0 is ", x.shape().ToString(), ", expected rank 4");
}

Outputs ReorderInput(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckImage(context.input(0)));
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 0));
  Tensor x = context.input(0);
  if (channels_last != 0) {
    TARTAN_ASSIGN_OR_RETURN(x, ChannelsFirst(context, x));
  }
  const int64_t block = context.services().channel_block();
  std::vector<int64_t> dims = x.dims();
  dims[1] = (dims[1] + block - 1) / block * block - dims[1];
  if (dims[1] == 0) return std::vector<Tensor>{x};
  TARTAN_ASSIGN_OR_RETURN(const Tensor zeros, Zeros(context, x.type(), dims));
  return OneTensor(ConcatOf(context, {x, zeros}, 1));
}

Outputs ReorderOutput(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckImage(context.input(0)));
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels, context.Int("channels"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 0));
  if (channels < 1 || channels > context.input(0).dims()[1]) {
    return Invalid(channels, " channels of ", context.input(0).shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor x, PartOf(context, context.input(0), 1, 0, channels));
  if (channels_last != 0) {
    TARTAN_ASSIGN_OR_RETURN(x, ChannelsLast(context, x));
  }
  return std::vector<Tensor>{x};
}

// Operands: X, filter, bias, and a summand before the activation.
Outputs Conv(NodeContext& context) {
  const int64_t block = context.services().channel_block();
  TARTAN_ASSIGN_OR_RETURN(const HostTensor filter, context.HostValue(1));
  if (!IsBlockedFilter(filter.shape(), block)) {
    return Invalid("filter ", filter.shape().ToString(), " for blocks of ", block, " channels");
  }
  context.SetInput(1, Value(Tensor::Constant(PlainFilter(filter, block))));
  return FindOperator(kMicrosoftDomain, "FusedConv", 1)->handler(context);
}

template <int opset>
Outputs SameAsOnnx(NodeContext& context) {
  return ApplyOnnx(context, context.op_type(), opset);
}

Outputs Upsample(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> scales, context.Ints("scales"));
  const std::vector<float> values(scales.begin(), scales.end());
  const TensorShape shape{DataType::kFloat32, {static_cast<int64_t>(values.size())}};
  context.SetInput(1, Value(Tensor::Constant(HostTensor::FromVector(shape, values))));
  return ApplyOnnx(context, "Upsample", 9);
}

constexpr OperatorRow BlockedRow(absl::string_view name, Arity arity, Handler handler,
                                 uint32_t host_operands = 0) {
  return In(kBlockedDomain, {name, 1, arity, handler, host_operands});
}

constexpr OperatorRow kOperators[] = {
    BlockedRow("AveragePool", {1, 1}, SameAsOnnx<kOnnxForm>),
    BlockedRow("Conv", {2, 4}, Conv, HostOperands(1)),
    BlockedRow("GlobalAveragePool", {1, 1}, SameAsOnnx<kOnnxForm>),
    BlockedRow("GlobalMaxPool", {1, 1}, SameAsOnnx<kOnnxForm>),
    BlockedRow("MaxPool", {1, 1}, SameAsOnnx<kOnnxForm>),
    BlockedRow("ReorderInput", {1, 1}, ReorderInput),
    BlockedRow("ReorderOutput", {1, 1}, ReorderOutput),
    BlockedRow("Upsample", {1, 1}, Upsample),
};

}  // namespace

absl::Span<const OperatorRow> ChannelBlockOperators() { return kOperators; }

}  // namespace tartan::onnx
