// SPDX-License-Identifier: Apache-2.0
// Tests of programs whose state stays on the device, against the naive evaluator and known results.
#include "frontend/api/resident/device_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api::device_program_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DataType kFloat = DataType::kFloat32;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector({kFloat, std::move(dims)}, values);
}

std::vector<Tensor> Call(const std::string& text, const std::vector<Tensor>& inputs) {
  auto function = Function::FromTile(text);
  EXPECT_TRUE(function.ok()) << function.status();
  auto results = function->Apply(inputs);
  EXPECT_TRUE(results.ok()) << results.status();
  return *std::move(results);
}

class DeviceProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    static const auto* const device = new absl::StatusOr<std::shared_ptr<Device>>(Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    device_ = **device;
  }

  std::shared_ptr<Device> device_;
};

TEST_F(DeviceProgramTest, ValuesComeBackFromTheDevice) {
  for (const int64_t size : {0, 1, 5}) {
    const HostTensor value = Floats({size}, std::vector<float>(static_cast<size_t>(size), 2.5f));
    auto tensor = DeviceTensor::FromHost(*device_, value);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->ToHost()->ToDoubles(), value.ToDoubles());
    auto zeros = DeviceTensor::Zeros(*device_, {DataType::kInt64, {size}});
    ASSERT_TRUE(zeros.ok()) << zeros.status();
    EXPECT_EQ(zeros->ToHost()->ToInts(), std::vector<int64_t>(static_cast<size_t>(size), 0));
  }
}

TEST_F(DeviceProgramTest, AssigningChangesAllHandles) {
  auto tensor = DeviceTensor::FromHost(*device_, Floats({2}, {1, 2}));
  ASSERT_TRUE(tensor.ok());
  const DeviceTensor other = *tensor;
  ASSERT_TRUE(tensor->Assign(Floats({2}, {3, 4})).ok());
  EXPECT_THAT(other.ToHost()->ToDoubles(), ElementsAre(3, 4));
  EXPECT_THAT(tensor->Assign(Floats({3}, {1, 2, 3})).message(), HasSubstr("float32[3]"));
}

TEST_F(DeviceProgramTest, DeferredRunsTakePlaceInOrder) {
  const Tensor s = Tensor::Placeholder("s", {kFloat, {2}});
  const Tensor x = Tensor::Placeholder("x", {kFloat, {2}});
  const std::vector<Tensor> made =
      Call("function (S, X) -> (N, Y) { N = S + X; Y = 2 * S; }", {s, x});
  const auto program = DeviceProgram::Create(device_, {{x}, {{s, made[0]}}, {made[1]}, "step"});
  ASSERT_TRUE(program.ok()) << program.status();
  auto state = DeviceTensor::FromHost(*device_, Floats({2}, {1, 2}));
  ASSERT_TRUE(state.ok());
  ASSERT_EQ((*program)->Bind({*state}), absl::OkStatus());
  for (const int runs : {1, 3, 1, 40}) {
    const std::vector<double> before = state->ToHost()->ToDoubles();
    std::vector<PendingOutputs> pending;
    for (int run = 0; run < runs; ++run) {
      ASSERT_EQ((*program)->Start({Floats({2}, {10, 20})}, /*may_defer=*/true), absl::OkStatus());
      pending.push_back(*(*program)->OutputsAsync());
    }
    for (int run = runs - 1; run >= 0; --run) {
      for (int time = 0; time < 2; ++time) {
        EXPECT_THAT(pending[run].Wait()->at(0).ToDoubles(),
                    ElementsAre(2 * (before[0] + 10 * run), 2 * (before[1] + 20 * run)));
      }
    }
    EXPECT_THAT(state->ToHost()->ToDoubles(),
                ElementsAre(before[0] + 10 * runs, before[1] + 20 * runs));
  }
}

TEST_F(DeviceProgramTest, StatesAreThoseAfterDeferredRuns) {
  const Tensor s = Tensor::Placeholder("s", {kFloat, {2}});
  const Tensor next = Call("function (S) -> (N) { N = 3 * S; }", {s})[0];
  const auto program = DeviceProgram::Create(device_, {{}, {{s, next}}, {}, "step"});
  ASSERT_TRUE(program.ok()) << program.status();
  auto state = DeviceTensor::FromHost(*device_, Floats({2}, {1, 2}));
  ASSERT_TRUE(state.ok());
  ASSERT_EQ((*program)->Bind({*state}), absl::OkStatus());
  ASSERT_EQ(device_->queue()->Finish(), absl::OkStatus());
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ((*program)->Start({}, /*may_defer=*/true), absl::OkStatus());
  }
  EXPECT_THAT(state->ToHost()->ToDoubles(), ElementsAre(27, 54));
}

// Create with kCachedOnly, which compiles nothing, finds the kernels that an earlier Create
// compiled.
TEST_F(DeviceProgramTest, KernelsAreExactAtOnceUnlessTheDeviceSaysOtherwise) {
  const Tensor x = Tensor::Placeholder("x", {kFloat, {3}});
  const Tensor next = Call("function (X) -> (N) { N = 2 * X; }", {x})[0];
  for (const compiler::Tier tier : {compiler::Tier::kExact, compiler::Tier::kReady}) {
    DeviceOptions options;
    options.use_disk_cache = false;
    const auto opened = Device::Open("", options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const bool is_exact = tier == compiler::Tier::kExact;
    const std::shared_ptr<const Device> device = is_exact ? *opened : (*opened)->WithTier(tier);
    const auto create = [&](const std::shared_ptr<const Device>& on, CompileWhere where) {
      return DeviceProgram::Create(on, {{}, {{x, next}}, {}, "step"}, nullptr, where).status();
    };
    ASSERT_EQ(create(device, CompileWhere::kInProcess), absl::OkStatus());
    const auto find = [&](compiler::Tier wanted) {
      return create((*opened)->WithTier(wanted), CompileWhere::kCachedOnly).code();
    };
    EXPECT_EQ(find(tier), absl::StatusCode::kOk);
    EXPECT_EQ(find(is_exact ? compiler::Tier::kReady : compiler::Tier::kExact),
              absl::StatusCode::kNotFound);
  }
}

TEST_F(DeviceProgramTest, TheHostBeginsWithMillionsOfElementsOfStates) {
  if (device_->info().type != hal::DeviceType::kCpu) GTEST_SKIP() << "only CPUs start on the host";
  DeviceOptions options;
  options.use_disk_cache = false;
  const auto device = Device::Open("", options);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto tier = [&](int64_t elements) {
    const Tensor x = Tensor::Placeholder("x", {kFloat, {elements}});
    const Tensor next = Call("function (X) -> (N) { N = X + 1; }", {x})[0];
    auto made = DeviceProgram::Create(*device, {{}, {{x, next}}, {}, "step"}, nullptr,
                                      CompileWhere::kSoonest);
    return made.ok() ? std::string((*made)->tier()) : made.status().ToString();
  };
  EXPECT_EQ(tier(int64_t{4} << 20), "host");
  EXPECT_EQ(tier(int64_t{64} << 20), "ready");
}

TEST_F(DeviceProgramTest, TheHostUpdatesStatesUntilThereAreExactKernels) {
  if (device_->info().type != hal::DeviceType::kCpu) GTEST_SKIP() << "only CPUs start on the host";
  DeviceOptions options;
  options.use_disk_cache = false;
  const auto device = Device::Open("", options);
  ASSERT_TRUE(device.ok()) << device.status();
  const Tensor a = Tensor::Placeholder("a", {kFloat, {2}});
  const Tensor b = Tensor::Placeholder("b", {kFloat, {2}});
  const Tensor x = Tensor::Placeholder("x", {kFloat, {2}});
  const std::vector<Tensor> next =
      Call("function (A, B, X) -> (N, Y) { N = A + X; Y = 2 * A; }", {a, b, x});
  const auto create = [&] {  // the states change places
    return DeviceProgram::Create(*device, {{x}, {{a, b}, {b, next[0]}}, {next[1], x}, "step"},
                                 nullptr, CompileWhere::kSoonest);
  };
  auto first = DeviceTensor::FromHost(**device, Floats({2}, {1, 2}));
  auto second = DeviceTensor::FromHost(**device, Floats({2}, {30, 40}));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto run = [&](DeviceProgram& program, const HostTensor& input) {
    EXPECT_EQ(program.Bind({*first, *second}), absl::OkStatus());
    EXPECT_EQ(program.Start({input}), absl::OkStatus());
    return *program.Outputs();
  };
  const auto host = create();
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_EQ((*host)->tier(), "host");
  const HostTensor input = Floats({2}, {5, 6});
  const std::vector<HostTensor> outputs = run(**host, input);
  EXPECT_THAT(outputs[0].ToDoubles(), ElementsAre(2, 4));
  EXPECT_THAT(outputs[1].ToDoubles(), ElementsAre(5, 6));
  EXPECT_NE(outputs[1].bytes().data(), input.bytes().data());  // its owner may change it
  EXPECT_THAT(first->ToHost()->ToDoubles(), ElementsAre(30, 40));
  EXPECT_THAT(second->ToHost()->ToDoubles(), ElementsAre(6, 8));

  ASSERT_TRUE(DeviceProgram::Create((*device)->WithTier(compiler::Tier::kExact),
                                    {{x}, {{a, b}, {b, next[0]}}, {next[1], x}, "step"})
                  .ok());
  const auto exact = create();
  ASSERT_TRUE(exact.ok()) << exact.status();
  EXPECT_EQ((*exact)->tier(), "exact");
  EXPECT_THAT(run(**exact, input)[0].ToDoubles(), ElementsAre(60, 80));
  EXPECT_THAT(first->ToHost()->ToDoubles(), ElementsAre(6, 8));
  EXPECT_THAT(second->ToHost()->ToDoubles(), ElementsAre(35, 46));
}

// Two different programs stand in for the ready kernels and for exact kernels with wrong results.
TEST_F(DeviceProgramTest, ASwapIsCheckedFromTheSameStates) {
  setenv("TARTAN_CHECK_SWAP", "1", 1);
  const Tensor x = Tensor::Placeholder("x", {kFloat, {3}});
  const Tensor b = Tensor::Placeholder("b", {kFloat, {3}});
  auto memory = DeviceTensor::FromHost(*device_, Floats({3}, {1, 2, 3}));
  ASSERT_TRUE(memory.ok()) << memory.status();
  const auto program = [&](const std::string& text) {
    const std::vector<Tensor> next = Call(text, {x, b});
    auto made = DeviceProgram::Create(device_, {{b}, {{x, next[0]}}, {next[1]}, "step"});
    EXPECT_TRUE(made.ok() && (*made)->Bind({*memory}).ok()) << made.status();
    return *std::move(made);
  };
  const auto ready = program("function (X, B) -> (N, Y) { N = 2 * X + B; Y = X + B; }");
  const auto same = program("function (X, B) -> (N, Y) { N = X + B + X; Y = B + X; }");
  const auto output = program("function (X, B) -> (N, Y) { N = 2 * X + B; Y = X + 2 * B; }");
  const auto state = program("function (X, B) -> (N, Y) { N = 3 * X + B; Y = X + B; }");
  const std::vector<HostTensor> inputs = {Floats({3}, {10, 10, 10})};
  EXPECT_EQ(same->CompareWithReady(*ready, inputs), absl::OkStatus());
  EXPECT_THAT(output->CompareWithReady(*ready, inputs).message(),
              HasSubstr("exact kernels give 21 for element 0 of output 0"));
  EXPECT_THAT(state->CompareWithReady(*ready, inputs).message(),
              HasSubstr("exact kernels give 13 for element 0 of output 1"));
  EXPECT_THAT(memory->ToHost()->ToDoubles(), ElementsAre(1, 2, 3));
  unsetenv("TARTAN_CHECK_SWAP");
  EXPECT_EQ(state->CompareWithReady(*ready, inputs), absl::OkStatus());
}

// Two states, x' = a x + b and y' = y + x; the second reads the first.
TEST_F(DeviceProgramTest, StatesChangeFromRunToRun) {
  const Tensor x = Tensor::Placeholder("x", {kFloat, {3}});
  const Tensor y = Tensor::Placeholder("y", {kFloat, {3}});
  const Tensor b = Tensor::Placeholder("b", {kFloat, {3}});
  const std::vector<Tensor> next =
      Call("function (X, Y, B) -> (NX, NY, S) { NX = 2 * X + B; NY = Y + X; S[] = +(NX[i]); }",
           {x, y, b});
  auto program =
      DeviceProgram::Create(device_, {{b}, {{x, next[0]}, {y, next[1]}}, {next[2]}, "step"});
  ASSERT_TRUE(program.ok()) << program.status();
  const auto start = [&](float value) {
    return (*program)->Start({Floats({3}, {value, value, value})});
  };
  EXPECT_EQ(start(1).code(), absl::StatusCode::kFailedPrecondition);
  auto x_memory = DeviceTensor::FromHost(*device_, Floats({3}, {1, 2, 3}));
  auto y_memory = DeviceTensor::Zeros(*device_, {kFloat, {3}});
  ASSERT_TRUE((*program)->Bind({*x_memory, *y_memory}).ok());
  ASSERT_TRUE(start(1).ok());
  ASSERT_TRUE(start(10).ok());
  ASSERT_TRUE(start(0).ok());
  const auto outputs = (*program)->Outputs();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  // x: 1 2 3 -> 3 5 7 -> 16 20 24 -> 32 40 48
  EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(120));
  EXPECT_THAT(x_memory->ToHost()->ToDoubles(), ElementsAre(32, 40, 48));
  EXPECT_THAT(y_memory->ToHost()->ToDoubles(), ElementsAre(20, 27, 34));
}

TEST_F(DeviceProgramTest, OnADeviceInFloat64StatesInputsConstantsAndOutputsAreFloat64) {
  if (!device_->info().settings.has_float64) GTEST_SKIP() << "the device has no float64";
  const auto wide = device_->InFloat64();
  ASSERT_TRUE(wide.ok()) << wide.status();
  const Tensor x = Tensor::Placeholder("x", {kFloat, {2}});
  const Tensor b = Tensor::Placeholder("b", {kFloat, {2}});
  const Tensor c = Tensor::Constant(Floats({2}, {3, 5}));
  const std::vector<Tensor> next =
      Call("function (X, B, C) -> (NX, Y) { NX = X + B; Y = X * C; }", {x, b, c});
  auto program = DeviceProgram::Create(*wide, {{b}, {{x, next[0]}}, {next[1]}, "step"});
  ASSERT_TRUE(program.ok()) << program.status();
  const double first = 1 + 1e-12;
  const auto narrow = DeviceTensor::FromHost(**wide, Floats({2}, {1, 1}));
  ASSERT_TRUE(narrow.ok());
  EXPECT_THAT((*program)->Bind({*narrow}).message(), HasSubstr("float64[2], not float32[2]"));
  const auto state = DeviceTensor::FromHost(
      **wide, HostTensor::FromVector({DataType::kFloat64, {2}}, std::vector<double>{first, 2}));
  ASSERT_TRUE(state.ok());
  ASSERT_TRUE((*program)->Bind({*state}).ok());
  ASSERT_TRUE((*program)->Start({Floats({2}, {1, 0.5})}).ok());
  const auto outputs = (*program)->Outputs();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(3 * first, 10));
  EXPECT_THAT(state->ToHost()->ToDoubles(), ElementsAre(first + 1, 2.5));
}

// Each run writes one row of a cache; the other rows are neither read nor written.
TEST_F(DeviceProgramTest, RowsAreScatteredIntoAState) {
  constexpr int64_t kRows = 1000;
  const Tensor cache = Tensor::Placeholder("cache", {kFloat, {kRows, 16}});
  const Tensor row = Tensor::Placeholder("row", {kFloat, {1, 16}});
  const Tensor at = Tensor::Placeholder("at", {DataType::kInt32, {1}});
  const std::vector<Tensor> next = Call(
      "function (C, X, N) -> (Y, S) { AT = index(X, 0) + reshape(N, 1, 1); "
      "Y = scatter_elements(C, AT, X, 0); S[j : 16] = +(Y[i, j]); }",
      {cache, row, at});
  auto program =
      DeviceProgram::Create(device_, {{row, at}, {{cache, next[0]}}, {next[1]}, "append"});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_LT((*program)->memory().scratch, kRows * 16 * 4);  // no second copy of the cache
  auto memory = DeviceTensor::Zeros(*device_, {kFloat, {kRows, 16}});
  ASSERT_TRUE((*program)->Bind({*memory}).ok());
  for (int run = 0; run < 3; ++run) {
    const HostTensor x = Floats({1, 16}, std::vector<float>(16, 1.0f + run));
    const HostTensor n = HostTensor::FromVector<int32_t>({DataType::kInt32, {1}}, {7 * run});
    ASSERT_TRUE((*program)->Start({x, n}).ok());
  }
  EXPECT_THAT((*program)->Outputs()->at(0).ToDoubles(), testing::Each(6));
  const std::vector<double> all = memory->ToHost()->ToDoubles();
  for (int64_t r = 0; r < kRows; ++r) {
    EXPECT_EQ(all[r * 16 + 3], r == 0 ? 1 : r == 7 ? 2 : r == 14 ? 3 : 0) << r;
  }
}

TEST_F(DeviceProgramTest, SeveralProgramsShareTheirStates) {
  const Tensor x = Tensor::Placeholder("x", {kFloat, {4}});
  const Tensor grown = Call("function (X) -> (Y) { Y = X * 3; }", {x})[0];
  const Tensor sum = Call("function (X) -> (S) { S[] = +(X[i]); }", {x})[0];
  auto grow = DeviceProgram::Create(device_, {{}, {{x, grown}}, {}, "grow"});
  auto look = DeviceProgram::Create(device_, {{}, {{x, Tensor()}}, {sum}, "look"});
  ASSERT_TRUE(grow.ok() && look.ok()) << grow.status() << look.status();
  auto memory = DeviceTensor::FromHost(*device_, Floats({4}, {1, 1, 1, 1}));
  ASSERT_TRUE((*grow)->Bind({*memory}).ok());
  ASSERT_TRUE((*look)->Bind({*memory}).ok());
  ASSERT_TRUE((*grow)->Start({}).ok());
  ASSERT_TRUE((*look)->Start({}).ok());
  EXPECT_THAT((*(*look)->Outputs())[0].ToDoubles(), ElementsAre(12));
  ASSERT_TRUE((*grow)->Start({}).ok());
  ASSERT_TRUE((*look)->Start({}).ok());
  EXPECT_THAT((*(*look)->Outputs())[0].ToDoubles(), ElementsAre(36));
}

// Gradient descent on the device finds the weights of a linear regression.
TEST_F(DeviceProgramTest, GradientDescentFindsTheWeights) {
  const Tensor w = Tensor::Placeholder("w", {kFloat, {3}});
  const Tensor x = Tensor::Placeholder("x", {kFloat, {8, 3}});
  const Tensor t = Tensor::Placeholder("t", {kFloat, {8}});
  const Tensor loss = Call(
      "function (W[K], X[N, K], T[N]) -> (L) { Y[n : N] = +(X[n, k] * W[k]);"
      " D = Y - T; S[] = +(D[n] * D[n]); L = S / N; }",
      {w, x, t})[0];
  const auto gradient = Gradient(loss, {w});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  const Tensor next = Call("function (W, G) -> (N) { N = W - 0.2 * G; }", {w, (*gradient)[0]})[0];
  auto step = DeviceProgram::Create(device_, {{x, t}, {{w, next}}, {loss}, "descent"});
  ASSERT_TRUE(step.ok()) << step.status();
  auto memory = DeviceTensor::Zeros(*device_, {kFloat, {3}});
  ASSERT_TRUE((*step)->Bind({*memory}).ok());
  std::vector<float> xs;
  std::vector<float> ts;
  for (int n = 0; n < 8; ++n) {
    const float row[] = {static_cast<float>(n % 3 - 1), static_cast<float>(n % 2),
                         static_cast<float>(n) / 4 - 1};
    xs.insert(xs.end(), row, row + 3);
    ts.push_back(2 * row[0] - row[1] + 0.5f * row[2]);
  }
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE((*step)->Start({Floats({8, 3}, xs), Floats({8}, ts)}).ok());
  }
  EXPECT_LT((*(*step)->Outputs())[0].GetDouble(0), 1e-8);
  const std::vector<double> found = memory->ToHost()->ToDoubles();
  EXPECT_NEAR(found[0], 2, 1e-3);
  EXPECT_NEAR(found[1], -1, 1e-3);
  EXPECT_NEAR(found[2], 0.5, 1e-3);
}

TEST_F(DeviceProgramTest, SaysWhatDoesNotFit) {
  const Tensor x = Tensor::Placeholder("x", {kFloat, {3}});
  const Tensor y = Tensor::Placeholder("y", {kFloat, {3}});
  const Tensor sum = Call("function (X) -> (S) { S[] = +(X[i]); }", {x})[0];
  const Tensor both = Call("function (X, Y) -> (Z) { Z = X + Y; }", {x, y})[0];
  const auto message = [&](std::vector<Tensor> inputs, ProgramState state) {
    return std::string(
        DeviceProgram::Create(device_, {std::move(inputs), {std::move(state)}, {}, "p"})
            .status()
            .message());
  };
  EXPECT_THAT(message({}, {x, sum}), HasSubstr("its next value is float32[]"));
  EXPECT_THAT(message({}, {x, both}), HasSubstr("depends on 'y'"));
  EXPECT_THAT(message({both}, {x, x}), HasSubstr("is not a placeholder"));
  auto program = DeviceProgram::Create(device_, {{y}, {{x, both}}, {}, "p"});
  ASSERT_TRUE(program.ok()) << program.status();
  auto small = DeviceTensor::Zeros(*device_, {kFloat, {2}});
  EXPECT_THAT((*program)->Bind({*small}).message(), HasSubstr("float32[3], not float32[2]"));
  EXPECT_THAT((*program)->Bind({}).message(), HasSubstr("1 states, not 0"));
}

}  // namespace
}  // namespace tartan::api::device_program_test
