// SPDX-License-Identifier: Apache-2.0
// Matmuls and determinants.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/matmul_text.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

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

// Microsoft's MatMul with a scalar factor and optional transposition of the last two dimensions.
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
  const Tensor& b = context.input(1);
  // Exporters of fused graphs write Gemm with more than two dimensions of rows, as in MatMul.
  // Training graphs contain batched Gemms.
  const bool has_rows = context.input(0).rank() > 2 && b.rank() == 2 && transpose_a == 0;
  Tensor a = context.input(0);
  std::vector<int64_t> whole = a.dims();
  if (has_rows) {
    const int64_t columns = whole.back();
    whole.pop_back();
    const int64_t rows =
        std::accumulate(whole.begin(), whole.end(), int64_t{1}, std::multiplies<>());
    TARTAN_ASSIGN_OR_RETURN(a, Reshape(context, a, {rows, columns}));
  }
  if (a.rank() < 2 || a.rank() != b.rank()) {
    return Invalid("expected two matrices, got ", context.input(0).shape().ToString(), " and ",
                   b.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(
      const MatMulText product,
      MatMulStatement("P", "A", a.dims(), "B", b.dims(), transpose_a != 0, transpose_b != 0));
  if (has_rows) whole.push_back(product.dims[1]);
  const std::vector<int64_t>& dims = has_rows ? whole : product.dims;
  std::string value =
      absl::StrCat(has_rows ? ReshapeCall("P", dims) : std::string("P"), Times(alpha));
  std::string names = "A, B";
  std::vector<Tensor> operands = {a, b};
  if (context.HasInput(2)) {
    const Tensor& c = context.input(2);
    const absl::StatusOr<std::vector<int64_t>> broadcast = BroadcastDims(dims, c.dims());
    if (!broadcast.ok() || *broadcast != dims) {
      return Invalid("operand 2, ", c.shape().ToString(), ", does not broadcast to ",
                     DimsToString(dims));
    }
    absl::StrAppend(&value, " + C", Times(beta));
    names += ", C";
    operands.push_back(c);
  }
  // The factors alpha and beta are floats for all operand types.
  if (!IsFloat(a.type())) value = Cast(value, a.type());
  return context.Apply(TileFunction(names, "Y", {product.statement, absl::StrCat("Y = ", value)}),
                       operands);
}

// One step of Gaussian elimination with partial pivoting. From A<step> [batch, m, m] it computes
// PIVOT<step> [batch], negated if rows were exchanged, and A<step + 1>, the remaining matrix with m
// - 1 rows and columns.
void AddElimination(int64_t step, int64_t batch, int64_t m, std::vector<std::string>* text) {
  const auto add = [&](absl::string_view statement) {
    text->push_back(absl::StrReplaceAll(statement, {{"$$", absl::StrCat(step + 1)},
                                                    {"$", absl::StrCat(step)},
                                                    {"@", absl::StrCat(batch)},
                                                    {"%", absl::StrCat(m)},
                                                    {"~", absl::StrCat(m - 1)}}));
  };
  add("C$[b, i : @, %] = =(A$[b, i, 0])");
  add("SIZE$ = abs(C$)");
  add("MOST$[b, 0 : @, 1] = >(SIZE$[b, i])");
  add("MARK$ = SIZE$ == MOST$ ? % - index(SIZE$, 1) : 0");
  add("FIRST$[b : @] = >(MARK$[b, i])");
  add("P$ = % - FIRST$");
  add("AT$ = reshape(P$, @, 1)");
  add("ROW$ = gather_nd(A$, AT$, 1)");
  add("VALUE$[b : @] = =(ROW$[b, 0])");
  add("PIVOT$ = P$ == 0 ? VALUE$ : -VALUE$");
  if (m == 1) return;
  add("TOP$[b, 0, j : @, 1, %] = =(A$[b, 0, j])");
  add("BELOW$ = index(A$, 1) == reshape(P$, @, 1, 1) ? TOP$ : A$");
  add("COLUMN$[b, i, 0 : @, ~, 1] = =(BELOW$[b, i + 1, 0])");
  add("DIVISOR$ = reshape(VALUE$, @, 1, 1)");
  add("FACTOR$ = DIVISOR$ == 0 ? 0.0 : COLUMN$ / DIVISOR$");
  add("REST$[b, i, j : @, ~, ~] = =(BELOW$[b, i + 1, j + 1])");
  add("RIGHT$[b, 0, j : @, 1, ~] = =(ROW$[b, j + 1])");
  add("A$$ = REST$ - FACTOR$ * RIGHT$");
}

// The determinant of the n x n matrix `a` by the same elimination.
double Determinant(std::vector<double> a, size_t n) {
  double product = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    const double value = a[pivot * n + k];
    product *= pivot == k ? value : -value;
    if (value == 0) return 0;
    for (size_t j = k; pivot != k && j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / value;
      for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return product;
}

// For matrices whose elimination would be too long a program.
Outputs DeterminantsOnHost(NodeContext& context, std::vector<int64_t> dims, int64_t n) {
  const auto compute =
      [=](absl::Span<const HostTensor> operands) -> absl::StatusOr<std::vector<HostTensor>> {
    const std::vector<double> all = operands[0].ToDoubles();
    const int64_t count = n * n;
    std::vector<double> results;
    for (auto matrix = all.begin(); matrix != all.end(); matrix += count) {
      results.push_back(Determinant({matrix, matrix + count}, static_cast<size_t>(n)));
    }
    return std::vector<HostTensor>{*ConstantOf(operands[0].type(), results, dims).constant()};
  };
  return context.RunOnHost({context.input(0)}, compute);
}

// Determinants of square matrices in the last two dimensions.
Outputs Det(NodeContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() < 2 || x.dims()[x.rank() - 1] != x.dims()[x.rank() - 2]) {
    return Invalid("square matrices are expected, got ", x.shape().ToString());
  }
  const int64_t n = x.dims().back();
  const std::vector<int64_t> dims(x.dims().begin(), x.dims().end() - 2);
  const int64_t batch = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (n == 0 || batch == 0) {
    return OneTensor(Fill(context, ConstantScalar(x.type(), 1), dims));
  }
  constexpr int64_t kMostSteps = 24;
  if (n > kMostSteps) return DeterminantsOnHost(context, dims, n);
  const DataType type = ComputeType(x.type());
  std::vector<std::string> text = {
      absl::StrCat("A0 = ", Cast(ReshapeCall("X", {batch, n, n}), type))};
  std::string product;
  for (int64_t step = 0; step < n; ++step) {
    AddElimination(step, batch, n - step, &text);
    absl::StrAppend(&product, step == 0 ? "PIVOT" : " * PIVOT", step);
  }
  text.push_back(absl::StrCat("PRODUCT = ", Cast(product, x.type())));
  text.push_back(absl::StrCat("Y = ", ReshapeCall("PRODUCT", dims)));
  return context.Apply(TileFunction("X", "Y", text));
}

constexpr OperatorRow kOperators[] = {
    {"Det", 11, {1, 1}, Det},
    In("com.microsoft", {"FusedMatMul", 1, {2, 2}, FusedMatMul}),
    {"Gemm", 1, {2, 3}, Gemm},
    {"MatMul", 1, {2, 2}, MatMul},
};

}  // namespace

absl::Span<const OperatorRow> LinearOperators() { return kOperators; }

}  // namespace tartan::onnx
