// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/matmul_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// One operand: its leading dimensions, and its last ones by role.
struct Factor {
  absl::Span<const int64_t> batch;
  std::vector<std::string> indices;  // of the last one or two dimensions
  int64_t outer = 1;                 // rows of A, columns of B
  int64_t inner = 1;
  bool is_vector = false;
};

Factor MakeFactor(absl::Span<const int64_t> dims, bool is_left, bool is_transposed) {
  Factor factor;
  const std::string outer = is_left ? "i" : "j";
  if (dims.size() == 1) {
    factor.indices = {"k"};
    factor.inner = dims[0];
    factor.is_vector = true;
    return factor;
  }
  factor.batch = dims.first(dims.size() - 2);
  const bool outer_first = is_left != is_transposed;
  factor.outer = dims[dims.size() - (outer_first ? 2 : 1)];
  factor.inner = dims[dims.size() - (outer_first ? 1 : 2)];
  factor.indices =
      outer_first ? std::vector<std::string>{outer, "k"} : std::vector<std::string>{"k", outer};
  return factor;
}

// The indices of the whole operand. A size of 1 that broadcasts is read at index 0.
std::vector<std::string> AllIndices(const Factor& factor, absl::Span<const int64_t> batch) {
  std::vector<std::string> indices;
  const size_t lead = batch.size() - factor.batch.size();
  for (size_t d = 0; d < factor.batch.size(); ++d) {
    const bool repeats = factor.batch[d] == 1 && batch[lead + d] != 1;
    indices.push_back(repeats ? "0" : absl::StrCat("b", lead + d));
  }
  indices.insert(indices.end(), factor.indices.begin(), factor.indices.end());
  return indices;
}

}  // namespace

absl::StatusOr<MatMulText> MatMulStatement(absl::string_view target, absl::string_view a,
                                           absl::Span<const int64_t> a_dims, absl::string_view b,
                                           absl::Span<const int64_t> b_dims, bool transpose_a,
                                           bool transpose_b) {
  if (a_dims.empty() || b_dims.empty()) return Invalid("an operand of the matmul is a scalar");
  const Factor left = MakeFactor(a_dims, true, transpose_a);
  const Factor right = MakeFactor(b_dims, false, transpose_b);
  if (left.inner != right.inner) {
    return Invalid("cannot multiply ", DimsToString(a_dims), transpose_a ? " transposed" : "",
                   " by ", DimsToString(b_dims), transpose_b ? " transposed" : "", ": ", left.inner,
                   " is not ", right.inner);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> batch, BroadcastDims(left.batch, right.batch));
  MatMulText text;
  text.dims = batch;
  std::vector<std::string> indices = IndexNames(static_cast<int64_t>(batch.size()), "b");
  if (!left.is_vector) {
    indices.push_back("i");
    text.dims.push_back(left.outer);
  }
  if (!right.is_vector) {
    indices.push_back("j");
    text.dims.push_back(right.outer);
  }
  text.statement =
      absl::StrCat(Write(target, indices, text.dims), " = +(", Read(a, AllIndices(left, batch)),
                   " * ", Read(b, AllIndices(right, batch)), ")");
  return text;
}

}  // namespace tartan::onnx
