// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/fuse_dual_gemm.h"

#include <optional>
#include <variant>

#include "tile/compiler/launches/fuse_launches.h"

namespace tartan::compiler {

void FuseDualGemms(const ir::Program& program, fuse::Judge* judge, Schedule* schedule) {
  if (judge->settings().matrix_local_bytes == 0) return;
  const auto is_matmul = [](const plan::PlannedKernel& kernel) {
    return std::holds_alternative<plan::MatrixPlan>(kernel.plan);
  };
  const auto join = [&](const plan::PlannedKernel& reader, const plan::PlannedKernel& producer,
                        ir::ValueId result, graph::FusionDecision* decision) {
    std::optional<plan::PlannedKernel> joined = judge->PlanDualGemm(reader, producer, result);
    if (is_matmul(reader) && is_matmul(producer)) {
      decision->separate_us = reader.predicted_us + producer.predicted_us;
      decision->fused_us = joined.has_value() ? joined->predicted_us : 0;
      decision->reason =
          joined.has_value()
              ? "predicted times"
              : "the matmuls share no factor, have other tiles, or are not faster in one launch";
    }
    return joined;
  };
  FuseLaunches(program, graph::FusionRule::kDualGemm, join, judge, schedule);
}

}  // namespace tartan::compiler
