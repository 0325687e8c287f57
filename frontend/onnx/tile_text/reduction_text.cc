// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/reduction_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/tile_text/tile_text.h"

namespace tartan::onnx {
namespace {

bool Contains(absl::Span<const int64_t> axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

std::vector<int64_t> KeptDims(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes) {
  std::vector<int64_t> kept(dims.begin(), dims.end());
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  return kept;
}

std::vector<int64_t> DroppedDims(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes) {
  std::vector<int64_t> left;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!Contains(axes, static_cast<int64_t>(d))) left.push_back(dims[d]);
  }
  return left;
}

int64_t ReducedCount(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes) count *= dims[static_cast<size_t>(axis)];
  return count;
}

std::vector<int64_t> AxesFrom(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

std::string ReduceStatement(absl::string_view target, char aggregation, absl::string_view source,
                            absl::Span<const int64_t> dims, absl::Span<const int64_t> axes) {
  const std::vector<std::string> names = IndexNames(static_cast<int64_t>(dims.size()));
  std::vector<std::string> kept = names;
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = std::string(1, '0');
  return absl::StrCat(Write(target, kept, KeptDims(dims, axes)), " = ",
                      absl::string_view(&aggregation, 1), "(", Read(source, names), ")");
}

std::string DropStatement(absl::string_view target, char aggregation, absl::string_view source,
                          absl::Span<const int64_t> dims, absl::Span<const int64_t> axes) {
  const std::vector<std::string> names = IndexNames(static_cast<int64_t>(dims.size()));
  std::vector<std::string> left;
  for (size_t d = 0; d < names.size(); ++d) {
    if (!Contains(axes, static_cast<int64_t>(d))) left.push_back(names[d]);
  }
  return absl::StrCat(Write(target, left, DroppedDims(dims, axes)), " = ",
                      absl::string_view(&aggregation, 1), "(", Read(source, names), ")");
}

std::vector<std::string> StandardizeStatements(absl::string_view source,
                                               absl::Span<const int64_t> dims,
                                               absl::Span<const int64_t> axes, double epsilon,
                                               bool is_centered) {
  const int64_t count = ReducedCount(dims, axes);
  std::vector<std::string> statements;
  std::string centered(source);
  if (is_centered) {
    statements.push_back(ReduceStatement("SUM", '+', source, dims, axes));
    statements.push_back(absl::StrCat("MEAN = SUM / ", count));
    statements.push_back(absl::StrCat("CENTERED = ", source, " - MEAN"));
    centered = "CENTERED";
  }
  statements.push_back(absl::StrCat("SQUARES = ", centered, " * ", centered));
  statements.push_back(ReduceStatement("SQUARESUM", '+', "SQUARES", dims, axes));
  statements.push_back(absl::StrCat("VAR = SQUARESUM / ", count));
  statements.push_back(absl::StrCat("INV = 1 / sqrt(VAR + ", Literal(epsilon), ")"));
  statements.push_back(absl::StrCat("NORM = ", centered, " * INV"));
  return statements;
}

}  // namespace tartan::onnx
