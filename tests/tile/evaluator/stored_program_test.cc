// SPDX-License-Identifier: Apache-2.0
// Tests compiled programs that a later process reads from storage.
#include "tile/evaluator/stored_program.h"

#include <gtest/gtest.h>

#include <map>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "proto/program.pb.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/expect_naive.h"
#include "tile/evaluator/build_identity.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator {
namespace {

// Stores programs in memory and counts accesses.
struct Shelf {
  std::map<std::string, std::string> programs;
  int found = 0;

  ProgramStore Store() {
    return {[this](absl::string_view key) -> std::optional<std::string> {
              const auto it = programs.find(std::string(key));
              if (it == programs.end()) return std::nullopt;
              ++found;
              return it->second;
            },
            [this](absl::string_view key, absl::string_view bytes) {
              programs[std::string(key)] = std::string(bytes);
            }};
  }
};

const TestProgram& Find(const std::string& name) {
  for (const TestProgram& program : TestPrograms()) {
    if (program.name == name) return program;
  }
  return TestPrograms().front();
}

// A program of several kernels, one of which reads another's result.
TestProgram ManySteps() {
  return {
      "ManySteps",
      R"(function (A[M, K], B[K, N], D[P]) -> (C, S, W) {
               C[m, n : M, N] = +(A[m, k] * B[k, n]);
               S[2*p : 2*P] = +(D[p]);
               W[p : 2*P] = =(D[p]) default S;
             })",
      {{DataType::kFloat32, {13, 40}}, {DataType::kFloat32, {40, 24}}, {DataType::kFloat32, {5}}}};
}

TEST(StoredProgram, ComputesWhatTheCompiledOneDoes) {
  Shelf shelf;
  const TestProgram program = ManySteps();
  const std::vector<HostTensor> inputs = RandomInputs(program, 3);
  std::vector<HostTensor> results[2];
  for (int process = 0; process < 2; ++process) {
    ProgramCache cache(TestDevice(), opencl::DialectOf);
    cache.SetStore(shelf.Store());
    const auto compiled = cache.Get(ToProto(program));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto loaded = LoadedProgram::Load(*compiled, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    auto outputs = (*loaded)->Run(inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    results[process] = *std::move(outputs);
    EXPECT_EQ(shelf.found, process);
  }
  ASSERT_EQ(results[0].size(), 3u);
  for (size_t o = 0; o < 3; ++o) {
    EXPECT_EQ(FirstDifference(results[1][o], results[0][o], 0), "") << "output " << o;
  }
}

TEST(StoredProgram, KeepsTheSizesOfLaunches) {
  Shelf shelf;
  const TestProgram program = ManySteps();
  const std::vector<HostTensor> inputs = RandomInputs(program, 3);
  compiler::CompileOptions ready;
  ready.tier = compiler::Tier::kReady;
  for (int process = 0; process < 2; ++process) {
    ProgramCache cache(TestDevice(), opencl::DialectOf);
    cache.SetStore(shelf.Store());
    const auto compiled = cache.Get(ToProto(program), ready);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ(shelf.found, process);
    ExpectNaiveResults(*compiled, program, inputs, 2e-5);
  }
}

TEST(KernelLibrary, FindsTheKernelsOfAnEarlierProcessForAnotherShape) {
  Shelf shelf;
  compiler::CompileOptions ready;
  ready.tier = compiler::Tier::kReady;
  for (int64_t rows : {12, 31}) {
    const TestProgram program = {
        "Product",
        "function (A[M, K], B[K, N]) -> (C) { C[m, n : M, N] = +(A[m, k] * B[k, n]); }",
        {{DataType::kFloat32, {rows, 40}}, {DataType::kFloat32, {40, 48}}}};
    ProgramCache process(TestDevice(), opencl::DialectOf);
    process.SetStore(shelf.Store());
    CompilerProcesses processes;
    processes.is_compiled = [](const hal::ExecutableSource&) { return true; };
    process.SetProcesses(processes);
    const auto compiled = process.Get(ToProto(program), ready);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_EQ((*compiled)->executables().empty(), rows == 31);
    ExpectNaiveResults(*compiled, program, RandomInputs(program, 3), 2e-5);
  }
}

TEST(StoredProgram, KeepsEveryStepAndBuffer) {
  const auto made = TestProgramCache().Get(ToProto(ManySteps()));
  ASSERT_TRUE(made.ok()) << made.status();
  ProgramSource program;
  program.list = (*made)->list();
  program.list.setup = {compiler::FillStep{0, DataType::kInt8, 3}, compiler::CopyStep{0, 1}};
  program.list.recomputed = {3, 4.5, 6};
  program.source.prologue = "a prologue";
  for (const loop::Kernel& kernel : program.list.kernels) {
    program.source.kernels.push_back({kernel.name, kernel.name + " text"});
  }
  program.source.kernels.back().in_launch_batch = true;
  program.source.kernels.back().kept = {1};
  const std::string bytes = SerializeProgram(program);
  const std::optional<ProgramSource> read = ParseProgram(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(SerializeProgram(*read), bytes);
  EXPECT_EQ(read->list.steps.size(), program.list.steps.size());
  ASSERT_EQ(read->list.setup.size(), 2u);
  EXPECT_EQ(std::get<compiler::FillStep>(read->list.setup[0]).value, 3);
  EXPECT_EQ(std::get<compiler::CopyStep>(read->list.setup[1]).to, 1);
  EXPECT_EQ(read->list.recomputed, program.list.recomputed);
  EXPECT_EQ(read->list.buffers.size(), program.list.buffers.size());
  EXPECT_EQ(read->source.kernels.back().source, program.source.kernels.back().source);
  EXPECT_TRUE(read->list.kernels.back().in_launch_batch);
  EXPECT_TRUE(read->source.kernels.back().in_launch_batch);
  EXPECT_EQ(read->source.kernels.back().kept, std::vector<int>{1});
  program.source.kernels.back().kept = {99};  // not a parameter of the kernel
  EXPECT_FALSE(ParseProgram(SerializeProgram(program)).has_value());
  const std::vector<loop::Parameter>& parameters = program.list.kernels.back().parameters;
  ASSERT_EQ(read->list.kernels.back().parameters.size(), parameters.size());
  for (size_t p = 0; p < parameters.size(); ++p) {
    EXPECT_EQ(read->list.kernels.back().parameters[p].is_output, parameters[p].is_output);
  }
}

TEST(StoredProgram, IsMadeAnewWhereTheBytesAreDamaged) {
  Shelf shelf;
  for (int process = 0; process < 2; ++process) {
    ProgramCache cache(TestDevice(), opencl::DialectOf);
    cache.SetStore(shelf.Store());
    const auto compiled = cache.Get(ToProto(Find("MatMul")));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    EXPECT_GT((*compiled)->list().steps.size(), 0u);
    ASSERT_EQ(shelf.programs.size(), 1u);
    shelf.programs.begin()->second.resize(20);
  }
  EXPECT_EQ(shelf.found, 1);
}

TEST(StoredProgram, IsRefusedWhereAPositionIsOutOfRange) {
  proto::StoredProgram stored;
  stored.add_buffers()->set_bytes(4);
  stored.add_steps()->mutable_fill()->set_buffer(0);
  EXPECT_TRUE(ParseProgram(stored.SerializeAsString()).has_value());
  stored.mutable_steps(0)->mutable_fill()->set_buffer(1);
  EXPECT_FALSE(ParseProgram(stored.SerializeAsString()).has_value());
  stored.mutable_steps(0)->mutable_launch()->set_kernel(0);
  EXPECT_FALSE(ParseProgram(stored.SerializeAsString()).has_value());
  stored.add_kernels();
  for (int i = 0; i < 3; ++i) {
    stored.mutable_kernels(0)->add_local_size(1);
    stored.mutable_kernels(0)->add_global_size(1);
  }
  EXPECT_TRUE(ParseProgram(stored.SerializeAsString()).has_value());
  stored.mutable_kernels(0)->add_is_output(true);
  EXPECT_FALSE(ParseProgram(stored.SerializeAsString()).has_value()) << "an argument is missing";
  stored.mutable_steps(0)->mutable_copy()->set_to(-1);
  EXPECT_FALSE(ParseProgram(stored.SerializeAsString()).has_value());
}

TEST(StoredProgram, IsNotTakenForOneCompiledWithOtherOptions) {
  Shelf shelf;
  for (const bool fuse : {true, false, true}) {
    ProgramCache cache(TestDevice(), opencl::DialectOf);
    cache.SetStore(shelf.Store());
    compiler::CompileOptions options;
    if (!fuse) options.disabled_passes = {"fuse"};
    ASSERT_TRUE(cache.Get(ToProto(Find("Relu")), options).ok());
  }
  EXPECT_EQ(shelf.programs.size(), 2u);
  EXPECT_EQ(shelf.found, 1);
}

TEST(StoredProgram, IsNotKeptWhereDumpsAreAskedFor) {
  Shelf shelf;
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  cache.SetStore(shelf.Store());
  compiler::CompileHooks hooks;
  int stages = 0;
  hooks.dump = [&](absl::string_view, absl::string_view) { ++stages; };
  ASSERT_TRUE(cache.Get(ToProto(Find("Relu")), {}, hooks).ok());
  EXPECT_GT(stages, 0);
  EXPECT_TRUE(shelf.programs.empty());
}

TEST(BuildIdentity, IsThere) { EXPECT_GE(BuildIdentity().size(), 8u); }

}  // namespace
}  // namespace tartan::evaluator
