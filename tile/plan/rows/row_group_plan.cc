// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_group_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"

namespace tartan::plan {

const GpuPlan* RowGroupStage::ByWorkItems() const {
  return product.has_value() ? std::get_if<GpuPlan>(&*product) : nullptr;
}

const MatrixPlan* RowGroupStage::ByTensorCores() const {
  return product.has_value() ? std::get_if<MatrixPlan>(&*product) : nullptr;
}

int64_t RowGroupStage::Elements() const {
  int64_t elements = 1;
  for (int index : inner) elements *= block.flat.indices[index].range;
  return elements;
}

int64_t RowGroupStage::Iterations(int64_t row_threads) const {
  const int64_t vectors = (Elements() + lanes - 1) / lanes;
  return (vectors + row_threads - 1) / row_threads;
}

int64_t RowGroupPlan::GroupCount() const {
  int64_t groups = 1;
  for (size_t a = 0; a < rows.size(); ++a) groups *= (rows[a] + block[a] - 1) / block[a];
  return groups;
}

int64_t RowGroupPlan::TilesSize() const {
  int64_t size = 0;
  for (const RowGroupStage& stage : stages) {
    if (const MatrixPlan* matrix = stage.ByTensorCores()) {
      size = std::max(size, matrix->tiles_size());
    }
  }
  return size;
}

int64_t RowGroupPlan::RegisterWords() const {
  int64_t words = 0;
  for (const RowGroupStage& stage : stages) {
    if (const MatrixPlan* matrix = stage.ByTensorCores()) {
      words = std::max(words, matrix->accumulators());
    }
  }
  for (const RegisterValue& value : held) {
    words += std::max<int64_t>(value.iterations, 1) * value.lanes * item_rows;
  }
  return words;
}

int64_t RowGroupPlan::ExecutionCount(size_t stage) const {
  if (stages[stage].role == poly::OnlineRole::kNone) return 0;
  return walk.has_value() && poly::IsInKeyLoop(stages[stage].role) ? walk->Count() : 1;
}

bool RowGroupPlan::Stores(size_t stage) const {
  return stages[stage].stores ||
         (walk.has_value() && !walk->rest.empty() && walk->rest[stage].stores);
}

bool RowGroupPlan::RunInSameLoop(size_t stage, size_t other) const {
  const poly::OnlineRole a = stages[stage].role;
  const poly::OnlineRole b = stages[other].role;
  return a == b || (poly::IsInKeyLoop(a) && poly::IsInKeyLoop(b));
}

bool RowGroupPlan::WritesEachElementOnce(size_t stage) const {
  for (size_t a = 0; a < rows.size(); ++a) {
    if (rows[a] % block[a] != 0) return false;
  }
  const RowGroupStage& written = stages[stage];
  if (written.product.has_value()) return true;
  const bool is_one_element = written.inner.empty() || written.block.flat.is_reduction();
  return !is_one_element || row_threads == 1 || written.register_result < 0;
}

std::string RowGroupPlan::ToString() const {
  std::vector<std::string> lines = {absl::StrCat(
      "blocks of [", absl::StrJoin(block, ", "), "] rows of [", absl::StrJoin(rows, ", "), "], ",
      row_threads, " work-items for a row", rows_first ? ", adjacent rows first" : "",
      item_rows > 1 ? absl::StrCat(", each for ", item_rows, " rows") : "", ", ", GroupCount(),
      " groups of ", Threads())};
  if (walk.has_value()) {
    lines.push_back(absl::StrCat("  each row in blocks of ", walk->block, " of ", walk->keys));
  }
  for (const RowGroupStage& stage : stages) {
    if (stage.role == poly::OnlineRole::kNone) continue;
    if (stage.product.has_value()) {
      lines.push_back(absl::StrCat(
          "  ", stage.block.flat.name, ": ",
          Match(*stage.product,
                [&](const auto& product) { return product.ToString(stage.block.flat); }),
          stage.fetched.empty() ? "" : ", prefetched in", absl::StrJoin(stage.fetched, " in")));
      continue;
    }
    lines.push_back(absl::StrCat("  ", stage.block.flat.name, ": ", stage.Elements(),
                                 " elements of a row in vectors of ", stage.lanes,
                                 stage.register_result >= 0 ? ", held in registers" : "",
                                 stage.result_tile ? ", written to GEMM tiles" : ""));
  }
  for (const RegisterValue& value : held) {
    if (!value.is_prefetched) continue;
    lines.push_back(absl::StrCat("  ", value.iterations, " vectors of a tensor of ",
                                 stages[value.stage].block.flat.name, " prefetched"));
  }
  return absl::StrJoin(lines, "\n");
}

std::string RowGroupPlan::CostText() const {
  return predicted_us > 0 ? absl::StrFormat("\n  %.1f us", predicted_us) : "";
}

}  // namespace tartan::plan
