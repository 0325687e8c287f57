// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/batch_norm_text.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/shared/spatial_text.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"

namespace tartan::onnx {
namespace {

using Dims = absl::Span<const int64_t>;

// All dimensions but the channels.
std::vector<int64_t> BatchAxes(Dims dims) {
  std::vector<int64_t> axes = AxesFrom(1, static_cast<int64_t>(dims.size()));
  axes[0] = 0;
  return axes;
}

// Indices of channel `name` in a tensor whose other sizes are 1.
std::vector<std::string> ChannelPlaces(Dims dims, absl::string_view name) {
  std::vector<std::string> places(dims.size(), "0");
  places[1] = std::string(name);
  return places;
}

std::vector<int64_t> ChannelDims(Dims dims) { return KeptDims(dims, BatchAxes(dims)); }

std::string CountText(Dims dims) {
  return Literal(static_cast<double>(ReducedCount(dims, BatchAxes(dims))));
}

// Mean and variance of X per channel: `prefix`MEAN, `prefix`VAR. One pass over X gives both sums:
// they are of differences to the channel's first element, so that a large mean cancels no digits.
std::vector<std::string> ChannelStatistics(Dims dims, absl::string_view prefix) {
  const std::string count = CountText(dims);
  const std::vector<int64_t> axes = BatchAxes(dims);
  const std::vector<std::string> first = ChannelPlaces(dims, "i1");
  return {
      absl::StrCat(Write("FIRST", first, ChannelDims(dims)), " = =(", Read("X", first), ")"),
      "SHIFTED = X - FIRST",
      "SQUARES = SHIFTED * SHIFTED",
      ReduceStatement("SUM", '+', "SHIFTED", dims, axes),
      ReduceStatement("SQUARESUM", '+', "SQUARES", dims, axes),
      absl::StrCat("SHIFTEDMEAN = SUM / ", count),
      absl::StrCat(prefix, "MEAN = FIRST + SHIFTEDMEAN"),
      absl::StrCat(prefix, "VAR = max(SQUARESUM / ", count, " - SHIFTEDMEAN * SHIFTEDMEAN, 0)")};
}

void Standardize(double epsilon, std::vector<std::string>* statements) {
  statements->push_back(absl::StrCat("INV = 1 / sqrt(VAR + ", Literal(epsilon), ")"));
  statements->push_back("NORM = (X - MEAN) * INV");
}

// The gradients of X, A and B from PSUM, DYSUM, SLOPE and SHIFT.
void AddGradients(Dims dims, std::vector<std::string>* statements) {
  const int64_t channels = dims[1];
  statements->push_back(
      absl::StrCat("FACTOR = ", PerChannel("A", channels, dims.size() - 2), " * INV"));
  statements->push_back("DX = (DY - SHIFT - (X - MEAN) * SLOPE) * FACTOR");
  statements->push_back(absl::StrCat("DA = ", ReshapeCall("PSUM", {channels})));
  statements->push_back(absl::StrCat("DB = ", ReshapeCall("DYSUM", {channels})));
}

// Joins `rows`, per channel, in `own`, and defines EACH as `all`, which has the rows of all ranks.
// Kernels that read EACH follow the kernel that computes `own`, because they need DONE.
void ExchangeRows(Dims dims, const std::vector<std::string>& rows, absl::string_view own,
                  absl::string_view all, std::vector<std::string>* statements) {
  const std::vector<int64_t> own_dims = {static_cast<int64_t>(rows.size()), dims[1]};
  std::vector<std::string> terms;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::vector<std::string> places = {absl::StrCat(row), "c"};
    terms.push_back(absl::StrCat("ROW", row));
    statements->push_back(absl::StrCat(Write(terms.back(), places, own_dims), " = +(",
                                       Read(rows[row], ChannelPlaces(dims, "c")), ")"));
  }
  statements->push_back(absl::StrCat(own, " = ", absl::StrJoin(terms, " + ")));
  statements->push_back(absl::StrCat("DONE[] = +(", own, "[i, c])"));
  // Every comparison with NaN fails, and NaN in `own` is NaN in `all`.
  statements->push_back(absl::StrCat("EACH = DONE == DONE ? ", all, " : DONE"));
}

// `target`[1, C, 1, …] = sum of a row of EACH over the ranks.
std::string SumOverRanks(absl::string_view target, Dims dims, int row) {
  return absl::StrCat(Write(target, ChannelPlaces(dims, "c"), ChannelDims(dims)), " = +(EACH[r, ",
                      row, ", c])");
}

}  // namespace

std::string GradientRule(absl::string_view inputs, absl::string_view outputs,
                         const std::vector<std::string>& statements) {
  return absl::StrCat("function rule (", inputs, ", Y, DY) -> (", outputs, ") {\n  ",
                      absl::StrJoin(statements, ";\n  "), ";\n}\n");
}

std::vector<std::string> GradientSums(Dims dims, absl::Span<const int64_t> axes,
                                      absl::string_view centered) {
  const std::string count = Literal(static_cast<double>(ReducedCount(dims, axes)));
  return {absl::StrCat("P = DY * (", centered, " * INV)"),
          ReduceStatement("PSUM", '+', "P", dims, axes),
          ReduceStatement("DYSUM", '+', "DY", dims, axes),
          absl::StrCat("SLOPE = PSUM * INV / ", count), absl::StrCat("SHIFT = DYSUM / ", count)};
}

std::vector<std::string> BatchStatistics(Dims dims, double epsilon) {
  std::vector<std::string> statements = ChannelStatistics(dims, "");
  Standardize(epsilon, &statements);
  return statements;
}

std::string BatchNormalizationRule(Dims dims) {
  std::vector<std::string> statements = GradientSums(dims, BatchAxes(dims), "(X - MEAN)");
  AddGradients(dims, &statements);
  return GradientRule("X, A, B, MEAN, INV", "DX, DA, DB", statements);
}

// The variance by the formula of Chan, Golub and LeVeque (Updating Formulae and a Pairwise
// Algorithm for Computing Sample Variances, 1979): each rank's squares are of deviations from its
// own mean.
std::vector<std::string> JointBatchStatistics(Dims dims, double epsilon, int64_t ranks) {
  std::vector<std::string> made = ChannelStatistics(dims, "OWN");
  const std::string count = CountText(dims);
  made.push_back(absl::StrCat("OWNCOUNT = OWNMEAN == OWNMEAN ? ", count, " : OWNMEAN"));
  made.push_back(absl::StrCat("OWNSQUARES = OWNVAR * ", count));
  ExchangeRows(dims, {"OWNCOUNT", "OWNMEAN", "OWNSQUARES"}, "OWN", "ALL", &made);
  std::vector<std::string> places = ChannelPlaces(dims, "c");
  places[0] = "r";
  std::vector<int64_t> by_rank = ChannelDims(dims);
  by_rank[0] = ranks;
  for (const auto& [name, row] : {std::pair("COUNTS", 0), std::pair("MEANS", 1)}) {
    made.push_back(absl::StrCat(Write(name, places, by_rank), " = =(EACH[r, ", row, ", c])"));
  }
  made.push_back(SumOverRanks("COUNT", dims, 0));
  made.push_back("PARTS = COUNTS * MEANS");
  made.push_back(ReduceStatement("PARTSUM", '+', "PARTS", by_rank, {0}));
  made.push_back("MEAN = PARTSUM / COUNT");
  made.push_back("OFFSETS = MEANS - MEAN");
  made.push_back("SPREADS = COUNTS * OFFSETS * OFFSETS");
  made.push_back(ReduceStatement("BETWEEN", '+', "SPREADS", by_rank, {0}));
  made.push_back(SumOverRanks("WITHIN", dims, 2));
  made.push_back("VAR = (BETWEEN + WITHIN) / COUNT");
  Standardize(epsilon, &made);
  return made;
}

std::string JointBatchNormalizationRule(Dims dims) {
  const std::vector<int64_t> axes = BatchAxes(dims);
  std::vector<std::string> statements = {"P = DY * ((X - MEAN) * INV)",
                                         ReduceStatement("PSUM", '+', "P", dims, axes),
                                         ReduceStatement("DYSUM", '+', "DY", dims, axes)};
  ExchangeRows(dims, {"PSUM", "DYSUM"}, "OWN", "SUMS", &statements);
  statements.push_back(SumOverRanks("PALL", dims, 0));
  statements.push_back(SumOverRanks("DYALL", dims, 1));
  statements.push_back("SLOPE = PALL * INV / COUNT");
  statements.push_back("SHIFT = DYALL / COUNT");
  AddGradients(dims, &statements);
  return GradientRule("X, A, B, OWNSUMS, SUMS, MEAN, INV, COUNT", "DX, DA, DB, OWN", statements);
}

}  // namespace tartan::onnx
