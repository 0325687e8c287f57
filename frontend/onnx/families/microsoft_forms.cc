// Microsoft's operators that are ONNX's of the same form, some under another name, and group
// normalization in Microsoft's form.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/microsoft_operators.h"
#include "frontend/onnx/operator_table.h"
#include "frontend/onnx/reduction_text.h"
#include "frontend/onnx/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;
using api::Tensor;

// The same operator of ONNX.
template <int opset>
Outputs Same(NodeContext& context) {
  return ApplyOnnx(context, context.op_type(), opset);
}

Outputs ExpandDims(NodeContext& context) { return ApplyOnnx(context, "Unsqueeze", 13); }

Outputs LinearAttention(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"state_window"}));
  return ApplyOnnx(context, "LinearAttention", 27);
}

// Operands: X [batch, spatial …, channels], or channels before the spatial dimensions; gamma and
// beta, one for each channel.
Outputs GroupNorm(NodeContext& context) {
  const Tensor& x = context.input(0);
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-5f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t groups, context.Int("groups"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t activation, context.Int("activation"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 1));
  if (x.rank() < 2) return Invalid("expected rank 2 or more, got ", x.shape().ToString());
  if (activation != 0 && activation != 1) return Invalid("attribute 'activation' is ", activation);
  const int64_t channels = channels_last != 0 ? x.dims().back() : x.dims()[1];
  if (groups < 1 || channels % groups != 0) {
    return Invalid("groups ", groups, " do not divide channels ", channels);
  }
  for (int i : {1, 2}) {
    if (context.input(i).dims() == std::vector<int64_t>{channels}) continue;
    return Invalid("operand ", i, " is ", context.input(i).shape().ToString(), ", expected ",
                   channels, " elements");
  }
  const int64_t batch = x.dims()[0];
  const int64_t positions =
      ReducedCount(x.dims(), AxesFrom(1, x.rank())) / std::max<int64_t>(channels, 1);
  const int64_t per_group = channels / groups;
  const std::vector<int64_t> apart = channels_last != 0
                                         ? std::vector{batch, positions, groups, per_group}
                                         : std::vector{batch, groups, per_group, positions};
  const std::vector<int64_t> weights = channels_last != 0
                                           ? std::vector{groups, per_group}
                                           : std::vector{groups, per_group, int64_t{1}};
  const std::vector<int64_t> axes =
      channels_last != 0 ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{2, 3};
  std::vector<std::string> statements = {"G = " + ReshapeCall("X", apart)};
  for (std::string& statement : StandardizeStatements("G", apart, axes, epsilon)) {
    statements.push_back(std::move(statement));
  }
  statements.push_back(
      absl::StrCat("Z = NORM * ", ReshapeCall("A", weights), " + ", ReshapeCall("B", weights)));
  statements.push_back(activation == 0 ? "S = Z" : "S = Z * sigmoid(Z)");
  statements.push_back("Y = " + Cast(ReshapeCall("S", x.dims()), x.type()));
  return context.Apply(TileFunction("X, A, B", "Y", statements));
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("DequantizeLinear", {2, 3}, Same<13>),
    MicrosoftRow("ExpandDims", {2, 2}, ExpandDims, HostOperands(1)),
    MicrosoftRow("GatherND", {2, 2}, Same<13>),
    MicrosoftRow("GroupNorm", {3, 3}, GroupNorm),
    MicrosoftRow("LinearAttention", {3, 6}, LinearAttention),
    MicrosoftRow("Pad", {2, 3}, Same<13>, HostOperands(1)),
    MicrosoftRow("QuantizeLinear", {2, 3}, Same<13>),
    MicrosoftRow("Range", {3, 3}, Same<13>, HostOperands(0, 1, 2)),
    MicrosoftRow("Trilu", {1, 2}, Same<14>, HostOperands(1)),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftFormOperators() { return kOperators; }

}  // namespace tartan::onnx
