// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/lower_kernel.h"

#include "tile/base/match.h"
#include "tile/lower/cpu/dynamic_shape_kernel.h"
#include "tile/lower/cpu/task_kernel.h"
#include "tile/lower/gpu/few_rows_kernel.h"
#include "tile/lower/gpu/group_kernel.h"
#include "tile/lower/gpu/mma_kernel.h"

namespace tartan::lower {

loop::Kernel LowerKernel(const poly::FlatContraction& flat, const plan::KernelPlan& plan,
                         const std::string& name, const LowerOptions& options) {
  return Match(
      plan,
      [&](const plan::CpuPlan& tasks) {
        return options.size_arguments ? LowerDynamicShapeKernel(flat, tasks, name, options)
                                      : LowerTaskKernel(flat, tasks, name, options);
      },
      [&](const plan::GpuPlan& groups) { return LowerGroupKernel(flat, groups, name, options); },
      [&](const plan::MatrixPlan& matrix) { return LowerMmaKernel(flat, matrix, name, options); },
      [&](const plan::RowStreamPlan& stream) { return LowerFewRows(flat, stream, name, options); },
      [&](const plan::PersistentPlan& persistent) {
        return LowerFewRows(flat, persistent, name, options);
      });
}

}  // namespace tartan::lower
