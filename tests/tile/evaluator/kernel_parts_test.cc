// SPDX-License-Identifier: Apache-2.0
// Tests programs whose kernels are built in several parts by parallel compiler processes.
#include "tile/evaluator/kernel_parts.h"

#include <gtest/gtest.h>

#include <set>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/expect_naive.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator {
namespace {

// A program of twelve kernels that cannot be fused.
TestProgram ManyKernels() {
  std::string code = "function (A[M, N]) -> (";
  std::string body;
  for (int i = 0; i < 12; ++i) {
    code += std::string(i == 0 ? "" : ", ") + "S" + std::to_string(i);
    body += " S" + std::to_string(i) + "[m, 0 : M - " + std::to_string(i) + ", 1] = +(A[m, n]);";
  }
  return {"ManyKernels", code + ") {" + body + " }", {{DataType::kFloat32, {40, 20}}}};
}

// Fake compiler processes that record the requested work.
struct Notes {
  std::vector<ProgramSource> started;
  int waited = 0;

  CompilerProcesses Processes(int count) {
    CompilerProcesses processes;
    processes.count = count;
    processes.is_compiled = [](const hal::ExecutableSource&) { return false; };
    processes.start = [this](const ProgramSource& part) {
      started.push_back(part);
      return [this] { ++waited; };
    };
    return processes;
  }
};

// Disables launch batches, whose kernels are built together.
compiler::CompileOptions Apart() {
  compiler::CompileOptions options;
  options.disabled_passes = {"launch-batches"};
  return options;
}

void Check(ProgramCache& cache, const compiler::CompileOptions& options = Apart()) {
  const TestProgram program = ManyKernels();
  const auto compiled = cache.Get(ToProto(program), options);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ExpectNaiveResults(*compiled, program, RandomInputs(program, 3), 2e-5);
}

TEST(KernelParts, ComputeTheSameWhateverOtherProcessesDo) {
  for (int count : {1, 2, 3, 8}) {
    Notes notes;
    ProgramCache cache(TestDevice(), opencl::DialectOf);
    cache.SetProcesses(notes.Processes(count));
    Check(cache);
    EXPECT_EQ(notes.waited, static_cast<int>(notes.started.size()));
  }
}

TEST(KernelParts, NeedOtherProcessesForLargeProgramsOnly) {
  const proto::Program small = ToProto(ManyKernels());
  EXPECT_EQ(ExpectedProcesses(small), 0);
  proto::Program large;
  for (int i = 0; i < 200; ++i) large.mutable_code()->append(small.code());
  EXPECT_GT(ExpectedProcesses(large), 8);
  proto::Program linked;
  *linked.add_parts()->mutable_program() = large;
  EXPECT_EQ(ExpectedProcesses(linked), ExpectedProcesses(large));
}

TEST(KernelParts, HoldEveryKernelOnceWithItsLaunches) {
  const auto whole = TestProgramCache().Get(ToProto(ManyKernels()), Apart());
  ASSERT_TRUE(whole.ok()) << whole.status();
  const size_t kernels = (*whole)->list().kernels.size();
  ASSERT_EQ(kernels, 12u);
  Notes notes;
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  cache.SetProcesses(notes.Processes(2));
  const auto compiled = cache.Get(ToProto(ManyKernels()), Apart());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  EXPECT_TRUE((*compiled)->executables().size() == 2);
  ASSERT_EQ(notes.started.size(), 1u);
  const ProgramSource& part = notes.started.front();
  EXPECT_EQ(part.list.kernels.size(), part.source.kernels.size());
  EXPECT_EQ(part.list.steps.size(), part.source.kernels.size());
  std::set<std::string> names;
  for (const hal::KernelSource& kernel : part.source.kernels) names.insert(kernel.name);
  for (const hal::ExecutablePtr& executable : (*compiled)->executables()) {
    for (const hal::EntryPoint& entry : executable->entry_points()) names.insert(entry.name);
  }
  EXPECT_EQ(names.size(), kernels);
  // A part that another process builds is a complete program.
  EXPECT_TRUE(ParseProgram(SerializeProgram(part)).has_value());
}

// Kernels of one launch batch stay in one part.
TEST(KernelParts, KeepTogetherWhatRunsInSequences) {
  if (!TestSettings().batches_launches) GTEST_SKIP() << "the device runs no sequences";
  Notes notes;
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  cache.SetProcesses(notes.Processes(2));
  Check(cache, {});
  EXPECT_TRUE(notes.started.empty());
}

TEST(KernelParts, StartNoProcessForFewKernels) {
  Notes notes;
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  cache.SetProcesses(notes.Processes(8));
  const TestProgram relu = {
      "Relu", "function (A) -> (O) { O = relu(A); }", {{DataType::kFloat32, {5}}}};
  ASSERT_TRUE(cache.Get(ToProto(relu)).ok());
  EXPECT_TRUE(notes.started.empty());
}

}  // namespace
}  // namespace tartan::evaluator
