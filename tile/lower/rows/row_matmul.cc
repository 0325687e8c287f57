// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_matmul.h"

#include <vector>

#include "tile/lower/gpu/mma_kernel.h"
#include "tile/lower/rows/row_stage.h"

namespace tartan::lower {

GroupOrigins OriginsOf(const RowStages& stages, const plan::RowGroupStage& stage) {
  GroupOrigins origins;
  for (size_t a = 0; a < stage.block.origins.size(); ++a) {
    const int origin = stage.block.origins[a];
    if (origin >= 0) origins[origin] = stages.Var(RowStages::RowName(a));
  }
  return origins;
}

GroupPart LowerRowMatmul(const RowStages& stages, size_t s, const plan::RowGroupStage& stage) {
  if (const plan::MatrixPlan* matrix = stage.ByTensorCores()) {
    return {
        {},
        stages.Named(
            s, LowerMmaPart(
                   stage.block.flat, *matrix, stages.IndexType().element, OriginsOf(stages, stage),
                   matrix->holds_results ? RegisterArrayName(stage.register_result) : ""))};
  }
  const GroupPart part =
      LowerGroupPart(stage.block.flat, *stage.ByWorkItems(), stages.IndexType().element,
                     OriginsOf(stages, stage), stage.fetched, !stages.ReadsWhatIsWritten(s));
  const std::vector<loop::StmtPtr> named =
      stages.Named(s, {loop::MakeBlock(part.fetch), loop::MakeBlock(part.compute)});
  if (stage.fetched.empty()) return {{}, named};
  return {{named[0]}, {named[1]}};
}

}  // namespace tartan::lower
