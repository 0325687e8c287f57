// SPDX-License-Identifier: Apache-2.0
// Tests gathers and scatters with indices far out of range. Indices must not be truncated to the
// width in which kernels compute offsets.
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

constexpr int64_t kFar = int64_t{1} << 62;

HostTensor Counting(const TensorShape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.element_count(); ++i) values.push_back(static_cast<float>(i + 1));
  return HostTensor::FromVector(shape, values);
}

// Compares kernels planned for CPUs and for GPUs with the naive evaluator.
void ExpectNaive(const std::string& name, const std::string& code,
                 const std::vector<HostTensor>& inputs) {
  ASSERT_NE(TestDevice(), nullptr) << "no OpenCL device";
  TestProgram program{name, code, {}};
  for (const HostTensor& input : inputs) program.inputs.push_back(input.shape());
  const ir::Program bound = BindTestProgram(program);
  const auto expected = ir::EvaluateNaively(bound, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const int64_t threads : {int64_t{1}, int64_t{64}}) {
    compiler::CompileOptions options;
    options.settings = TestSettings();
    options.settings.threads = threads;
    const auto list = compiler::Compile(bound, options);
    ASSERT_TRUE(list.ok()) << list.status();
    const auto built =
        CompiledProgram::Build(*list, TestDevice(), opencl::DialectOf(TestSettings()));
    ASSERT_TRUE(built.ok()) << built.status();
    const auto loaded = LoadedProgram::Load(*built, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const auto actual = (*loaded)->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 0), "")
        << name << " with " << threads << " threads";
  }
}

template <class T>
HostTensor Indices(DataType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  return HostTensor::FromVector({type, std::move(dims)}, values);
}

TEST(FarIndices, AreLeftOutByScatters) {
  // The low 32 bits of each value are a valid index.
  const std::vector<int64_t> far = {kFar,
                                    -kFar,
                                    (int64_t{1} << 32) + 3,
                                    2,
                                    -(int64_t{1} << 32) - 3,
                                    2 - kFar,
                                    -1,
                                    std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max(),
                                    5,
                                    -6};
  const auto count = static_cast<int64_t>(far.size());
  const HostTensor data = Counting({DataType::kFloat32, {5}});
  const HostTensor updates = Counting({DataType::kFloat32, {count}});
  const HostTensor indices = Indices(DataType::kInt64, {count}, far);
  ExpectNaive("scatter", "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
              {updates, indices, data});
  const HostTensor wide = Counting({DataType::kFloat32, {20, 3}});
  const HostTensor rows = Indices(DataType::kInt64, {count, 1}, far);
  const HostTensor row_updates = Counting({DataType::kFloat32, {count, 3}});
  for (int mode = 0; mode <= 4; ++mode) {
    ExpectNaive(
        absl::StrCat("scatter_elements ", mode),
        absl::StrCat("function (X, I, U) -> (O) { O = scatter_elements(X, I, U, 0, ", mode, "); }"),
        {Counting({DataType::kFloat32, {11}}), indices, updates});
    ExpectNaive(absl::StrCat("scatter_nd ", mode),
                absl::StrCat("function (X, I, U) -> (O) { O = scatter_nd(X, I, U, ", mode, "); }"),
                {wide, rows, row_updates});
  }
}

TEST(FarIndices, AreLeftOutByScattersOfUnsignedNumbers) {
  const std::vector<uint32_t> far = {0xFFFFFFFFu, 0x80000000u, 1, 0xFFFFFFFEu};
  ExpectNaive("uint32", "function (X, I, U) -> (O) { O = scatter_elements(X, I, U, 0, 0); }",
              {Counting({DataType::kFloat32, {7}}), Indices(DataType::kUInt32, {4}, far),
               Counting({DataType::kFloat32, {4}})});
}

TEST(FarIndices, AreLeftOutByScattersOfLines) {
  std::vector<int64_t> far;
  for (int64_t i = 0; i < 3 * 40; ++i) {
    far.push_back(i % 3 == 0 ? kFar + i % 40 : i % 3 == 1 ? i % 40 : -kFar + i % 40);
  }
  ExpectNaive("lines", "function (X, I, U) -> (O) { O = scatter_elements(X, I, U, 1, 1); }",
              {Counting({DataType::kFloat32, {3, 40}}), Indices(DataType::kInt64, {3, 40}, far),
               Counting({DataType::kFloat32, {3, 40}})});
}

TEST(FarIndices, AreClampedByGathers) {
  const std::vector<int64_t> far = {kFar, -kFar, (int64_t{1} << 32) + 1, 2, -7, -8, 7, 6};
  const HostTensor data = Counting({DataType::kFloat32, {7}});
  const HostTensor indices = Indices(DataType::kInt64, {8}, far);
  ExpectNaive("gather", "function (X, I) -> (O) { O = gather(X, I); }", {data, indices});
  ExpectNaive("gather_elements", "function (X, I) -> (O) { O = gather_elements(X, I, 0); }",
              {data, indices});
  ExpectNaive("gather_nd", "function (X, I) -> (O) { O = gather_nd(X, I); }",
              {data, Indices(DataType::kInt64, {8, 1}, far)});
}

TEST(FarIndices, OfNarrowTypesReachElementsBeyondTheirRange) {
  const std::vector<int8_t> narrow = {-1, -128, 127, 0};
  ExpectNaive("gather", "function (X, I) -> (O) { O = gather(X, I); }",
              {Counting({DataType::kFloat32, {200}}), Indices(DataType::kInt8, {4}, narrow)});
  ExpectNaive("scatter_elements",
              "function (X, I, U) -> (O) { O = scatter_elements(X, I, U, 0, 0); }",
              {Counting({DataType::kFloat32, {200}}), Indices(DataType::kInt8, {4}, narrow),
               Counting({DataType::kFloat32, {4}})});
}

}  // namespace
}  // namespace tartan::evaluator
