// SPDX-License-Identifier: Apache-2.0
// Tests the gradient of max pooling in one launch: for each plane (height by width) the maxima, the
// gradient's shares, and their scatter to the inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::plane_chains_test {
namespace {

struct Pool {
  int64_t height = 0, width = 0;
  int64_t kernel = 0, stride = 0, padding = 0;
  int launches = 1;  // launches on a CPU
  bool channels_last = false;
};

std::ostream& operator<<(std::ostream& out, const Pool& p) {
  return out << p.height << "x" << p.width << " r" << p.kernel << " s" << p.stride << " p"
             << p.padding << (p.channels_last ? " channels last" : "");
}

constexpr int64_t kBatch = 2;
constexpr int64_t kChannels = 5;

int64_t Output(int64_t size, const Pool& p) {
  return (size + 2 * p.padding - p.kernel) / p.stride + 1;
}

std::vector<int64_t> Dims(int64_t height, int64_t width, const Pool& p) {
  if (p.channels_last) return {kBatch, height, width, kChannels};
  return {kBatch, kChannels, height, width};
}

// The gradient of max pooling; equal maxima share the gradient of their result.
TestProgram GradientOf(const Pool& p) {
  const std::vector<int64_t> inside = Dims(p.height, p.width, p);
  const std::vector<int64_t> outside = Dims(Output(p.height, p), Output(p.width, p), p);
  const auto sizes = [](const std::vector<int64_t>& d) {
    return absl::StrCat(d[0], ", ", d[1], ", ", d[2], ", ", d[3]);
  };
  const std::string y = absl::StrCat(p.stride, "*y + r - ", p.padding);
  const std::string x = absl::StrCat(p.stride, "*x + s - ", p.padding);
  const std::string in =
      p.channels_last ? absl::StrCat("n, ", y, ", ", x, ", c") : absl::StrCat("n, c, ", y, ", ", x);
  const std::string out = p.channels_last ? "n, y, x, c" : "n, c, y, x";
  return {"pool",
          absl::Substitute("function (X, D) -> (G) { W = D * 0 + 1; "
                           "O[$1 : $3] = >(X[$0]), r < $4, s < $4; "
                           "T[$1 : $3] = +(X[$0] == O[$1] ? W[$1]), r < $4, s < $4; "
                           "S = D / max(T, 1); "
                           "G[$0 : $2] = +(X[$0] == O[$1] ? S[$1]), r < $4, s < $4; }",
                           in, out, sizes(inside), sizes(outside), p.kernel),
          {{DataType::kFloat32, inside}, {DataType::kFloat32, outside}}};
}

// Draws few distinct values, so that many maxima are equal, and some NaNs.
std::vector<HostTensor> Inputs(const TestProgram& program) {
  std::vector<HostTensor> inputs = RandomInputs(program, 7);
  std::vector<float> values(program.inputs[0].element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::lround(4 * inputs[0].GetDouble(static_cast<int64_t>(i))));
    if (i % 101 == 3) values[i] = std::nanf("");
    if (i % 103 == 5) values[i] = -std::numeric_limits<float>::infinity();
  }
  inputs[0] = HostTensor::FromVector(program.inputs[0], values);
  return inputs;
}

class PlaneChainTest : public testing::TestWithParam<Pool> {
 protected:
  // Compiles and compares with the naive evaluator; returns the number of launches.
  int Check(const CompileOptions& options) {
    const TestProgram test = GradientOf(GetParam());
    const ir::Program program = BindTestProgram(test);
    const std::vector<HostTensor> inputs = Inputs(test);
    const auto expected = ir::EvaluateNaively(program, inputs);
    const auto list = Compile(program, options);
    EXPECT_TRUE(expected.ok() && list.ok()) << list.status();
    if (!expected.ok() || !list.ok()) return -1;
    const auto actual = InterpretList(*list, inputs);
    EXPECT_TRUE(actual.ok()) << actual.status();
    if (!actual.ok()) return -1;
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-6), "");
    return static_cast<int>(list->steps.size());
  }

  static CompileOptions ForCpu(int64_t lanes) {
    CompileOptions options;
    options.settings.compute_units = 2;
    options.settings.vector_width = lanes;
    return options;
  }
};

TEST_P(PlaneChainTest, EqualsTheNaiveEvaluatorWithVectorsOfEveryLength) {
  for (int64_t lanes : {4, 8, 16}) EXPECT_EQ(Check(ForCpu(lanes)), GetParam().launches) << lanes;
}

TEST_P(PlaneChainTest, EqualsTheNaiveEvaluatorWithWideIndices) {
  CompileOptions options = ForCpu(16);
  options.force_64bit_indices = true;
  EXPECT_EQ(Check(options), GetParam().launches);
}

TEST_P(PlaneChainTest, EqualsTheNaiveEvaluatorInKernelsOfTheirOwn) {
  CompileOptions options = ForCpu(16);
  options.disabled_passes = {"fuse-rows"};
  EXPECT_GT(Check(options), 1);
}

INSTANTIATE_TEST_SUITE_P(All, PlaneChainTest,
                         testing::Values(Pool{14, 70, 3, 2, 1}, Pool{28, 56, 3, 2, 1},
                                         Pool{12, 40, 2, 2, 0}, Pool{9, 33, 3, 1, 1},
                                         Pool{18, 48, 3, 3, 0}, Pool{6, 6, 2, 2, 0},
                                         Pool{12, 20, 3, 2, 1, 1, true}));

}  // namespace
}  // namespace tartan::compiler::plane_chains_test
