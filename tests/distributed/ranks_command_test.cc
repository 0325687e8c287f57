// SPDX-License-Identifier: Apache-2.0
// Tests of `mpirun tartan train`: its results, and ranks that are killed, stopped or differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/cli/file_io.h"
#include "frontend/data/npy.h"
#include "frontend/train/checkpoint.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::cli::ranks_command_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class RanksCommand : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteFile(Path("model.onnx"), onnx::ModelBytes(train::MlpText())).ok());
    ASSERT_TRUE(WriteFile(Path("x.npy"), *data::FormatNpy(train::Images(60, 3))).ok());
    ASSERT_TRUE(WriteFile(Path("y.npy"), *data::FormatNpy(train::ClassesFor(60, 3))).ok());
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  std::string Train(const std::string& more) const {
    return absl::StrCat(std::getenv("TARTAN_BINARY_DIR"), "/tartan train ", Path("model.onnx"),
                        " --data x=", Path("x.npy"), ",y=", Path("y.npy"),
                        " --batch 12 --lr 0.01 --log-every 1 ", more);
  }

  // Every rank runs the shell's command; $RANK is its number.
  static ProgramResult OnRanks(int ranks, const std::string& command,
                               std::vector<std::string> environment = {}) {
    ProgramOptions options;
    options.environment = std::move(environment);
    return RunProgram({"/bin/sh", "-c", "exec mpirun -n $1 sh -c \"$2\"", "sh", absl::StrCat(ranks),
                       absl::StrCat("RANK=$OMPI_COMM_WORLD_RANK; ", command)},
                      options);
  }

  // The losses of a log, without its last line.
  std::vector<double> Losses(const std::string& log) const {
    std::ifstream stream(Path(log));
    std::vector<double> losses;
    for (std::string line; std::getline(stream, line);) {
      const size_t place = line.find("\"loss\":");
      if (place != std::string::npos) losses.push_back(std::atof(line.c_str() + place + 7));
    }
    return losses;
  }

  // Fails the test unless both logs have the same losses, 30 or more.
  void ExpectSameLosses(const std::string& log, const std::string& other) const {
    const std::vector<double> a = Losses(log);
    const std::vector<double> b = Losses(other);
    ASSERT_EQ(a.size(), b.size());
    ASSERT_GE(a.size(), 30);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * b[i]) << i;
  }

  // A rank that sends itself a signal once a checkpoint exists, and trains without end until then.
  std::string TrainUntil(const std::string& signal) const {
    return absl::StrCat(
        "if [ $RANK = 1 ]; then (until [ -f ", Path("run/last.ckpt"),
        " ]; do sleep 0.1; done; kill -", signal, " $$) & fi; exec ",
        Train(absl::StrCat("--steps 1000000000 --checkpoint-every 50 --checkpoint ", Path("run"))));
  }

  const TemporaryDirectory folder_;
};

TEST_F(RanksCommand, TrainsLikeOneProcessAndWritesATrace) {
  const std::string options = "--steps 30 --val 12";
  ASSERT_EQ(RunProgram({"/bin/sh", "-c", Train(options + " --log " + Path("one.jsonl"))}).exit_code,
            0);
  const ProgramResult result =
      OnRanks(3, absl::StrCat("exec ", Train(options), " --log ", Path("ranks.jsonl"), " --trace ",
                              Path("trace.json"), " --export ", Path("out.onnx")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("ranks +3; .* of a step are lost to communication"));
  EXPECT_THAT(result.out, ContainsRegex("rank 2 +peak memory [0-9.]+ KiB of the device, "));
  ExpectSameLosses("ranks.jsonl", "one.jsonl");
  EXPECT_TRUE(std::filesystem::exists(Path("out.onnx")));
  std::stringstream trace;
  trace << std::ifstream(Path("trace.json")).rdbuf();
  EXPECT_THAT(trace.str(),
              AllOf(HasSubstr("\"rank 2\""), HasSubstr("\"all-reduce\""), HasSubstr("\"compute\""),
                    HasSubstr("\"wait for ranks\""), HasSubstr("\"update\"")));
}

TEST_F(RanksCommand, RanksThatKeepPartsOfTheStateTrainLikeOneProcess) {
  const std::string options = "--steps 30 --clip-norm 0.5";
  ASSERT_EQ(RunProgram({"/bin/sh", "-c", Train(options + " --log " + Path("one.jsonl"))}).exit_code,
            0);
  for (const char* shard : {"optimizer", "gradients", "parameters"}) {
    const std::string log = absl::StrCat(shard, ".jsonl");
    const ProgramResult result =
        OnRanks(2, absl::StrCat("exec ", Train(options), " --log ", Path(log), " --shard ", shard));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ExpectSameLosses(log, "one.jsonl");
  }
}

// Batch normalization, then a matmul.
std::string NormText() {
  using train::InitializerText;
  const std::vector<float> ones(5, 1);
  const std::vector<float> zeros(5, 0);
  return absl::StrCat(
      "graph { name: 'norm' ", onnx::ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      InitializerText("scale", {5}, ones), InitializerText("shift", {5}, zeros),
      InitializerText("mean", {5}, zeros), InitializerText("variance", {5}, ones),
      InitializerText("w", {5, 3}, train::Numbers(15, 1)),
      onnx::NodeText("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"n"}),
      onnx::NodeText("MatMul", {"n", "w"}, {"y"}), "}");
}

TEST_F(RanksCommand, StatisticsOfTheWholeBatchTrainLikeOneProcess) {
  ASSERT_TRUE(WriteFile(Path("model.onnx"), onnx::ModelBytes(NormText())).ok());
  const std::string options = "--steps 30 --accumulate 2 --sync-batch-norm --log ";
  ASSERT_EQ(RunProgram({"/bin/sh", "-c", Train(options + Path("one.jsonl"))}).exit_code, 0);
  const ProgramResult result =
      OnRanks(4, absl::StrCat("exec ", Train(options + Path("ranks.jsonl"))));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ExpectSameLosses("ranks.jsonl", "one.jsonl");
}

TEST_F(RanksCommand, RanksWithoutNcclSayWhyTheyUseTheHost) {
  const ProgramResult found = OnRanks(2, absl::StrCat("exec ", Train("--steps 1 -v")));
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.err,
              ContainsRegex("gradients are added through the host; not by copies between "
                            "GPUs: .+; not by NCCL: .+\n"));
  const ProgramResult chosen =
      OnRanks(2, absl::StrCat("exec ", Train("--steps 1 -v --transport host")));
  ASSERT_EQ(chosen.exit_code, 0) << chosen.err;
  EXPECT_THAT(chosen.err, Not(HasSubstr("gradients are added")));
}

TEST_F(RanksCommand, AKilledRankEndsTheOthersAndLeavesAWholeCheckpoint) {
  const ProgramResult result = OnRanks(3, TrainUntil("KILL"));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, ContainsRegex("rank 0 ends: rank 1 .process [0-9]+. was killed"));
  EXPECT_THAT(result.err, ContainsRegex("rank 2 ends: rank 1 .process [0-9]+. was killed"));
  EXPECT_TRUE(train::ReadCheckpoint(Path("run/last.ckpt")).ok());
}

TEST_F(RanksCommand, AStoppedRankIsNoticed) {
  const ProgramResult result = OnRanks(2, TrainUntil("STOP"));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, ContainsRegex("rank 0 ends: rank 1 .process [0-9]+. has not answered"));
  EXPECT_TRUE(train::ReadCheckpoint(Path("run/last.ckpt")).ok());
}

TEST_F(RanksCommand, AllRanksReportADifference) {
  const ProgramResult result =
      OnRanks(2, absl::StrCat("exec ", Train("--steps 5 --seed $((RANK + 4))")));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err,
              HasSubstr("the ranks differ: rank 0 has the seed 4, rank 1 has the seed 5"));
}

TEST_F(RanksCommand, TheErrorOfARankReachesTheOthers) {
  const ProgramResult result =
      OnRanks(2, absl::StrCat("[ $RANK = 0 ] || DATA=-missing; exec ", Train("--steps 5"),
                              " --val-data x=", Path("x.npy$DATA"), ",y=", Path("y.npy")));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, ContainsRegex("rank 0 ends: rank 1 failed: .*x.npy-missing"));
}

TEST_F(RanksCommand, SaysIfMpiCannotBeLoaded) {
  const ProgramResult result = OnRanks(2, absl::StrCat("exec ", Train("--steps 5")),
                                       {"TARTAN_MPI_PLUGIN=/nowhere/plugin.so"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("MPI cannot be loaded"), HasSubstr("/nowhere/plugin.so")));
}

TEST_F(RanksCommand, NeedsNoMpiAlone) {
  ProgramOptions options;
  options.environment = {"TARTAN_MPI_PLUGIN=/nowhere/plugin.so"};
  const ProgramResult result = RunProgram({"/bin/sh", "-c", Train("--steps 2")}, options);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("ranks")));
}

}  // namespace
}  // namespace tartan::cli::ranks_command_test
