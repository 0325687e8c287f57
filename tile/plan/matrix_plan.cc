// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::plan {
namespace {

std::string NamesOf(const poly::FlatContraction& flat, const std::vector<int>& indices) {
  return absl::StrJoin(
      indices, " ", [&](std::string* text, int i) { absl::StrAppend(text, flat.indices[i].name); });
}

std::string HowItComes(const MatrixOperand& operand) {
  return absl::StrCat(
      "in", operand.access, operand.is_copied ? " copied" : "", operand.is_early ? " early" : "",
      operand.is_rounded ? " and rounded" : "", operand.loads_vectors ? " in vectors" : "",
      operand.has_tail ? " with a tail" : "", operand.along_rows ? " along rows" : "");
}

}  // namespace

std::string MatrixCost::ToString() const {
  return absl::StrFormat(
      "%.1f us: cycles per step: tensor cores %.0f, cache %.0f, latency %.0f; %g groups per "
      "compute unit, %g waves",
      microseconds, tensor_core_cycles, load_cycles, latency_cycles, resident, waves);
}

int64_t CountOf(const poly::FlatContraction& flat, const std::vector<int>& indices) {
  int64_t count = 1;
  for (int i : indices) count *= flat.indices[i].range;
  return count;
}

bool ReadsAlongColumns(const poly::FlatContraction& flat, const MatrixPlan& plan) {
  for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
    if (a == plan.left.access || a == plan.right.access) continue;
    const std::vector<int64_t> strides = poly::Flatten(flat, a).strides;
    for (int i : plan.columns) {
      if (strides[i] != 0) return true;
    }
  }
  return false;
}

int64_t MatrixPlan::tiles_size() const {
  const int64_t element = ByteWidth(ElementType(format));
  const int64_t totals = TilesOf(slices * totals_size() * ByteWidth(DataType::kFloat32), element);
  return std::max(resident_size() + stages * stage_size(), holds_results ? 0 : totals);
}

int64_t MatrixPlan::local_bytes() const { return tiles_size() * ByteWidth(ElementType(format)); }

int64_t MatrixPlan::GroupCount(const poly::FlatContraction& flat) const {
  return CountOf(flat, batch) * TilesOf(CountOf(flat, rows), row_tile) *
         TilesOf(CountOf(flat, columns), result_columns());
}

int64_t MatrixPlan::ResultPairs(const poly::FlatContraction& flat) const {
  return TilesOf(CountOf(flat, columns), 8);
}

int64_t MatrixPlan::StepCount(const poly::FlatContraction& flat) const {
  return TilesOf(CountOf(flat, reduced), step_k());
}

std::string MatrixPlan::ToString(const poly::FlatContraction& flat) const {
  return absl::StrCat("tensor cores in ", Name(format), ": rows ", NamesOf(flat, rows), " in ",
                      row_tile, ", columns ", NamesOf(flat, columns), " in ", column_tile,
                      batch.empty() ? "" : absl::StrCat(", batch ", NamesOf(flat, batch)), ", K ",
                      NamesOf(flat, reduced), " in ", k_tile(), "; ", warp_groups, " warp groups, ",
                      slices > 1 ? absl::StrCat(slices, " K slices, ") : "", stages,
                      is_at_once ? " stages at once; " : " stages; ",
                      resident_steps > 0 ? "left factor in local memory; " : "",
                      holds_results ? "results stay in registers; " : "", HowItComes(left), ", ",
                      HowItComes(right), second ? absl::StrCat(", ", HowItComes(*second)) : "");
}

}  // namespace tartan::plan
