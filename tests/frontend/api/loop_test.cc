// SPDX-License-Identifier: Apache-2.0
// Tests of loops within programs and of their gradients, against the same programs without loops.
#include "frontend/api/loop.h"

#include <cmath>
#include <cstdlib>

#include "frontend/api/composer.h"
#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/precision/round_results.h"
#include "frontend/api/resident/device_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api::loop_test {
namespace {

HostTensor Values(const TensorShape& shape, int seed) {
  std::vector<float> values(static_cast<size_t>(shape.element_count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i * 7 + static_cast<size_t>(seed) * 13)) * 0.5f;
  }
  return HostTensor::FromVector(shape, values);
}

TensorShape Floats(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

struct Given {
  int64_t steps = 7;
  int64_t batch = 3;
  int64_t hidden = 5;
  bool reversed = false;
};

// A recurrent network h = tanh(x + h R), c = c / 2 + h * t with operands h, c, x, R, and a loss.
struct Network {
  std::vector<Tensor> operands;
  Tensor loss;
  std::vector<Tensor> results;
};

std::vector<Tensor> Must(absl::StatusOr<std::vector<Tensor>> tensors) {
  EXPECT_TRUE(tensors.ok()) << tensors.status();
  return tensors.ok() ? *tensors : std::vector<Tensor>();
}

Network MakeNetwork(const Given& given) {
  Network network;
  const TensorShape state = Floats({given.batch, given.hidden});
  network.operands = {Tensor::Placeholder("h", state), Tensor::Placeholder("c", state),
                      Tensor::Placeholder("x", Floats({given.steps, given.batch, given.hidden})),
                      Tensor::Placeholder("r", Floats({given.hidden, given.hidden}))};
  RepeatBody body;
  body.iterations = given.steps;
  body.states = {Tensor::Placeholder("hs", state), Tensor::Placeholder("cs", state)};
  body.slices = {Tensor::Placeholder("xs", state)};
  body.iteration = Tensor::Placeholder("t", {DataType::kInt64, {}});
  // R is read from around the body.
  const auto q =
      Apply("function (H[B, N], R[N, N]) -> (Q) { Q[b, j : B, N] = +(H[b, i] * R[i, j]); }",
            {body.states[0], network.operands[3]}, "q");
  EXPECT_TRUE(q.ok()) << q.status();
  const auto step = Function::FromTile(
      "function (X, Q, C, T) -> (HN, CN, Y) { HN = tanh(X + Q); CN = 0.5 * C + HN * T * 0.1;"
      " Y = HN * CN; }");
  EXPECT_TRUE(step.ok()) << step.status();
  const auto made = Must(
      step->Apply(std::vector<Tensor>{body.slices[0], *q, body.states[1], body.iteration}, "step"));
  body.next_states = {made[0], made[1]};
  body.rows = {made[2], made[0]};
  std::vector<Tensor> operands(network.operands.begin(), network.operands.begin() + 3);
  network.results = Must(Loop(body, operands, "loop", given.reversed));
  const auto loss = Apply(
      "function (H, C, Y, Z, R) -> (L) { A[] = +(H[b, i] * C[b, i]); D[] = +(Y[t, b, i] * Z[t, b, "
      "i]);"
      " E[] = +(R[i, j] * R[i, j]); L = A + D + 0.5 * E; }",
      {network.results[0], network.results[1], network.results[2], network.results[3],
       network.operands[3]},
      "loss");
  EXPECT_TRUE(loss.ok()) << loss.status();
  network.loss = *loss;
  return network;
}

struct Way {
  compiler::Tier tier = compiler::Tier::kExact;
  bool has_disjoint_views = false;  // as on drivers whose sub-buffers must not overlap
  bool on_host = false;             // until there are kernels
};

class Loops : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().has_disjoint_views) setenv("TARTAN_DISJOINT_VIEWS", "1", /*overwrite=*/1);
    DeviceOptions options;
    options.use_disk_cache = !GetParam().on_host;  // whose kernels would be used at once
    auto device = Device::Open("", options);
    unsetenv("TARTAN_DISJOINT_VIEWS");
    if (!device.ok()) GTEST_SKIP() << device.status();
    if (GetParam().has_disjoint_views) {
      ASSERT_FALSE((*device)->hal()->info().sub_buffers_may_overlap);
    }
    const bool is_cpu = (*device)->info().type == hal::DeviceType::kCpu;
    if (GetParam().on_host && !is_cpu) GTEST_SKIP() << "only CPUs start on the host";
    device_ = (*device)->WithTier(GetParam().tier);
  }

  // The tensors, computed by a program on the device and by the naive evaluator without loops.
  void Compare(const std::vector<Tensor>& placeholders, const std::vector<Tensor>& outputs,
               const std::vector<Tensor>& reference, double tolerance = 2e-5) {
    std::vector<HostTensor> values;
    for (const Tensor& placeholder : placeholders) {
      values.push_back(Values(placeholder.shape(), static_cast<int>(values.size())));
    }
    const auto expected = EvaluateReference(placeholders, values, reference, int64_t{1} << 40);
    ASSERT_TRUE(expected.ok()) << expected.status();
    ProgramGraph graph;
    graph.inputs = placeholders;
    graph.outputs = outputs;
    graph.name = "loop";
    const bool on_host = GetParam().on_host;
    auto program = DeviceProgram::Create(
        device_, graph, nullptr, on_host ? CompileWhere::kSoonest : CompileWhere::kInProcess);
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_EQ((*program)->tier() == "host", on_host);
    ASSERT_TRUE((*program)->Bind({}).ok());
    for (int time = 0; time < 2; ++time) {
      ASSERT_TRUE((*program)->Start(values).ok());
      const auto actual = (*program)->Outputs();
      ASSERT_TRUE(actual.ok()) << actual.status();
      for (size_t o = 0; o < outputs.size(); ++o) {
        const std::vector<double> a = actual->at(o).ToDoubles();
        const std::vector<double> e = expected->at(o).ToDoubles();
        ASSERT_EQ(actual->at(o).shape(), expected->at(o).shape());
        for (size_t i = 0; i < a.size(); ++i) {
          ASSERT_NEAR(a[i], e[i], tolerance * (1 + std::abs(e[i])))
              << "output " << o << " at " << i;
        }
      }
    }
  }

  std::shared_ptr<const Device> device_;
};

TEST_P(Loops, ComputeWhatTheirIterationsDo) {
  for (const Given& given :
       {Given{}, Given{1, 1, 1, false}, Given{9, 1, 3, true}, Given{4, 32, 16, false}}) {
    const Network network = MakeNetwork(given);
    std::vector<Tensor> outputs = network.results;
    outputs.push_back(network.loss);
    Compare(network.operands, outputs, outputs);
  }
}

TEST_P(Loops, HaveTheGradientsOfTheirIterations) {
  for (const Given& given :
       {Given{}, Given{1, 1, 1, false}, Given{9, 1, 3, true}, Given{5, 32, 16, true}}) {
    const Network network = MakeNetwork(given);
    std::vector<Tensor> outputs = Must(Gradient(network.loss, network.operands));
    outputs.push_back(network.loss);
    const Tensor unrolled = Must(Unrolled({network.loss}))[0];
    std::vector<Tensor> reference = Must(Gradient(unrolled, network.operands));
    reference.push_back(unrolled);
    Compare(network.operands, outputs, reference);
  }
}

// A body that adds its row to a state and returns the sum as a row.
RepeatBody RunningSum(int64_t steps, const TensorShape& row) {
  RepeatBody body;
  body.iterations = steps;
  body.states = {Tensor::Placeholder("s", row)};
  body.slices = {Tensor::Placeholder("x", row)};
  const auto sum = Apply("function (S, X) -> (N) { N = S + X; }", {body.states[0], body.slices[0]});
  EXPECT_TRUE(sum.ok()) << sum.status();
  body.next_states = {*sum};
  body.rows = {*sum};
  return body;
}

// The rows of the second loop are pairs of rows of the first one.
TEST_P(Loops, MayDivideATensorIntoOtherRows) {
  const TensorShape row = Floats({128});
  const TensorShape pair = Floats({256});
  const Tensor first = Tensor::Placeholder("first", row);
  const Tensor second = Tensor::Placeholder("second", pair);
  const Tensor x = Tensor::Placeholder("x", Floats({8, 128}));
  const std::vector<Tensor> sums = Must(Loop(RunningSum(8, row), {first, x}, "sums"));
  const auto pairs = Apply("function (X) -> (P) { P = reshape(X, 4, 256); }", {sums[1]}, "pairs");
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  const std::vector<Tensor> outputs = Must(Loop(RunningSum(4, pair), {second, *pairs}, "outer"));
  Compare({first, second, x}, outputs, Must(Unrolled(outputs)));
}

INSTANTIATE_TEST_SUITE_P(Ways, Loops,
                         ::testing::Values(Way{compiler::Tier::kReady}, Way{compiler::Tier::kExact},
                                           Way{compiler::Tier::kReady, true},
                                           Way{compiler::Tier::kExact, true},
                                           Way{compiler::Tier::kReady, false, true}));

}  // namespace
}  // namespace tartan::api::loop_test
