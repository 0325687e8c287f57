// Products of matrices.
#include "absl/strings/str_cat.h"
#include "frontend/onnx/matmul_text.h"
#include "frontend/onnx/operator_table.h"
#include "frontend/onnx/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;

Outputs MatMul(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("C", "A", context.input(0).dims(), "B", context.input(1).dims()));
  return context.Apply(TileFunction("A, B", "C", {product.statement}));
}

// " * 0.5", or nothing for a factor of 1.
std::string Times(float factor) {
  return factor == 1.0f ? "" : absl::StrCat(" * ", Literal(factor));
}

// Microsoft's MatMul with a factor and operands transposed in their last two dimensions.
Outputs FusedMatMul(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transpose_a, context.Int("transA", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transpose_b, context.Int("transB", 0));
  for (const char* name : {"transBatchA", "transBatchB"}) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t value, context.Int(name, 0));
    if (value != 0) return Unsupported("attribute '", name, "'");
  }
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("P", "A", context.input(0).dims(), "B", context.input(1).dims(),
                      transpose_a != 0, transpose_b != 0));
  return context.Apply(
      TileFunction("A, B", "C", {product.statement, absl::StrCat("C = P", Times(alpha))}));
}

// alpha * A * B + beta * C.
Outputs Gemm(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const float beta, context.Float("beta", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transpose_a, context.Int("transA", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transpose_b, context.Int("transB", 0));
  const api::Tensor& a = context.input(0);
  const api::Tensor& b = context.input(1);
  if (a.rank() != 2 || b.rank() != 2) {
    return Invalid("expected two matrices, got ", a.shape().ToString(), " and ",
                   b.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("P", "A", a.dims(), "B", b.dims(), transpose_a != 0, transpose_b != 0));
  std::string value = absl::StrCat("P", Times(alpha));
  std::string names = "A, B";
  if (context.HasInput(2)) {
    const api::Tensor& c = context.input(2);
    const absl::StatusOr<std::vector<int64_t>> dims = BroadcastDims(product.dims, c.dims());
    if (!dims.ok() || *dims != product.dims) {
      return Invalid("operand 2, ", c.shape().ToString(), ", does not broadcast to ",
                     DimsToString(product.dims));
    }
    absl::StrAppend(&value, " + C", Times(beta));
    names += ", C";
  }
  // The factors are floats, whatever the operands are.
  if (!IsFloat(a.type())) value = Cast(value, a.type());
  return context.Apply(TileFunction(names, "Y", {product.statement, absl::StrCat("Y = ", value)}));
}

constexpr OperatorRow kOperators[] = {
    {"FusedMatMul", 1, {2, 2}, FusedMatMul, nullptr, nullptr, 0, "com.microsoft"},
    {"Gemm", 1, {2, 3}, Gemm},
    {"MatMul", 1, {2, 2}, MatMul},
};

}  // namespace

absl::Span<const OperatorRow> LinearOperators() { return kOperators; }

}  // namespace tartan::onnx
