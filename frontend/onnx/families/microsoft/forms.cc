// SPDX-License-Identifier: Apache-2.0
// Microsoft's operators with the form of an ONNX operator, some under another name; also group
// normalization in Microsoft's form, distances and inverses.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// ONNX's operator of the same name.
template <int opset>
Outputs Same(NodeContext& context) {
  return ApplyOnnx(context, context.op_type(), opset);
}

Outputs ExpandDims(NodeContext& context) { return ApplyOnnx(context, "Unsqueeze", 13); }

Outputs CausalConvWithState(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"state_window", "channels_last"}));
  for (const char* name : {"dilation", "ndim"}) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t value, context.Int(name, 1));
    if (value != 1) return Unsupported("attribute '", name, "' is ", value);
  }
  return ApplyOnnx(context, "CausalConvWithState", 27);
}

Outputs LinearAttention(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(RefuseAttributes(context, {"state_window"}));
  return ApplyOnnx(context, "LinearAttention", 27);
}

// Operands: X [batch, spatial …, channels], or channels before the spatial dimensions; gamma and
// beta, one element per channel.
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
  for (int i : {1, 2}) TARTAN_RETURN_IF_ERROR(context.CheckDims(i, {channels}));
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
  return context.Apply(TileFunction("X, A, B", "Y", statements),
                       {x, context.input(1), context.input(2)});
}

// Operands: X, gamma, beta, a summand of X (per channel or per element), a bias.
Outputs SkipGroupNorm(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& skip = context.input(3);
  TARTAN_ASSIGN_OR_RETURN(const int64_t channels_last, context.Int("channels_last", 1));
  if (x.rank() < 3) return Invalid("expected rank 3 or more, got ", x.shape().ToString());
  const int64_t channels = channels_last != 0 ? x.dims().back() : x.dims()[1];
  std::vector<int64_t> per_channel(static_cast<size_t>(x.rank()), 1);
  per_channel[channels_last != 0 ? static_cast<size_t>(x.rank()) - 1 : 1] = channels;
  std::vector<int64_t> per_sample = per_channel;
  per_sample[0] = x.dims()[0];
  const bool is_whole = skip.dims() == x.dims();
  if (!is_whole && skip.shape().element_count() != x.dims()[0] * channels) {
    return Invalid("operand 3 is ", skip.shape().ToString(), " for ", x.shape().ToString());
  }
  std::string sum = is_whole ? "X + S" : "X + " + ReshapeCall("S", per_sample);
  std::vector<Tensor> operands = {x, skip};
  if (context.HasInput(4)) {
    TARTAN_RETURN_IF_ERROR(context.CheckDims(4, {channels}));
    absl::StrAppend(&sum, " + ", ReshapeCall("B", per_channel));
    operands.push_back(context.input(4));
  }
  TARTAN_ASSIGN_OR_RETURN(
      const Tensor added,
      context.ApplyOne(TileFunction(context.HasInput(4) ? "X, S, B" : "X, S", "Y",
                                    {absl::StrCat("Y = ", Cast(sum, x.type()))}),
                       operands));
  context.SetInput(0, Value(added));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, GroupNorm(context));
  outputs.push_back(added);
  return outputs;
}

// Distances between rows.
Outputs CDist(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string metric,
                          context.OneOf("metric", "sqeuclidean", {"euclidean", "sqeuclidean"}));
  for (int i : {0, 1}) {
    if (context.input(i).rank() == 2) continue;
    return Invalid("operand ", i, ": expected rows, got ", context.input(i).shape().ToString());
  }
  return context.Apply(absl::StrCat(
      "function (A[N, F], B[M, F]) -> (Y) { D = reshape(A, N, 1, F) - reshape(B, 1, M, F); "
      "Q = D * D; S[n, m : N, M] = +(Q[n, m, f]); Y = ",
      metric == "euclidean" ? "sqrt(S)" : "S", "; }"));
}

// The inverse of the n x n matrix `a`, by Gauss-Jordan elimination with partial pivoting.
// Infinities and NaN for a singular matrix.
std::vector<double> InverseOf(std::vector<double> a, size_t n) {
  std::vector<double> inverse(n * n);
  for (size_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    const double scale = 1 / a[pivot * n + k];
    for (std::vector<double>* matrix : {&a, &inverse}) {
      auto row = matrix->begin() + static_cast<ptrdiff_t>(k * n);
      auto other = matrix->begin() + static_cast<ptrdiff_t>(pivot * n);
      if (pivot != k) std::swap_ranges(row, row + static_cast<ptrdiff_t>(n), other);
      for (size_t j = 0; j < n; ++j) row[static_cast<ptrdiff_t>(j)] *= scale;
    }
    for (size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + k];
      if (i == k || factor == 0) continue;
      for (size_t j = 0; j < n; ++j) {
        a[i * n + j] -= factor * a[k * n + j];
        inverse[i * n + j] -= factor * inverse[k * n + j];
      }
    }
  }
  return inverse;
}

// Inverses of square matrices in the last two dimensions.
Outputs Inverse(NodeContext& context) {
  const Tensor& x = context.input(0);
  const int64_t n = x.rank() < 2 ? 0 : x.dims().back();
  if (x.rank() < 2 || x.dims()[static_cast<size_t>(x.rank()) - 2] != n) {
    return Invalid("square matrices are expected, got ", x.shape().ToString());
  }
  return context.RunOnHost(
      {x}, [n](absl::Span<const HostTensor> operands) -> absl::StatusOr<std::vector<HostTensor>> {
        const HostTensor& all = operands[0];
        const std::vector<double> values = all.ToDoubles();
        std::vector<uint8_t> bytes(all.bytes().size());
        int64_t at = 0;
        for (auto matrix = values.begin(); matrix != values.end(); matrix += n * n) {
          for (const double value : InverseOf({matrix, matrix + n * n}, static_cast<size_t>(n))) {
            StoreElement(all.type(), value, at++, bytes.data());
          }
        }
        return std::vector<HostTensor>{HostTensor(all.shape(), bytes)};
      });
}

Outputs TransposeMatMul(NodeContext& context) {
  return FindOperator(kMicrosoftDomain, "FusedMatMul", 1)->handler(context);
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("CDist", {2, 2}, CDist),
    MicrosoftRow("CausalConvWithState", {2, 4}, CausalConvWithState),
    MicrosoftRow("DequantizeLinear", {2, 3}, Same<13>),
    MicrosoftRow("ExpandDims", {2, 2}, ExpandDims, HostOperands(1)),
    MicrosoftRow("GatherND", {2, 2}, Same<13>),
    MicrosoftRow("GridSample", {2, 2}, Same<16>),
    MicrosoftRow("GroupNorm", {3, 3}, GroupNorm),
    MicrosoftRow("Inverse", {1, 1}, Inverse),
    MicrosoftRow("LinearAttention", {3, 6}, LinearAttention),
    MicrosoftRow("Pad", {2, 3}, Same<13>, HostOperands(1)),
    MicrosoftRow("QuantizeLinear", {2, 3}, Same<13>),
    MicrosoftRow("Range", {3, 3}, Same<13>, HostOperands(0, 1, 2)),
    MicrosoftRow("SkipGroupNorm", {4, 5}, SkipGroupNorm),
    MicrosoftRow("TransposeMatMul", {2, 2}, TransposeMatMul),
    MicrosoftRow("Trilu", {1, 2}, Same<14>, HostOperands(1)),
};

}  // namespace

absl::Span<const OperatorRow> MicrosoftFormOperators() { return kOperators; }

}  // namespace tartan::onnx
