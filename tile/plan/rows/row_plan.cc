// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::plan {

int64_t RowPlan::BlockCount() const {
  int64_t blocks = 1;
  for (size_t a = 0; a < rows.size(); ++a) blocks *= (rows[a] + block[a] - 1) / block[a];
  return blocks;
}

int64_t RowPlan::ItemCount() const { return (BlockCount() + item_blocks - 1) / item_blocks; }

bool RowPlan::WritesEachElementOnce(size_t stage) const {
  for (size_t a = 0; a < rows.size(); ++a) {
    if (rows[a] % block[a] != 0) return false;  // the last block overlaps
  }
  return stages[stage].plan.WritesEachElementOnce(stages[stage].block.flat);
}

std::string RowPlan::ToString() const {
  std::vector<std::string> lines = {absl::StrFormat(
      "blocks of [%s] rows of [%s], %d for each of %d work-items", absl::StrJoin(block, ", "),
      absl::StrJoin(rows, ", "), item_blocks, ItemCount())};
  for (const RowStage& stage : stages) {
    lines.push_back(
        absl::StrCat("  ", stage.block.flat.name, ": ", stage.plan.ToString(stage.block.flat)));
  }
  for (const RowLoop& loop : loops) {
    if (loop.length == 0) {
      if (!loop.ahead.empty()) {
        lines.push_back(
            absl::StrCat("  ", stages[loop.stages[0]].block.flat.name, " fetches the next block"));
      }
      continue;
    }
    std::vector<std::string> names;
    for (int s : loop.stages) names.push_back(stages[s].block.flat.name);
    lines.push_back(absl::StrFormat("  loop of %d in steps of %d: %s%s", loop.length, loop.step,
                                    absl::StrJoin(names, ", "),
                                    loop.ahead.empty() ? "" : ", fetching the next row"));
  }
  return absl::StrJoin(lines, "\n");
}

std::string RowPlan::CostText() const { return absl::StrFormat("\n  %.3g us", predicted_us); }

}  // namespace tartan::plan
