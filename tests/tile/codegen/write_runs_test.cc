// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tile/codegen/write_kernel.h"
#include "tile/loop/build.h"

namespace tartan::loop::write_runs_test {
namespace {

using codegen::WriteKernel;

constexpr DataType kF32 = DataType::kFloat32;
const Type kFloat1 = {kF32, 1};

// Statements in MakeOnce are before the loop over launches. Each launch reads its arguments from
// the table, and prefetched values come from where the launch before stored them.
TEST(WriteKernel, WritesTheRunsOfGroupsInASequence) {
  Kernel kernel;
  kernel.name = "step";
  kernel.parameters = {{"next", kF32, true}, {"state", kF32}, {"factor", kF32}};
  kernel.local_size[0] = kernel.global_size[0] = 64;
  const ExprPtr x = Work(WorkId::kLocal, 0);
  kernel.body =
      MakeBlock({MakeArray(kFloat1, "rows", 64, Space::kLocal),
                 MakeDeclare(kFloat1, "kept", nullptr, /*is_mutable=*/true),
                 MakeOnce(MakeAssign("kept", LoadFrom("factor", kF32, x))),
                 MakeFetch(LoadFrom("state", kF32, Int(0)), LoadFrom("next", kF32, Int(0)),
                           MakeStore("rows", kF32, x, LoadFrom("state", kF32, x))),
                 MakeBarrier(),
                 MakeStore("next", kF32, x, Mul(LoadFrom("rows", kF32, x), Var("kept", kFloat1)))});
  const codegen::Dialect dialect = opencl::OpenClDialect({.has_fma = true, .is_cpu = false});
  EXPECT_EQ(
      WriteKernel(kernel, dialect),
      R"(__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void step(__global float* restrict next, __global const float* restrict state, __global const float* restrict factor) {
  __local float rows[64] __attribute__((aligned(64)));
  float kept;
  {
    kept = factor[(int)get_local_id(0)];
  }
  {
    rows[(int)get_local_id(0)] = state[(int)get_local_id(0)];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  next[(int)get_local_id(0)] = rows[(int)get_local_id(0)] * kept;
}
)");
  kernel.in_launch_batch = true;
  EXPECT_EQ(WriteKernel(kernel, dialect),
            R"(enum { step_team = 64, step_local = 256, step_align = 64, step_early = 0 };
TT_GROUP_FUNCTION void step_group(__local ulong* work_arguments, __local uchar* work_pool, const int work_team, const int work_item, const int work_group_x, const int work_group_y, const int work_group_z, __global const ulong* work_next, const int work_stride, const int work_launches) {
  __global float* const next = (__global float* )work_arguments[0];
  __global const float* const state = (__global const float* )work_arguments[1];
  __global const float* const factor = (__global const float* )work_arguments[2];
  __local float* const rows = (__local float*)(work_pool + 0);
  float kept;
  {
    kept = factor[(int)work_item];
  }
  ulong work_before_next = 0;
  for (int work_launch = 1; work_launch <= work_launches; ++work_launch) {
    __global float* const next = (__global float* )work_arguments[0];
    __global const float* const state = (__global const float* )work_arguments[1];
    __global const float* const factor = (__global const float* )work_arguments[2];
    const ulong work_at_next = work_arguments[0];
    const ulong work_ahead = work_launch < work_launches && work_item < 3 ? work_next[(work_launch - 1) * work_stride + work_item] : 0;
    if (work_arguments[1] != work_before_next) {
      rows[(int)work_item] = state[(int)work_item];
    }
    tt_team_barrier(64, work_team);
    next[(int)work_item] = rows[(int)work_item] * kept;
    work_before_next = work_at_next;
    if (work_launch < work_launches && work_item < 3) work_arguments[work_item] = work_ahead;
    tt_team_barrier(64, work_team);
  }
}
TT_GROUP_FUNCTION void step_groups(__local ulong* arguments, __local uchar* work_pool, int work_phase, int work_team, int work_item, int group, int end, int step, int width, int height, __global const ulong* next, int stride, int launches) {
  for (; group < end; group += step) {
    step_group(arguments, work_pool, work_team, work_item, group < width ? group : group % width, group < width ? 0 : group / width % height, group < width ? 0 : group / width / height, next, stride, launches);
    tt_team_barrier(64, work_team);
  }
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void step(__global float* next, __global const float* state, __global const float* factor) {
  __local uchar work_pool[256] __attribute__((aligned(64)));
  __local ulong work_arguments[3];
  if ((int)get_local_id(0) == 0) {
    work_arguments[0] = (ulong)next;
    work_arguments[1] = (ulong)state;
    work_arguments[2] = (ulong)factor;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  step_group(work_arguments, work_pool, 0, (int)get_local_id(0), (int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2), 0, 0, 1);
}
)");
}

}  // namespace
}  // namespace tartan::loop::write_runs_test
