// SPDX-License-Identifier: Apache-2.0
// Tests the syntax of problem specifications and the messages for wrong ones.
#include "frontend/bench/parse_problem.h"

#include <fstream>
#include <sstream>

#include "frontend/bench/workload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Op>
Op ParseAs(const std::string& spec) {
  const absl::StatusOr<Problem> problem = ParseProblem(spec);
  EXPECT_TRUE(problem.ok()) << problem.status();
  const Op* op = problem.ok() ? std::get_if<Op>(&problem->op) : nullptr;
  EXPECT_NE(op, nullptr) << spec;
  return op == nullptr ? Op() : *op;
}

std::string ErrorOf(const std::string& spec) {
  const absl::StatusOr<Problem> problem = ParseProblem(spec);
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kInvalidArgument) << spec;
  return std::string(problem.status().message());
}

TEST(ParseProblem, ReadsSizesInAnyOrder) {
  const auto matmul = ParseAs<MatmulProblem>("matmul:k3n2m1b12");
  EXPECT_EQ(matmul.batch, 12);
  EXPECT_EQ(matmul.m, 1);
  EXPECT_EQ(matmul.n, 2);
  EXPECT_EQ(matmul.k, 3);
}

TEST(ParseProblem, FillsInWhatAConvolutionLeavesOut) {
  const auto plain = ParseAs<ConvolutionProblem>("conv:n1c64h56w40k128r3");
  EXPECT_EQ(plain.stride, 1);
  EXPECT_EQ(plain.padding, 0);
  EXPECT_EQ(plain.groups, 1);
  EXPECT_EQ(plain.dilation, 1);
  EXPECT_FALSE(plain.channels_last);
  EXPECT_EQ(plain.output_height(), 54);
  EXPECT_EQ(plain.output_width(), 38);
}

TEST(ParseProblem, ReadsEverythingAConvolutionMayHave) {
  const absl::StatusOr<Problem> problem =
      ParseProblem("conv:n2c64h56w56k128r3s2p2g64d2:nhwc:bwd_weights");
  ASSERT_TRUE(problem.ok()) << problem.status();
  const auto& full = std::get<ConvolutionProblem>(problem->op);
  EXPECT_EQ(full.groups, 64);
  EXPECT_EQ(full.dilation, 2);
  EXPECT_TRUE(full.channels_last);
  EXPECT_EQ(full.output_height(), 28);
  EXPECT_EQ(problem->direction, Direction::kBackwardWeights);
}

TEST(ParseProblem, ReadsTheAlgorithmOfAConvolution) {
  EXPECT_EQ(ParseAs<ConvolutionProblem>("conv:n1c8h8w8k8r3").algorithm,
            ConvolutionAlgorithm::kChosen);
  EXPECT_EQ(ParseAs<ConvolutionProblem>("conv:n1c8h8w8k8r3:nhwc:direct").algorithm,
            ConvolutionAlgorithm::kDirect);
  const auto gradient = ParseProblem("conv:n1c8h8w8k8r3:winograd:bwd_data");
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  EXPECT_EQ(std::get<ConvolutionProblem>(gradient->op).algorithm, ConvolutionAlgorithm::kWinograd);
  EXPECT_EQ(gradient->direction, Direction::kBackwardData);
  EXPECT_FALSE(ParseProblem("conv:n1c8h8w8k8r3:direct:winograd").ok());
  EXPECT_FALSE(ParseProblem("matmul:m8n8k8:winograd").ok());
}

TEST(ParseProblem, ReadsTheOtherOperators) {
  EXPECT_EQ(ParseAs<PoolProblem>("pool:avg:n1c2h8w8r2s2").kind, PoolKind::kAverage);
  EXPECT_EQ(ParseAs<PoolProblem>("pool:max:n1c64h112w112r3s2p1").output_height(), 56);
  EXPECT_EQ(ParseAs<ReduceProblem>("reduce:max:4x5:axis0").kind, ReduceKind::kMax);
  EXPECT_EQ(ParseAs<ReduceProblem>("reduce:sum:4x5:all").axis, -1);
  EXPECT_THAT(ParseAs<SoftmaxProblem>("softmax:128x1024").dims, ElementsAre(128, 1024));
  EXPECT_THAT(ParseAs<LayerNormProblem>("layernorm:128x768").dims, ElementsAre(128, 768));
  EXPECT_THAT(ParseAs<TransposeProblem>("transpose:64x128x256:201").order, ElementsAre(2, 0, 1));
  EXPECT_EQ(ParseAs<ElementwiseProblem>("eltwise:gelu:1048576").function, "gelu");
  EXPECT_EQ(ParseAs<GatherProblem>("gather:30522x768:axis0:i128").count, 128);
  EXPECT_TRUE(ParseAs<ScatterProblem>("scatter:add:30522x768:i128").add);
  EXPECT_EQ(ParseAs<SortProblem>("sort:64x1024:axis1").axis, 1);
}

TEST(ParseProblem, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_THAT(ErrorOf("matmul:m1n2"), HasSubstr("'k' is missing; expected matmul:[b12]m128"));
  EXPECT_THAT(ErrorOf("matmul:m1n2k3k4"), HasSubstr("'k' is given twice"));
  EXPECT_THAT(ErrorOf("matmul:m1n2k3q4"), HasSubstr("unknown letter 'q'"));
  EXPECT_THAT(ErrorOf("matmul:m1n2k"), HasSubstr("k: '' is not a size"));
  EXPECT_THAT(ErrorOf("matmul"), HasSubstr("a part is missing"));
  EXPECT_THAT(ErrorOf("matmul:m1n2k3:bwd"), HasSubstr("unknown modifier ':bwd'"));
  EXPECT_THAT(ErrorOf("matmul:m1n2k3:bwd_data:bwd_data"), HasSubstr("unexpected text"));
  EXPECT_THAT(ErrorOf("gemm:m1n2k3"),
              HasSubstr("there is no operator 'gemm'; choose one of matmul"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("there is no operator ''"));
  EXPECT_THAT(ErrorOf("conv:n1c6h8w8k4r3g4"), HasSubstr("g4 does not divide c6 and k4"));
  EXPECT_THAT(ErrorOf("conv:n1c4h2w8k4r3"), HasSubstr("larger than the padded data"));
  EXPECT_THAT(ErrorOf("pool:max:n1c1h8w8r2p2"), HasSubstr("is not smaller than the window"));
  EXPECT_THAT(ErrorOf("pool:min:n1c1h8w8r2"), HasSubstr("'min' is not a pool"));
  EXPECT_THAT(ErrorOf("reduce:sum:4x5:axis2"), HasSubstr("axis 2 is out of range for rank 2"));
  EXPECT_THAT(ErrorOf("reduce:sum:4x5:rows"), HasSubstr("'rows' is not an axis"));
  EXPECT_THAT(ErrorOf("transpose:4x5:00"), HasSubstr("not an order of 2 axes"));
  EXPECT_THAT(ErrorOf("eltwise:foo:8"), HasSubstr("choose one of relu"));
  EXPECT_THAT(ErrorOf("softmax:4xx5"), HasSubstr("'' is not a size"));
  EXPECT_THAT(ErrorOf("softmax:-4"), HasSubstr("'-4' is not a size"));
  EXPECT_THAT(ErrorOf("scatter:add:8x8:i4:bwd_data"), HasSubstr("unknown modifier ':bwd_data'"));
}

TEST(ParseProblem, RefusesEmptyAndEndlessTensors) {
  EXPECT_THAT(ErrorOf("matmul:m0n2k3"), HasSubstr("m: 0 is less than 1"));
  EXPECT_THAT(ErrorOf("softmax:4x0"), HasSubstr("0 is less than 1"));
  EXPECT_THAT(ErrorOf("matmul:m99999999999999999999n2k3"), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf("matmul:m1099511627776n1099511627776k1"), HasSubstr("matmul:"));
  EXPECT_THAT(ErrorOf("reduce:mean:1099511627776x1099511627776:all"), HasSubstr("reduce:"));
}

TEST(ParseProblemList, ReadsSectionsAndSkipsComments) {
  const auto sections = ParseProblemList(
      "# a list\n\n## Nothing\n## Products\nmatmul:m1n2k3\n# more\n"
      "  softmax:4x4  \n## Sorts\nsort:8:axis0\n## End",
      "list");
  ASSERT_TRUE(sections.ok()) << sections.status();
  ASSERT_EQ(sections->size(), 2u);
  EXPECT_EQ(sections->at(0).heading, "Products");
  ASSERT_EQ(sections->at(0).problems.size(), 2u);
  EXPECT_EQ(sections->at(0).problems[1].spec, "softmax:4x4");
  EXPECT_EQ(sections->at(1).heading, "Sorts");
}

TEST(ParseProblemList, NamesTheLineOfAnError) {
  const auto wrong = ParseProblemList("matmul:m1n2k3\nmatmul:m1\n", "list.txt");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("list.txt:2: matmul:m1: 'n'"));
}

TEST(ParseProblemList, ReadsTheListOfTheProject) {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + "/bench/problems.txt");
  std::stringstream text;
  text << file.rdbuf();
  const auto sections = ParseProblemList(text.str(), "problems.txt");
  ASSERT_TRUE(sections.ok()) << sections.status();
  size_t problems = 0;
  for (const ProblemSection& section : *sections) problems += section.problems.size();
  EXPECT_GT(sections->size(), 10u);
  EXPECT_GT(problems, 100u);
}

TEST(MakeWorkload, CountsWork) {
  const auto conv = ParseProblem("conv:n1c64h56w56k128r3s1p1");
  EXPECT_EQ(MakeWorkload(*conv).flops, 2.0 * 128 * 56 * 56 * 64 * 9);
  EXPECT_EQ(MakeWorkload(*conv).bytes, 4.0 * (64 * 56 * 56 + 128 * 64 * 9 + 128 * 56 * 56));
  // The gradient by weights reads the data and writes the weights.
  const auto weights = ParseProblem("conv:n1c64h56w56k128r3s1p1:bwd_weights");
  EXPECT_EQ(MakeWorkload(*weights).bytes, MakeWorkload(*conv).bytes);
  // The gradient of a softmax reads its input, too.
  EXPECT_EQ(MakeWorkload(*ParseProblem("softmax:8x16:bwd_data")).bytes, 4.0 * 3 * 8 * 16);
  EXPECT_EQ(MakeWorkload(*ParseProblem("reduce:sum:8x16:axis1:bwd_data")).bytes,
            4.0 * (8 * 16 + 8));
}

}  // namespace
}  // namespace tartan::bench
