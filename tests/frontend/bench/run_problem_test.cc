// SPDX-License-Identifier: Apache-2.0
// Runs complete problems on the default device and on the libraries of this build.
#include "frontend/bench/run_problem.h"

#include <map>

#include "frontend/bench/parse_problem.h"
#include "frontend/bench/peer_engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

using ::testing::ElementsAre;

class RunProblemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = api::Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
    device_ = *device;
  }

  absl::StatusOr<ProblemResult> Run(const std::string& spec,
                                    const std::vector<std::string>& against) {
    const absl::StatusOr<Problem> problem = ParseProblem(spec);
    if (!problem.ok()) return problem.status();
    MeasureOptions options;
    options.count = 1;
    return RunProblem(*problem, against, options, *device_);
  }

  std::shared_ptr<api::Device> device_;
};

TEST_F(RunProblemTest, ReportsTartanFirst) {
  const auto result = Run("matmul:m16n16k16", {"copy"});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->engines.size(), 2u);
  EXPECT_EQ(result->engines[0].engine, "tartan");
  EXPECT_GE(result->engines[0].kernels, 1);
  EXPECT_GT(result->engines[0].time.median_ms, 0);
  EXPECT_GT(result->engines[0].gflops, 0);
  EXPECT_EQ(result->engines[1].engine, "copy");
}

// The results are compared before the timing. An error here is a wrong result of Tartan or of a
// library.
TEST_F(RunProblemTest, AgreesWithTheLibrariesThereAre) {
  std::vector<std::string> peers;
  for (const std::string& name : PeerNames()) {
    const auto result = Run("matmul:m1n1k1", {name});
    if (absl::IsNotFound(result.status())) continue;
    ASSERT_TRUE(result.ok()) << result.status();
    peers.push_back(name);
  }
  if (peers.empty()) GTEST_SKIP() << "this build has no other library";
  std::map<std::string, int> compared;
  for (const char* spec : {"matmul:m5n7k9",
                           "matmul:m5n7k9:bwd_data",
                           "matmul:m5n7k9:bwd_weights",
                           "matmul:b3m5n7k9",
                           "conv:n2c3h9w8k5r3s2p1",
                           "conv:n1c4h6w6k8r3p1g4",
                           "conv:n1c4h9w9k6r3p2d2",
                           "conv:n1c16h6w6k16r3p1:nhwc",
                           "conv:n1c4h6w6k8r3s2p1:bwd_data",
                           "conv:n1c4h6w6k8r3s2p1:bwd_weights",
                           "pool:max:n1c4h7w7r3s2p1",
                           "pool:avg:n1c4h7w7r3s2p1",
                           "reduce:sum:5x6x7:axis1",
                           "reduce:max:5x6:all",
                           "softmax:5x17",
                           "layernorm:5x17",
                           "transpose:5x6x7:201",
                           "eltwise:gelu:100",
                           "eltwise:add:100",
                           "eltwise:swish:100",
                           "eltwise:sigmoid:100",
                           "eltwise:relu:10x10"}) {
    const auto result = Run(spec, peers);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->engines.size() + result->missing.size(), peers.size() + 1) << spec;
    for (const EngineResult& engine : result->engines) ++compared[engine.engine];
  }
  for (const std::string& name : peers) EXPECT_GE(compared[name], 4) << name;
}

TEST_F(RunProblemTest, SaysThatAnEngineDoesNotHaveTheOperator) {
  const auto result = Run("sort:4x8:axis1", {"openblas"});
  if (absl::IsNotFound(result.status())) GTEST_SKIP() << result.status();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->missing, ElementsAre("openblas"));
  EXPECT_EQ(result->engines.size(), 1u);
}

TEST_F(RunProblemTest, NamesTheEnginesThereAre) {
  const auto result = Run("matmul:m1n1k1", {"mkl"});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), ::testing::HasSubstr("onednn-auto"));
}

}  // namespace
}  // namespace tartan::bench
