// SPDX-License-Identifier: Apache-2.0
#include "tile/codegen/write_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tile/loop/build.h"

namespace tartan::codegen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace loop;  // NOLINT: builders

constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI32 = DataType::kInt32;
const Type kFloat1{kF32, 1};
const Type kFloat8{kF32, 8};

// Returns the printed text of one expression of variables.
std::string Printed(const ExprPtr& expr) {
  Kernel kernel;
  kernel.name = "k";
  kernel.body = MakeDeclare(expr->type, "value", expr);
  const std::string text = WriteKernel(kernel, opencl::OpenClDialect());
  const size_t begin = text.find("value = ") + 8;
  return text.substr(begin, text.find(";\n") - begin);
}

ExprPtr I(const char* name) { return Var(name, Type{kI32, 1}); }
ExprPtr F(const char* name) { return Var(name, kFloat1); }

Kernel MatMulKernel() {
  const ExprPtr k = I("k");
  const ExprPtr column = Mul(I("n"), Int(8));
  Kernel kernel;
  kernel.name = "matmul";
  kernel.comments = {"C[m, n] = +(A[m, k] * B[k, n]);", "4 x 16, k = 32"};
  kernel.parameters = {{"C", kF32, true}, {"A", kF32}, {"B", kF32}};
  kernel.global_size[0] = 4;
  kernel.global_size[1] = 2;
  const ExprPtr b = LoadFrom("B", kF32, Add(Mul(k, Int(16)), column), 8);
  const ExprPtr a = LoadFrom("A", kF32, Add(Mul(I("m"), Int(32)), k));
  kernel.body = MakeBlock(
      {MakeDeclare(Type{kI32, 1}, "m", Work(WorkId::kGlobal, 0)),
       MakeDeclare(Type{kI32, 1}, "n", Work(WorkId::kGlobal, 1)),
       MakeDeclare(kFloat8, "sum", Splat(Float(0), 8), true),
       MakeFor("k", Int(0), Int(32), MakeAssign("sum", MulAdd(a, b, Var("sum", kFloat8))), 1, true),
       MakeStore("C", kF32, Add(Mul(I("m"), Int(16)), column),
                 ApplyOp(ScalarOp::kRelu, {Var("sum", kFloat8)}))});
  return kernel;
}

// A kernel in a launch batch becomes a function of one work-item, a loop over work-items, and a
// kernel that calls the former.
TEST(WriteKernel, WritesTheFunctionsOfAKernelInASequence) {
  Kernel kernel;
  kernel.name = "twice";
  kernel.parameters = {{"to", kF32, true}, {"from", kF32}};
  kernel.sizes = {{"n", 3}, {"factor", std::bit_cast<int32_t>(2.5f), true}};
  kernel.in_launch_batch = true;
  const ExprPtr i = Work(WorkId::kGlobal, 0);
  kernel.body =
      MakeStore("to", kF32, i, Mul(LoadFrom("from", kF32, Add(i, I("n"))), Var("factor", kFloat1)));
  EXPECT_EQ(
      WriteKernel(kernel, opencl::OpenClDialect()),
      R"(static __attribute__((noinline)) void twice_item(__global float* restrict to, __global const float* restrict from, const int n, const int factor_bits, const long work_x, const long work_y, const long work_z) {
  const float factor = as_float((int)factor_bits);
  to[(int)work_x] = from[(int)work_x + n] * factor;
}
static __attribute__((noinline)) void twice_items(__global const ulong* arguments, long begin, long end, long width, long height) {
  long work_x = begin % width;
  long work_y = begin / width % height;
  long work_z = begin / width / height;
  for (; begin < end; ++begin) {
    twice_item((__global float* )arguments[0], (__global const float* )arguments[1], (int)arguments[2], (int)arguments[3], work_x, work_y, work_z);
    if (++work_x < width) continue;
    work_x = 0;
    if (++work_y < height) continue;
    work_y = 0;
    ++work_z;
  }
}
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void twice(__global float* restrict to, __global const float* restrict from, const int n, const int factor_bits) {
  twice_item(to, from, n, factor_bits, (long)get_global_id(0), (long)get_global_id(1), (long)get_global_id(2));
}
)");
}

// In a launch batch, the caller provides local memory, barriers synchronize a team, and pointers
// are not `restrict`.
TEST(WriteKernel, WritesTheFunctionsOfGroupsInASequence) {
  Kernel kernel;
  kernel.name = "swap";
  kernel.parameters = {{"to", kF32, true}, {"from", kF32}};
  kernel.local_size[0] = 8;
  kernel.local_size[1] = 4;
  kernel.in_launch_batch = true;
  const ExprPtr x = Work(WorkId::kLocal, 0);
  kernel.body = MakeBlock({MakeArray(kFloat1, "tile", 8, Space::kLocal),
                           MakeStore("tile", kF32, x, LoadFrom("from", kF32, x)), MakeBarrier(),
                           MakeStore("to", kF32, Work(WorkId::kGlobal, 1),
                                     LoadFrom("tile", kF32, Work(WorkId::kGroup, 0)))});
  EXPECT_EQ(WriteKernel(kernel, opencl::OpenClDialect({.has_fma = true, .is_cpu = false})),
            R"(enum { swap_team = 32, swap_local = 64, swap_align = 64, swap_early = 0 };
TT_GROUP_FUNCTION void swap_group(__global float* to, __global const float* from, __local uchar* work_pool, const int work_team, const int work_item, const int work_group_x, const int work_group_y, const int work_group_z) {
  __local float* const tile = (__local float*)(work_pool + 0);
  tile[(int)(work_item / 1 % 8)] = from[(int)(work_item / 1 % 8)];
  tt_team_barrier(32, work_team);
  to[(int)work_group_y * 4 + work_item / 8 % 4] = tile[(int)work_group_x];
}
TT_GROUP_FUNCTION void swap_groups(__local const ulong* arguments, __local uchar* work_pool, int work_phase, int work_team, int work_item, int group, int end, int step, int width, int height) {
  for (; group < end; group += step) {
    swap_group((__global float* )arguments[0], (__global const float* )arguments[1], work_pool, work_team, work_item, group < width ? group : group % width, group < width ? 0 : group / width % height, group < width ? 0 : group / width / height);
    tt_team_barrier(32, work_team);
  }
}
__kernel __attribute__((reqd_work_group_size(8, 4, 1))) void swap(__global float* to, __global const float* from) {
  __local uchar work_pool[64] __attribute__((aligned(64)));
  swap_group(to, from, work_pool, 0, (int)get_local_id(0) + 8 * (int)get_local_id(1), (int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2));
}
)");
}

// A phase argument allows the early part of a group to run before the rest.
TEST(WriteKernel, WritesThePhasesOfGroupsInASequence) {
  Kernel kernel;
  kernel.name = "take";
  kernel.parameters = {{"to", kF32, true}, {"from", kF32}};
  kernel.local_size[0] = 64;
  const ExprPtr x = Work(WorkId::kLocal, 0);
  const ExprPtr at = Mul(x, Int(4));
  kernel.body = MakeBlock({MakeArray(kFloat1, "tile", 256, Space::kLocal, "", 1024),
                           MakeEarly(MakeCopyVector(LoadFrom("tile", kF32, at, 4, true),
                                                    LoadFrom("from", kF32, at, 4, true))),
                           MakeEndCopies(), MakeAwaitCopies(0), MakeMmaBarrier(),
                           MakeStore("to", kF32, x, LoadFrom("tile", kF32, x))});
  const codegen::Dialect dialect = opencl::OpenClDialect({.has_fma = true, .is_cpu = false});
  EXPECT_EQ(
      WriteKernel(kernel, dialect),
      R"(__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void take(__global float* restrict to, __global const float* restrict from) {
  __local float tile[256] __attribute__((aligned(1024)));
  {
    tt_copy_vector(tile + (int)get_local_id(0) * 4, from + (int)get_local_id(0) * 4, 16);
  }
  tt_end_copies();
  tt_await_copies_0();
  tt_matrix_fence();
  barrier(CLK_LOCAL_MEM_FENCE);
  to[(int)get_local_id(0)] = tile[(int)get_local_id(0)];
}
)");
  kernel.in_launch_batch = true;
  EXPECT_EQ(WriteKernel(kernel, dialect),
            R"(enum { take_team = 64, take_local = 1024, take_align = 1024, take_early = 1 };
TT_GROUP_FUNCTION void take_group(__global float* to, __global const float* from, __local uchar* work_pool, const int work_phase, const int work_team, const int work_item, const int work_group_x, const int work_group_y, const int work_group_z) {
  __local float* const tile = (__local float*)(work_pool + 0);
  if (work_phase != 2) {
    tt_copy_vector(tile + (int)work_item * 4, from + (int)work_item * 4, 16);
  } if (work_phase == 1) return;
  tt_end_copies();
  tt_await_copies_0();
  tt_matrix_fence();
  tt_team_barrier(64, work_team);
  to[(int)work_item] = tile[(int)work_item];
}
TT_GROUP_FUNCTION void take_groups(__local const ulong* arguments, __local uchar* work_pool, int work_phase, int work_team, int work_item, int group, int end, int step, int width, int height) {
  for (; group < end; group += step) {
    take_group((__global float* )arguments[0], (__global const float* )arguments[1], work_pool, work_phase, work_team, work_item, group < width ? group : group % width, group < width ? 0 : group / width % height, group < width ? 0 : group / width / height);
    if (work_phase == 1) return;
    work_phase = 0;
    tt_team_barrier(64, work_team);
  }
}
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void take(__global float* to, __global const float* from) {
  __local uchar work_pool[1024] __attribute__((aligned(1024)));
  take_group(to, from, work_pool, 0, 0, (int)get_local_id(0), (int)get_group_id(0), (int)get_group_id(1), (int)get_group_id(2));
}
)");
}

TEST(WriteProgram, WritesAMatrixProduct) {
  const Kernel kernel = MatMulKernel();
  EXPECT_EQ(WriteProgram({&kernel, 1}, opencl::OpenClDialect()),
            R"(#pragma OPENCL FP_CONTRACT OFF
typedef struct __attribute__((packed)) {
  float8 vector;
} tt_packed_float8;
static inline float8 tt_load_float8(const __global float* from) {
  return ((const __global tt_packed_float8*)from)->vector;
}
static inline void tt_store_float8(float8 value, __global float* to) {
  ((__global tt_packed_float8*)to)->vector = value;
}
static inline float8 tt_relu_float8(float8 x) {
  return select(x, (float8)(0), x < 0);
}

// C[m, n] = +(A[m, k] * B[k, n]);
// 4 x 16, k = 32
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void matmul(__global float* restrict C, __global const float* restrict A, __global const float* restrict B) {
  const int m = (int)get_global_id(0);
  const int n = (int)get_global_id(1);
  float8 sum = (float8)(0.0f);
  #pragma unroll
  for (int k = 0; k < 32; ++k) {
    sum = fma((float8)(A[m * 32 + k]), tt_load_float8(B + (k * 16 + n * 8)), sum);
  }
  tt_store_float8(tt_relu_float8(sum), C + (m * 16 + n * 8));
}
)");
}

TEST(WriteProgram, UnrollsLoopsOfManyTurnsInParts) {
  for (const int64_t turns : {256, 257}) {
    Kernel kernel;
    kernel.name = "sum";
    kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
    const ExprPtr sum = Var("sum", kFloat1);
    kernel.body =
        MakeBlock({MakeDeclare(kFloat1, "sum", Float(0), true),
                   MakeFor("i", Int(0), Int(turns),
                           MakeAssign("sum", Add(sum, LoadFrom("x", kF32, I("i")))), 1, true),
                   MakeStore("y", kF32, Int(0), sum)});
    const std::string text = WriteProgram({&kernel, 1}, opencl::OpenClDialect());
    EXPECT_THAT(text, HasSubstr(turns == 256 ? "  #pragma unroll\n" : "  #pragma unroll 16\n"));
  }
}

TEST(WriteProgram, MovesVectorsByBuiltinFunctionsWhereWorkItemsAreLanes) {
  const Kernel kernel = MatMulKernel();
  const std::string text = WriteProgram({&kernel, 1}, opencl::OpenClDialect({.is_cpu = false}));
  EXPECT_THAT(text, HasSubstr("vload8(0, B + (k * 16 + n * 8))"));
  EXPECT_THAT(text, HasSubstr("  vstore8(tt_relu_float8(sum), 0, C + (m * 16 + n * 8));"));
  EXPECT_THAT(text, Not(HasSubstr("packed")));
}

TEST(WriteKernel, WritesBranchesArraysAndBarriers) {
  Kernel kernel;
  kernel.name = "shift";
  kernel.parameters = {{"y", DataType::kBool, true}, {"x", DataType::kFloat16}};
  kernel.local_size[0] = kernel.global_size[0] = 4;
  const ExprPtr i = I("i");
  const ExprPtr staged = LoadFrom("tile", kF32, Sub(Int(3), i));
  kernel.body = MakeBlock(
      {MakeArray(kFloat1, "tile", 4, Space::kLocal),
       MakeDeclare(Type{kI32, 1}, "i", Work(WorkId::kLocal, 0)),
       MakeStore("tile", kF32, i, LoadFrom("x", DataType::kFloat16, i)), MakeBarrier(),
       MakeComment("mirrored"),
       MakeIf(Less(i, Int(2)), MakeStore("y", DataType::kBool, i, Less(staged, Float(1.5))),
              MakeIf(Equals(i, Int(2)), MakeStore("y", DataType::kBool, i, Bool(true)),
                     MakeStore("y", DataType::kBool, i, Bool(false))))});
  EXPECT_EQ(
      WriteKernel(kernel, opencl::OpenClDialect()),
      R"(__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void shift(__global uchar* restrict y, __global const half* restrict x) {
  __local float tile[4] __attribute__((aligned(64)));
  const int i = (int)get_local_id(0);
  tile[i] = vload_half(i, x);
  barrier(CLK_LOCAL_MEM_FENCE);
  // mirrored
  if (i < 2) {
    y[i] = tile[3 - i] < 1.5f;
  } else if (i == 2) {
    y[i] = 1;
  } else {
    y[i] = 0;
  }
}
)");
}

TEST(WriteKernel, RestrictsNoOutputThatItemsHandOnThroughMemory) {
  Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{"out", kF32, true}, {"in", kF32}};
  const StmtPtr store = MakeStore("out", kF32, Int(0), LoadFrom("in", kF32, Int(0)));
  kernel.body = MakeBlock({store, MakeBarrier()});
  EXPECT_THAT(WriteKernel(kernel, opencl::OpenClDialect()), HasSubstr("float* restrict out"));
  kernel.body = MakeBlock({store, MakeBarrier(true)});
  const std::string text = WriteKernel(kernel, opencl::OpenClDialect());
  EXPECT_THAT(text, HasSubstr("__global float* out"));
  EXPECT_THAT(text, HasSubstr("float* restrict in"));
}

TEST(WriteKernel, PutsParenthesesOnlyWhereTheyAreNeeded) {
  EXPECT_EQ(Printed(Add(Mul(I("a"), I("b")), I("c"))), "a * b + c");
  EXPECT_EQ(Printed(Mul(Add(I("a"), I("b")), I("c"))), "(a + b) * c");
  EXPECT_EQ(Printed(Sub(I("a"), Sub(I("b"), I("c")))), "a - (b - c)");
  EXPECT_EQ(Printed(Sub(Sub(I("a"), I("b")), I("c"))), "a - b - c");
  EXPECT_EQ(Printed(Div(Mul(I("a"), I("b")), Int(3))), "a * b / 3");
  EXPECT_EQ(Printed(Mul(I("a"), Div(I("b"), Int(3)))), "a * (b / 3)");
  EXPECT_EQ(Printed(Select(And(Less(I("a"), I("b")), Less(I("b"), I("c"))), F("x"),
                           Select(Less(I("a"), I("c")), F("y"), F("z")))),
            "a < b && b < c ? x : a < c ? y : z");
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kNeg, {ApplyOp(ScalarOp::kNeg, {F("x")})})), "-(-x)");
  EXPECT_EQ(Printed(Sub(F("x"), Float(-1))), "x - -1.0f");
}

TEST(WriteKernel, WritesLiteralsThatReadBackExactly) {
  EXPECT_EQ(Printed(Float(0.1f)), "0.1f");
  EXPECT_EQ(Printed(Float(16777216)), "16777216.0f");
  EXPECT_EQ(Printed(Float(1e-45)), "1e-45f");
  EXPECT_EQ(Printed(Float(1.0 / 3, DataType::kFloat64)), "0.3333333333333333");
  EXPECT_EQ(Printed(Float(-INFINITY)), "-INFINITY");
  EXPECT_EQ(Printed(Float(NAN, DataType::kFloat64)), "(double)(NAN)");
  EXPECT_EQ(Printed(Float(-0.0)), "-0.0f");
  EXPECT_EQ(Printed(Int(INT32_MIN)), "(-2147483647 - 1)");
  EXPECT_EQ(Printed(Int(INT64_MIN, DataType::kInt64)), "(-9223372036854775807L - 1)");
  EXPECT_EQ(Printed(Int(-1, DataType::kUInt64)), "18446744073709551615UL");
  EXPECT_EQ(Printed(Splat(Int(3, DataType::kUInt32), 4)), "(uint4)(3u)");
}

TEST(WriteKernel, UsesOperatorsForHarmlessDivisors) {
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kDiv, {I("a"), I("b")})), "tt_div_int(a, b)");
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kDiv, {I("a"), Int(-1)})), "tt_div_int(a, -1)");
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kDiv, {I("a"), Int(7)})), "a / 7");
  EXPECT_EQ(Printed(Mod(I("a"), Int(7))), "a % 7");
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kMod, {I("a"), Int(7)})), "tt_mod_int(a, 7)");
}

TEST(WriteKernel, ReadsSumsWithNegativeLiteralsAsDifferences) {
  EXPECT_EQ(Printed(Add(Mul(I("a"), Int(2)), Int(-3))), "a * 2 - 3");
  EXPECT_EQ(Printed(Add(Sub(I("a"), Int(2)), Int(-3))), "a - 5");
}

TEST(WriteKernel, WrapsSignedArithmeticOnDataOnly) {
  const ExprPtr data = LoadFrom("n", kI32, I("i"));
  EXPECT_EQ(Printed(Add(data, Int(1))), "(int)((uint)n[i] + (uint)1)");
  EXPECT_EQ(Printed(Add(I("i"), Int(1))), "i + 1");
  EXPECT_EQ(Printed(ApplyOp(ScalarOp::kNeg, {data})), "(int)-(uint)n[i]");
  EXPECT_EQ(Printed(Mul(LoadFrom("n", kI32, I("i"), 4), Int(3))),
            "as_int4(as_uint4(tt_load_int4(n + i)) * as_uint4((int4)(3)))");
}

TEST(WriteKernel, ConvertsVectorMasksToTheWidthOfTheValues) {
  const ExprPtr less = Less(Var("a", Type{kI32, 4}), Var("b", Type{kI32, 4}));
  const ExprPtr x = Var("x", Type{DataType::kFloat64, 4});
  EXPECT_EQ(Printed(Select(less, x, Splat(Float(0, DataType::kFloat64), 4))),
            "select((double4)(0.0), x, convert_long4(a < b))");
  EXPECT_EQ(Printed(Select(less, Var("c", Type{kI32, 4}), Var("d", Type{kI32, 4}))),
            "select(d, c, a < b)");
  EXPECT_EQ(Printed(Cast(less, kF32)), "select((float4)(0.0f), (float4)(1.0f), a < b)");
}

TEST(WriteKernel, JoinsVectorMasksAtTheWidthOfTheValues) {
  const ExprPtr narrow =
      Less(Var("a", Type{DataType::kInt8, 4}), Var("b", Type{DataType::kInt8, 4}));
  const DataType kF64 = DataType::kFloat64;
  const ExprPtr wide = Less(Var("p", Type{kF64, 4}), Var("q", Type{kF64, 4}));
  const ExprPtr x = Var("x", Type{kF32, 4});
  const ExprPtr y = Var("y", Type{kF32, 4});
  EXPECT_EQ(Printed(Select(And(narrow, wide), x, y)),
            "select(y, x, convert_int4(a < b) & convert_int4(p < q))");
  // Conditions of the same width are combined before they are converted.
  EXPECT_EQ(Printed(Select(Not(And(wide, wide)), x, y)),
            "select(y, x, convert_int4(!((p < q) & (p < q))))");
  // A condition selects between two conditions.
  EXPECT_EQ(Printed(Select(Select(narrow, wide, Less(x, y)), x, y)),
            "select(y, x, select(x < y, convert_int4(p < q), convert_int4(a < b)))");
  EXPECT_EQ(Printed(Cast(And(narrow, wide), DataType::kInt8)),
            "select((char4)(0), (char4)(1), (a < b) & convert_char4(p < q))");
}

TEST(WriteProgram, AsksForDoubleOnlyWhereItIsUsed) {
  Kernel kernel;
  kernel.name = "k";
  kernel.comments = {"double in a comment"};
  kernel.body = MakeDeclare(kFloat1, "x", Float(1));
  EXPECT_THAT(WriteProgram({&kernel, 1}, opencl::OpenClDialect()), Not(HasSubstr("cl_khr_fp64")));
  kernel.body = MakeDeclare(Type{DataType::kFloat64, 1}, "x", Float(1, DataType::kFloat64));
  EXPECT_THAT(WriteProgram({&kernel, 1}, opencl::OpenClDialect()), HasSubstr("cl_khr_fp64"));
}

TEST(WriteProgram, DefinesWhatAHelperNeedsBeforeIt) {
  Kernel kernel;
  kernel.name = "k";
  kernel.body = MakeDeclare(Type{kI32, 1}, "x", ApplyOp(ScalarOp::kMod, {I("a"), I("b")}));
  const std::string text = WriteProgram({&kernel, 1}, opencl::OpenClDialect());
  EXPECT_LT(text.find("int tt_rem_int(int a"), text.find("int tt_mod_int(int a"));
  EXPECT_EQ(text.find("tt_pow"), std::string::npos);
}

}  // namespace
}  // namespace tartan::codegen
