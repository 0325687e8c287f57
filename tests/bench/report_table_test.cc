// SPDX-License-Identifier: Apache-2.0
#include "bench/report_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProblemResult Result(const std::string& spec, double tartan_ms, double onednn_ms) {
  ProblemResult result;
  result.spec = spec;
  EngineResult tartan;
  tartan.engine = "tartan";
  tartan.time.median_ms = tartan_ms;
  tartan.kernels = 2;
  result.engines = {tartan};
  if (onednn_ms > 0) {
    EngineResult onednn;
    onednn.engine = "onednn";
    onednn.time.median_ms = onednn_ms;
    result.engines.push_back(onednn);
  }
  return result;
}

TEST(RelativeSpeedTo, IsTheGeometricMeanOfWhatBothHave) {
  const std::vector<ProblemResult> results = {Result("a", 1, 4), Result("b", 2, 0),
                                              Result("c", 4, 4)};
  const RelativeSpeed standing = RelativeSpeedTo("onednn", results);
  EXPECT_EQ(standing.problems, 2);
  EXPECT_DOUBLE_EQ(standing.geometric_mean, 2);
  EXPECT_DOUBLE_EQ(standing.least, 1);
  EXPECT_EQ(standing.min_ratio_spec, "c");
}

TEST(RelativeSpeedTo, IsNothingWithoutCommonProblems) {
  EXPECT_EQ(RelativeSpeedTo("openblas", {Result("a", 1, 4)}).problems, 0);
}

TEST(ToMarkdown, HasATablePerSectionAndLeavesOutWhatIsNotThere) {
  const std::vector<SectionResult> sections = {{"Sums", {Result("a", 1, 4), Result("b", 2, 0)}},
                                               {"Empty", {}}};
  const std::string text = ToMarkdown(sections, {"onednn"});
  EXPECT_THAT(text, HasSubstr("## Sums\n\n| problem | kernels | tartan ms | GFLOP/s | GB/s | "
                              "roofline | onednn ms | ratio |\n"));
  EXPECT_THAT(text, HasSubstr("| `a` | 2 | 1 | 0.0 | 0.0 |  | 4 | 4.00 |\n"));
  EXPECT_THAT(text, HasSubstr("| `b` | 2 | 2 | 0.0 | 0.0 |  |  |  |\n"));
  EXPECT_THAT(text, HasSubstr("* against onednn: geometric mean 4.00 over 1, minimum 4.00 (`a`)"));
  EXPECT_THAT(text, Not(HasSubstr("Empty")));
}

}  // namespace
}  // namespace tartan::bench
