// SPDX-License-Identifier: Apache-2.0
// Tests the path from Tile text through the compiler to the OpenCL device, against the naive
// evaluator.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/expect_naive.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

class EvaluatorTest : public testing::TestWithParam<TestProgram> {};

TEST_P(EvaluatorTest, EqualsTheNaiveEvaluatorOnTheDevice) {
  const DataType type = GetParam().inputs[0].type;
  const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  ExpectNaiveResults(GetParam(), 7, half ? 1e-2 : 2e-5, /*runs=*/2);
}

INSTANTIATE_TEST_SUITE_P(All, EvaluatorTest, testing::ValuesIn(TestPrograms()),
                         [](const auto& info) { return info.param.name; });

const TestProgram& Find(const std::string& name) {
  for (const TestProgram& program : TestPrograms()) {
    if (program.name == name) return program;
  }
  return TestPrograms().front();
}

TEST(ProgramCache, CompilesEqualProgramsOnce) {
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  proto::Program program = ToProto(Find("MatMul"));
  const auto first = cache.Get(program);
  program.set_name("another name");
  const auto second = cache.Get(program);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  program.mutable_inputs(0)->set_is_constant(true);
  EXPECT_NE(*first, *cache.Get(program));
  EXPECT_EQ(cache.statistics().hits, 1);
  EXPECT_EQ(cache.statistics().misses, 2);
}

TEST(ProgramCache, KeepsProgramsApartThatMayUseDifferentAlgorithms) {
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  const proto::Program program = ToProto(Find("Relu"));
  const auto usual = cache.Get(program);
  compiler::CompileOptions options;
  options.winograd = plan::Winograd::kNever;
  const auto direct = cache.Get(program, options);
  ASSERT_TRUE(usual.ok() && direct.ok());
  EXPECT_NE(*usual, *direct);
  EXPECT_EQ(*cache.Get(program), *usual);
}

// Opens a device with an empty cache folder and no measurements, as a first run does.
class UnmeasuredDevice {
 public:
  UnmeasuredDevice() {
    opencl::OpenClOptions options;
    options.cache_directory = directory_.path();
    options.calibrations = opencl::Calibrations::kOnce;
    const auto driver = opencl::MakeOpenClDriver(options);
    const auto devices = driver->ListDevices();
    if (devices.ok() && !devices->empty()) device_ = driver->Open(devices->front()).value();
  }
  const hal::DevicePtr& device() const { return device_; }

 private:
  const TemporaryDirectory directory_;
  hal::DevicePtr device_;
};

TEST(ProgramCache, MeasuresADeviceBeforeItCompilesForExactSizes) {
  const UnmeasuredDevice unmeasured;
  const hal::DevicePtr device = unmeasured.device();
  ProgramCache cache(device, opencl::DialectOf);
  ASSERT_TRUE(cache.Get(ToProto(Find("Relu"))).ok());
  EXPECT_TRUE(device->Knows(hal::Knowledge::kMeasured));
  EXPECT_GT(device->Settings(hal::Knowledge::kMeasured)->gflops, 0);
}

TEST(ProgramCache, MeasuresNothingForProgramsThatAreToBeReadySoon) {
  const UnmeasuredDevice unmeasured;
  const hal::DevicePtr device = unmeasured.device();
  ProgramCache cache(device, opencl::DialectOf);
  compiler::CompileOptions ready;
  ready.tier = compiler::Tier::kReady;
  const auto before = cache.Get(ToProto(Find("Relu")), ready);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_FALSE(device->Knows(hal::Knowledge::kMeasured));
  // A later measurement must not change the programs of the ready (dynamic-shape) tier.
  const auto exact = cache.Get(ToProto(Find("Relu")));
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_TRUE(device->Knows(hal::Knowledge::kMeasured));
  EXPECT_NE(*exact, *before);
  EXPECT_EQ(*cache.Get(ToProto(Find("Relu")), ready), *before);
  EXPECT_EQ(*cache.Get(ToProto(Find("Relu"))), *exact);
}

TEST_P(EvaluatorTest, EqualsTheNaiveEvaluatorOnTheDeviceWhereSizesAreArguments) {
  const DataType type = GetParam().inputs[0].type;
  const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  compiler::CompileOptions ready;
  ready.tier = compiler::Tier::kReady;
  const auto compiled = TestProgramCache().Get(ToProto(GetParam()), ready);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ExpectNaiveResults(*compiled, GetParam(), RandomInputs(GetParam(), 9), half ? 1e-2 : 2e-5);
}

TEST(KernelLibrary, BuildsNothingForAShapeWhoseKernelsAreKnown) {
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  compiler::CompileOptions ready;
  ready.tier = compiler::Tier::kReady;
  const auto product = [](int64_t m) {
    return TestProgram{
        "Product",
        "function (A[M, K], B[K, N]) -> (C) { C[m, n : M, N] = +(A[m, k] * B[k, n]); }",
        {{DataType::kFloat32, {m, 40}}, {DataType::kFloat32, {40, 48}}}};
  };
  for (int64_t m : {12, 31, 77}) {
    const TestProgram program = product(m);
    const auto compiled = cache.Get(ToProto(program), ready);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ((*compiled)->executables().empty(), m != 12);
    ExpectNaiveResults(*compiled, program, RandomInputs(program, 2), 2e-5);
  }
}

TEST(ProgramCache, ForgetsTheLeastRecentlyUsed) {
  ProgramCache cache(TestDevice(), opencl::DialectOf, 1);
  ASSERT_TRUE(cache.Get(ToProto(Find("Relu"))).ok());
  ASSERT_TRUE(cache.Get(ToProto(Find("SumOverAxis"))).ok());
  ASSERT_TRUE(cache.Get(ToProto(Find("Relu"))).ok());
  EXPECT_EQ(cache.statistics().hits, 0);
  EXPECT_EQ(cache.statistics().misses, 3);
}

TEST(ProgramCache, ReportsWhatIsWrongWithAProgramEachTime) {
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  TestProgram wrong = {
      "Wrong", "function (A) -> (O) { O = A + Missing; }", {{DataType::kFloat32, {3}}}};
  for (int i = 0; i < 2; ++i) {
    const auto result = cache.Get(ToProto(wrong));
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find("Missing"), absl::string_view::npos);
  }
}

TEST(LoadedProgram, RunsInManyThreadsAtOnce) {
  const TestProgram& program = Find("Softmax");
  const auto compiled = TestProgramCache().Get(ToProto(program));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto loaded = LoadedProgram::Load(*compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::vector<HostTensor> inputs = RandomInputs(program, 100 * t + i);
        const auto expected = ir::EvaluateNaively(BindTestProgram(program), inputs);
        const auto actual = (*loaded)->Run(inputs);
        if (!actual.ok() || !FirstDifference((*actual)[0], (*expected)[0], 2e-5).empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(LoadedProgram, GivesBackTheMemoryOfManyThreadsWhenFewerRun) {
  const TestProgram program = {
      "Large",
      "function (A[M, K], B[K, N]) -> (C) { C[m, n : M, N] = +(A[m, k] * "
      "B[k, n]); }",
      {{DataType::kFloat32, {128, 128}}, {DataType::kFloat32, {128, 128}}}};
  const auto compiled = TestProgramCache().Get(ToProto(program));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto loaded = LoadedProgram::Load(*compiled, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::vector<HostTensor> inputs = RandomInputs(program, 1);
  const auto allocated = [] { return TestDevice()->statistics().allocated_bytes; };
  const auto run_in_threads = [&](int count) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) EXPECT_TRUE((*loaded)->Run(inputs).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  run_in_threads(1);
  const int64_t one = allocated();
  for (int i = 0; i < 100 && allocated() == one; ++i) run_in_threads(8);
  ASSERT_GT(allocated(), one) << "no two threads ran at once";
  for (int i = 0; i < 20; ++i) run_in_threads(1);
  EXPECT_EQ(allocated(), one);
  (*loaded)->ReleaseFreeFrames();
  EXPECT_LT(allocated(), one);
  run_in_threads(1);
  EXPECT_EQ(allocated(), one);
}

TEST(LoadedProgram, RefusesInputsOfOtherShapes) {
  const TestProgram& program = Find("Relu");
  const auto loaded = LoadedProgram::Load(*TestProgramCache().Get(ToProto(program)), {});
  ASSERT_TRUE(loaded.ok());
  TestProgram other = program;
  other.inputs[0].dims = {3};
  EXPECT_EQ((*loaded)->Run(RandomInputs(other, 1)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*loaded)->Run({}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LoadedProgram, TimesEveryKernel) {
  const TestProgram& program = Find("ResidualBlock");
  const auto loaded = LoadedProgram::Load(*TestProgramCache().Get(ToProto(program)), {});
  ASSERT_TRUE(loaded.ok());
  std::vector<KernelTime> profile;
  ASSERT_TRUE((*loaded)->Run(RandomInputs(program, 3), &profile).ok());
  ASSERT_EQ(profile.size(), 2u);
  for (const KernelTime& time : profile) {
    EXPECT_GT(time.ms, 0) << time.kernel;
    EXPECT_GT(time.flops, 0) << time.kernel;
  }
}

}  // namespace
}  // namespace tartan::evaluator
