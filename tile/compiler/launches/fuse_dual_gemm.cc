// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/fuse_dual_gemm.h"

#include "tile/compiler/launches/fuse_launches.h"
#include "tile/plan/matrix/dual_gemm.h"

namespace tartan::compiler {

void FuseDualGemms(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                   const HardwareSettings& settings, Schedule* schedule) {
  if (settings.matrix_local_bytes == 0) return;
  const auto join = [&](const plan::PlannedKernel& reader, const plan::PlannedKernel& producer,
                        ir::ValueId result) {
    return plan::FuseDualGemm(reader, producer, result, settings);
  };
  FuseLaunches(program, storage, join, schedule);
}

}  // namespace tartan::compiler
