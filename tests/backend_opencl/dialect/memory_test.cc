// SPDX-License-Identifier: Apache-2.0
// Memory accesses of the OpenCL dialect compared with the interpreter: atomic updates of every
// type, arrays in every memory space, vectors, and random kernels.
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "opencl_runner.h"
#include "random_kernel.h"
#include "special_values.h"
#include "tile/base/host_tensor.h"
#include "tile/loop/build.h"
#include "tile/loop/interpret.h"
#include "tile/loop/simplify.h"

namespace tartan::opencl {
namespace {

using namespace loop;  // NOLINT: builders

constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kF16 = DataType::kFloat16;
constexpr DataType kI32 = DataType::kInt32;
const Type kInt{kI32, 1};
const Type kFloat{kF32, 1};

// Returns small integers, which are exact in every type.
std::vector<uint8_t> SmallNumbers(DataType type, int count) {
  std::vector<uint8_t> bytes(count * ByteWidth(type));
  for (int64_t i = 0; i < count; ++i) {
    StoreElement(type, type == DataType::kBool ? i % 3 / 2 : 1 + i % 2, i, bytes.data());
  }
  return bytes;
}

void ExpectSame(absl::Span<const Kernel> kernels,
                std::vector<std::vector<std::vector<uint8_t>>> buffers) {
  OpenClRunner runner(kernels);
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto actual = buffers[k];
    ASSERT_EQ(Interpret(kernels[k], absl::MakeSpan(buffers[k])).message(), "");
    ASSERT_EQ(runner.Run(kernels[k], absl::MakeSpan(actual)).message(), "");
    for (size_t i = 0; i < actual.size(); ++i) {
      const DataType type = kernels[k].parameters[i].stored;
      for (size_t j = 0; j < actual[i].size() / ByteWidth(type); ++j) {
        ASSERT_EQ(Difference(type, buffers[k][i], actual[i], static_cast<int64_t>(j), 0), "")
            << kernels[k].parameters[i].name << "[" << j << "]\n"
            << ToString(kernels[k]);
      }
    }
  }
}

TEST(OpenClAtomicUpdate, WorksForEveryStoredType) {
  constexpr ScalarOp kOps[] = {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMin, ScalarOp::kMax};
  constexpr int kCells = 5;
  std::vector<Kernel> kernels;
  std::vector<std::vector<std::vector<uint8_t>>> buffers;
  for (int t = 1; t <= static_cast<int>(DataType::kFloat64); ++t) {
    const auto type = static_cast<DataType>(t);
    Kernel kernel;
    kernel.name = absl::StrCat("atomic_", Name(type));
    kernel.parameters = {{"cells", type, true}, {"x", type}};
    kernel.global_size[0] = 16;
    kernel.local_size[0] = 4;
    const ExprPtr item = Var("item", kInt);
    std::vector<StmtPtr> body = {MakeDeclare(kInt, "item", Work(WorkId::kGlobal, 0))};
    for (int i = 0; i < 4; ++i) {
      const ExprPtr cell = Add(Mod(item, Int(kCells)), Int(i * kCells));
      body.push_back(MakeAtomicUpdate("cells", type, kOps[i], cell, LoadFrom("x", type, item)));
    }
    kernel.body = MakeBlock(std::move(body));
    kernels.push_back(kernel);
    buffers.push_back({SmallNumbers(type, 4 * kCells), SmallNumbers(type, 16)});
  }
  ExpectSame(kernels, buffers);
}

TEST(OpenClPrefetch, ChangesNothingInsideABufferAndOutside) {
  Kernel kernel;
  kernel.name = "fetch";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  kernel.body =
      MakeBlock({MakePrefetch("x", kF32, Int(1)), MakePrefetch("x", kF32, Int(100000), true),
                 MakeStore("y", kF32, Int(0), LoadFrom("x", kF32, Int(1)))});
  ExpectSame({kernel}, {{SmallNumbers(kF32, 1), SmallNumbers(kF32, 2)}});
}

TEST(OpenClAtomicUpdate, WorksInLocalMemory) {
  Kernel kernel;
  kernel.name = "histogram";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  kernel.global_size[0] = kernel.local_size[0] = 8;
  const ExprPtr item = Work(WorkId::kLocal, 0);
  kernel.body =
      MakeBlock({MakeArray(kFloat, "cells", 8, Space::kLocal),
                 MakeStore("cells", kF32, item, Float(0)), MakeBarrier(),
                 MakeAtomicUpdate("cells", kF32, ScalarOp::kAdd, Mod(item, Int(3)),
                                  LoadFrom("x", kF32, item)),
                 MakeBarrier(), MakeStore("y", kF32, item, LoadFrom("cells", kF32, item))});
  ExpectSame({&kernel, 1}, {{SmallNumbers(kF32, 8), SmallNumbers(kF32, 8)}});
}

TEST(OpenClArrays, HoldEveryStoredTypeInEverySpace) {
  std::vector<Kernel> kernels;
  std::vector<std::vector<std::vector<uint8_t>>> buffers;
  for (Space space : {Space::kPrivate, Space::kLocal}) {
    for (DataType type : {DataType::kBool, DataType::kInt8, kF16, DataType::kBFloat16, kF32}) {
      Kernel kernel;
      kernel.name = absl::StrCat("arrays_", kernels.size());
      kernel.parameters = {{"y", type, true}, {"x", type}};
      kernel.global_size[0] = 8;
      kernel.local_size[0] = space == Space::kLocal ? 4 : 1;
      const ExprPtr item = Work(WorkId::kGlobal, 0);
      const ExprPtr cell = space == Space::kLocal ? Work(WorkId::kLocal, 0) : Int(2);
      kernel.body =
          MakeBlock({MakeArray(Type{type, 1}, "cells", 4, space),
                     MakeStore("cells", type, cell, LoadFrom("x", type, item)), MakeBarrier(),
                     MakeStore("y", type, item, LoadFrom("cells", type, cell))});
      std::vector<uint8_t> input = SpecialBuffer(type);
      input.resize(8 * ByteWidth(type), 0);
      kernels.push_back(kernel);
      buffers.push_back({std::vector<uint8_t>(input.size()), input});
    }
  }
  ExpectSame(kernels, buffers);
}

// Vectors of 16-bit floats in global and local memory, and an array of vectors.
TEST(OpenClArrays, MoveVectors) {
  std::vector<Kernel> kernels;
  std::vector<std::vector<std::vector<uint8_t>>> buffers;
  for (DataType type : {kF16, DataType::kBFloat16, kF32, DataType::kInt8}) {
    Kernel kernel;
    kernel.name = absl::StrCat("vectors_", Name(type));
    kernel.parameters = {{"y", type, true}, {"x", type}};
    const DataType computed = ComputeType(type);
    const Type vector{computed, 4};
    const ExprPtr i = Var("i", kInt);
    const ExprPtr shifted = LoadFrom("x", type, Add(i, Int(1)), 4);
    kernel.body = MakeBlock(
        {MakeArray(Type{type, 1}, "staged", 8), MakeArray(vector, "sums", 2),
         MakeFor("i", Int(0), Int(2),
                 MakeBlock({MakeStore("staged", type, Mul(i, Int(4)), shifted),
                            MakeStore("sums", computed, i,
                                      Add(LoadFrom("staged", type, Mul(i, Int(4)), 4), shifted))})),
         MakeStore("y", type, Int(0), LoadFrom("sums", computed, Int(0), 4)),
         MakeStore("y", type, Int(5), LoadFrom("sums", computed, Int(1), 4))});
    kernels.push_back(kernel);
    buffers.push_back({SmallNumbers(type, 10), SmallNumbers(type, 10)});
  }
  ExpectSame(kernels, buffers);
}

TEST(OpenClStores, StreamAlignedVectors) {
  std::vector<Kernel> kernels;
  std::vector<std::vector<std::vector<uint8_t>>> buffers;
  for (DataType type : {kF16, kF32, DataType::kFloat64, DataType::kInt8}) {
    Kernel kernel;
    kernel.name = absl::StrCat("streamed_", Name(type));
    kernel.parameters = {{"y", type, true}, {"x", type}};
    const ExprPtr i = Var("i", kInt);
    kernel.body = MakeFor("i", Int(0), Int(16),
                          MakeStore("y", type, i, LoadFrom("x", type, Add(i, Int(1)), 8),
                                    /*is_aligned=*/true, /*is_streamed=*/true),
                          8);
    kernels.push_back(kernel);
    buffers.push_back({SmallNumbers(type, 17), SmallNumbers(type, 17)});
  }
  ExpectSame(kernels, buffers);
}

TEST(OpenClVectors, AreShuffled) {
  Kernel kernel;
  kernel.name = "shuffled_vectors";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  const ExprPtr a = Var("a", Type{kF32, 4});
  const ExprPtr b = Var("b", Type{kF32, 4});
  kernel.body = MakeBlock({MakeDeclare(a->type, "a", LoadFrom("x", kF32, Int(1), 4)),
                           MakeDeclare(b->type, "b", LoadFrom("x", kF32, Int(4), 4)),
                           MakeStore("y", kF32, Int(0), MakeShuffle(a, b, {6, 0, 3, 6})),
                           MakeStore("y", kF32, Int(4), MakeShuffle(b, Add(a, b), {7, 4, 1, 2}))});
  std::vector<uint8_t> x(8 * sizeof(float));
  for (int i = 0; i < 8; ++i) StoreElement(kF32, static_cast<double>(i * i), i, x.data());
  ExpectSame({&kernel, 1}, {{SmallNumbers(kF32, 8), x}});
}

// A vector condition may select between values of another width than the compared values.
TEST(OpenClSelect, WidensMasks) {
  Kernel kernel;
  kernel.name = "widen";
  kernel.parameters = {{"y", DataType::kFloat64, true}, {"x", DataType::kInt8}};
  const ExprPtr x = LoadFrom("x", DataType::kInt8, Int(0), 4);
  const ExprPtr is_one = Equals(x, Int(1));
  kernel.body =
      MakeStore("y", DataType::kFloat64, Int(0),
                Select(Not(is_one), Cast(x, DataType::kFloat64), Float(-1, DataType::kFloat64)));
  ExpectSame({&kernel, 1},
             {{SmallNumbers(DataType::kFloat64, 4), SmallNumbers(DataType::kInt8, 4)}});
}

TEST(OpenClKernels, GiveTheNumbersOfTheInterpreter) {
  constexpr int kCount = 24;
  const uint64_t first_seed = std::random_device()();
  SCOPED_TRACE(absl::StrCat("seeds from ", first_seed));
  std::vector<Kernel> kernels;
  std::vector<std::vector<std::vector<uint8_t>>> buffers;
  for (int i = 0; i < kCount; ++i) {
    Kernel kernel = MakeRandomKernel(first_seed + i, Literals::kSmall);
    if (i % 2 == 1) kernel = Simplify(kernel);
    kernel.name = absl::StrCat("random_", i);
    kernels.push_back(std::move(kernel));
    buffers.push_back(MakeRandomKernelBuffers());
  }
  ExpectSame(kernels, buffers);
}

}  // namespace
}  // namespace tartan::opencl
