// SPDX-License-Identifier: Apache-2.0
// Tests that states fed back by a session give the same results as states fed back by the caller.
#include "frontend/api/resident/state_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/api/function.h"
#include "tests/frontend/api/background_barrier.h"
#include "tests/frontend/api/test_model.h"

namespace tartan::api::state_session_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A model defined by its inputs, its outputs and a Tile function.
class TileModel : public Model {
 public:
  using Text = std::function<std::string(absl::Span<const InputBinding>)>;

  // `constants` are the function's last inputs.
  TileModel(std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs, Text text,
            std::vector<Tensor> constants = {})
      : inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        text_(std::move(text)),
        constants_(std::move(constants)) {}

  const std::string& name() const override { return name_; }
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                  Resolver* /*resolver*/) const override {
    BoundGraph graph;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      graph.placeholders.push_back(Tensor::Placeholder(inputs_[i].name, bindings[i].shape));
    }
    auto function = Function::FromTile(text_(bindings));
    if (!function.ok()) return function.status();
    std::vector<Tensor> arguments = graph.placeholders;
    arguments.insert(arguments.end(), constants_.begin(), constants_.end());
    auto outputs = function->Apply(arguments);
    if (!outputs.ok()) return outputs.status();
    graph.outputs.assign(outputs->begin(), outputs->end());
    return graph;
  }

 private:
  const std::string name_ = "test";
  const std::vector<TensorSpec> inputs_;
  const std::vector<TensorSpec> outputs_;
  const Text text_;
  const std::vector<Tensor> constants_;
};

// h' = h / 2 + x, y = sum of h', k' = h. The state k holds the previous value of h.
std::shared_ptr<Model> Recurrent() {
  return std::make_shared<TileModel>(
      std::vector{FloatSpec("x", {3}), FloatSpec("h", {3}), FloatSpec("k", {3})},
      std::vector{FloatSpec("h_next", {3}), FloatSpec("y", {}), FloatSpec("k_next", {3})},
      [](absl::Span<const InputBinding>) {
        return "function (X, H, K) -> (N, Y, M) { N = H * 0.5 + X; Y[] = +(N[i]); "
               "M = H + 0 * K; }";
      });
}

// Appends x[1, S] to a cache [1, P]; y is the sum of all elements.
std::shared_ptr<Model> Growing() {
  TensorSpec x = FloatSpec("x", {1, -1});
  x.dim_names = {"batch", "length"};
  TensorSpec past = FloatSpec("past", {-1, -1});
  past.dim_names = {"batch", "past_length"};
  return std::make_shared<TileModel>(
      std::vector{x, past}, std::vector{FloatSpec("y", {}), FloatSpec("present", {-1, -1})},
      [](absl::Span<const InputBinding> bindings) {
        const int64_t before = bindings[1].shape.dims[1];
        const int64_t added = bindings[0].shape.dims[1];
        const std::string all = absl::StrCat(before + added);
        if (before == 0) {
          return std::string("function (X, P) -> (Y, N) { N = X + 0; Y[] = +(N[b, i]); }");
        }
        return absl::StrCat("function (X, P) -> (Y, N) { A[b, i : 1, ", all,
                            "] = =(P[b, i]); B[b, i + ", before, " : 1, ", all,
                            "] = =(X[b, i]); N = A + B; Y[] = +(N[b, i]); }");
      });
}

TEST(UsualStatePairs, AreThoseWhoseNamesSaySo) {
  const TileModel model(
      {FloatSpec("input_ids", {1}), FloatSpec("past_key_values.0.key", {1}),
       FloatSpec("past_key_values.0.value", {1}), FloatSpec("past_1", {1}), FloatSpec("past", {1}),
       FloatSpec("past_lone", {1})},
      {FloatSpec("logits", {1}), FloatSpec("present.0.value", {1}), FloatSpec("present.0.key", {1}),
       FloatSpec("present_1", {1}), FloatSpec("present", {1})},
      [](absl::Span<const InputBinding>) { return ""; });
  std::string text;
  for (const StatePair& pair : UsualStatePairs(model)) {
    absl::StrAppend(&text, pair.present, "=", pair.past, " ");
  }
  EXPECT_EQ(text,
            "present.0.key=past_key_values.0.key present.0.value=past_key_values.0.value "
            "present_1=past_1 present=past ");
}

HostTensor Row(const std::vector<float>& values) {
  return HostTensor::FromVector({DataType::kFloat32, {1, static_cast<int64_t>(values.size())}},
                                values);
}

class StateSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    static const auto* const device = new absl::StatusOr<std::shared_ptr<Device>>(Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    device_ = **device;
  }

  absl::StatusOr<std::unique_ptr<StateSession>> Make(std::vector<StatePair> pairs,
                                                     SessionOptions options = ExactAtOnce()) {
    return StateSession::Create(Recurrent(), device_, std::move(pairs), std::move(options));
  }

  std::shared_ptr<Device> device_;
};

TEST(ParseStatePair, TakesTwoNames) {
  EXPECT_EQ(ParseStatePair("a=b")->present, "a");
  EXPECT_EQ(ParseStatePair("a=b")->past, "b");
  for (const char* bad : {"", "a", "=b", "a="}) {
    EXPECT_THAT(ParseStatePair(bad).status().message(), HasSubstr("PRESENT=PAST")) << bad;
  }
}

TEST_F(StateSessionTest, StatesOfOneSizeStayOnTheDevice) {
  for (const Tier tier : {Tier::kExact, Tier::kReady, Tier::kAuto}) {
    SessionOptions options;
    options.tier = tier;
    auto session = Make({{"h_next", "h"}, {"k_next", "k"}}, options);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_THAT((*session)->inputs(), SizeIs(1));
    EXPECT_THAT((*session)->outputs(), SizeIs(1));
    double h = 0;
    double before = 0;
    for (int run = 0; run < 6; ++run) {
      if (run == 4) {
        EXPECT_EQ((*session)->WaitForExact(), absl::OkStatus());
      }
      auto outputs = (*session)->Run({{"x", Constant(3, static_cast<float>(run))}});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      before = h;
      h = h / 2 + run;
      EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(3 * h)) << run;
      EXPECT_TRUE((*session)->stays());
    }
    EXPECT_THAT((*session)->Get("h")->ToDoubles(), ElementsAre(h, h, h));
    EXPECT_THAT((*session)->Get("k")->ToDoubles(), ElementsAre(before, before, before));
    ASSERT_TRUE((*session)->Set("h", Constant(3, 8)).ok());
    auto outputs = (*session)->Run({{"x", Constant(3, 1)}});
    EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(15));
    EXPECT_THAT((*session)->Get("k")->ToDoubles(), ElementsAre(8, 8, 8));
    (*session)->Reset();
    EXPECT_EQ((*session)->Get("h").status().code(), absl::StatusCode::kFailedPrecondition);
    outputs = (*session)->Run({{"x", Constant(3, 1)}});
    EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(3));
  }
}

// Weights belong to programs, states do not.
TEST_F(StateSessionTest, ReleasedProgramsGiveBackTheirMemoryAndKeepStates) {
  constexpr int64_t kWeights = 1 << 20;
  const auto model = std::make_shared<TileModel>(
      std::vector{FloatSpec("x", {3}), FloatSpec("h", {3})},
      std::vector{FloatSpec("h_next", {3}), FloatSpec("y", {})},
      [](absl::Span<const InputBinding>) {
        return "function (X, H, W) -> (N, Y) { N = H * 0.5 + X; Y[] = +(N[i] * W[j]); }";
      },
      std::vector{Tensor::Constant(Constant(kWeights, 1.0 / kWeights))});
  for (const Tier tier : {Tier::kExact, Tier::kReady}) {
    SessionOptions options;
    options.tier = tier;
    const auto allocated = [&] { return device_->hal()->statistics().allocated_bytes; };
    const int64_t before = allocated();
    const auto session = StateSession::Create(model, device_, {{"h_next", "h"}}, options);
    ASSERT_TRUE(session.ok()) << session.status();
    double h = 0;
    for (int run = 1; run <= 4; ++run) {
      const auto outputs = (*session)->Run({{"x", Constant(3, static_cast<float>(run))}});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      h = h / 2 + run;
      EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(3 * h)) << run;
      EXPECT_GE(allocated() - before, 4 * kWeights);
      if (run % 2 > 0) continue;
      (*session)->ReleasePrograms();
      EXPECT_LT(allocated() - before, kWeights);
      EXPECT_THAT((*session)->Get("h")->ToDoubles(), ElementsAre(h, h, h));
    }
  }
}

// A device without compiled exact kernels.
std::shared_ptr<Device> FreshDevice() {
  DeviceOptions options;
  options.use_disk_cache = false;
  auto device = Device::Open("", options);
  EXPECT_TRUE(device.ok()) << device.status();
  return *std::move(device);
}

class StateSessionTiers : public StateSessionTest {
 protected:
  // A session of Recurrent whose state `h` starts at 0 and whose input is 1. With memory bound to
  // "x" and "y", runs have no inputs and return no outputs.
  struct Running {
    std::unique_ptr<StateSession> session;
    DeviceTensor y = {};  // defined when memory is bound
    double h = 0;

    RunStatistics Run() {
      RunStatistics statistics;
      std::map<std::string, HostTensor> inputs;
      if (!y.defined()) inputs.emplace("x", Constant(3, 1));
      const auto outputs = session->Run(inputs, &statistics);
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_TRUE(session->stays());
      h = h / 2 + 1;
      EXPECT_THAT((y.defined() ? *y.ToHost() : outputs->at(0)).ToDoubles(), ElementsAre(3 * h));
      EXPECT_EQ(statistics.exact_programs + statistics.ready_programs, 1);
      return statistics;
    }
    void KeepOnDevice(const std::shared_ptr<Device>& device) {
      auto x = DeviceTensor::FromHost(*device, Constant(3, 1));
      auto memory = DeviceTensor::Zeros(*device, {DataType::kFloat32, {}});
      ASSERT_TRUE(x.ok() && memory.ok());
      y = *memory;
      EXPECT_EQ(session->Bind("x", *x), absl::OkStatus());
      EXPECT_EQ(session->Bind("y", y), absl::OkStatus());
    }
  };

  static Running Make(const std::shared_ptr<Device>& device, SessionOptions options) {
    auto session = StateSession::Create(Recurrent(), device, {{"h_next", "h"}, {"k_next", "k"}},
                                        std::move(options));
    EXPECT_TRUE(session.ok()) << session.status();
    return {*std::move(session)};
  }
};

TEST_F(StateSessionTiers, RunsReachExactKernelsWhereverInputsAre) {
  for (const bool is_on_device : {false, true}) {
    const std::shared_ptr<Device> device = FreshDevice();
    SessionOptions options;
    options.exact_lost_share = 0;
    Running running = Make(device, options);
    if (is_on_device) running.KeepOnDevice(device);
    for (int run = 0; run < 2; ++run) EXPECT_EQ(running.Run().ready_programs, 1) << run;
    WaitForBackground();
    EXPECT_EQ(running.Run().exact_programs, 1) << is_on_device;
    EXPECT_EQ(running.Run().exact_programs, 1) << is_on_device;
  }
}

// Binding memory creates another program, as in `tartan bench --on-device`.
TEST_F(StateSessionTiers, WaitingMakesThoseExactThatHaveRunSinceMemoryWasBound) {
  const std::shared_ptr<Device> device = FreshDevice();
  SessionOptions options;
  options.exact_after_runs = 0;
  Running running = Make(device, options);
  EXPECT_EQ(running.Run().ready_programs, 1);
  EXPECT_EQ(running.session->WaitForExact(), absl::OkStatus());
  EXPECT_EQ(running.Run().exact_programs, 1);
  running.KeepOnDevice(device);
  EXPECT_EQ(running.Run().ready_programs, 1);
  EXPECT_EQ(running.session->WaitForExact(), absl::OkStatus());
  EXPECT_EQ(running.Run().exact_programs, 1);
}

TEST_F(StateSessionTest, OneOfTwoStatesMayBeTheCallers) {
  auto session = Make({{"h_next", "h"}});
  ASSERT_TRUE(session.ok()) << session.status();
  auto outputs = (*session)->Run({{"x", Constant(3, 2)}, {"k", Constant(3, 0)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(6));
  EXPECT_THAT((*outputs)[1].ToDoubles(), ElementsAre(0, 0, 0));
  outputs = (*session)->Run({{"x", Constant(3, 2)}, {"k", Constant(3, 0)}});
  EXPECT_THAT((*outputs)[1].ToDoubles(), ElementsAre(2, 2, 2));
}

TEST_F(StateSessionTest, StatesThatGrowBeginEmpty) {
  auto session = StateSession::Create(Growing(), device_, {{"present", "past"}}, ExactAtOnce());
  ASSERT_TRUE(session.ok()) << session.status();
  double sum = 0;
  for (int run = 1; run < 5; ++run) {
    auto outputs = (*session)->Run({{"x", Row({1.0f * run, 1})}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    sum += run + 1;
    EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(sum));
    EXPECT_FALSE((*session)->stays());
  }
  EXPECT_THAT((*session)->Get("past")->ToDoubles(), ElementsAre(1, 1, 2, 1, 3, 1, 4, 1));
}

TEST_F(StateSessionTest, InputsAndOutputsMayBeInMemoryOfTheCaller) {
  auto session = Make({{"h_next", "h"}});
  ASSERT_TRUE(session.ok()) << session.status();
  auto x = DeviceTensor::FromHost(*device_, Constant(3, 1));
  auto y = DeviceTensor::Zeros(*device_, {DataType::kFloat32, {}});
  ASSERT_TRUE((*session)->Bind("x", *x).ok());
  ASSERT_TRUE((*session)->Bind("y", *y).ok());
  EXPECT_THAT((*session)->inputs(), SizeIs(1));
  EXPECT_THAT((*session)->outputs(), SizeIs(1));
  for (const double wanted : {3.0, 4.5}) {
    auto outputs = (*session)->Run({{"k", Constant(3, 0)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(*outputs, SizeIs(1));  // k_next
    EXPECT_THAT(y->ToHost()->ToDoubles(), ElementsAre(wanted));
  }
  // The caller assigns other values and binds other memory.
  ASSERT_TRUE(x->Assign(Constant(3, 10)).ok());
  auto other = DeviceTensor::Zeros(*device_, {DataType::kFloat32, {}});
  ASSERT_TRUE((*session)->Bind("y", *other).ok());
  ASSERT_TRUE((*session)->Run({{"k", Constant(3, 0)}}).ok());
  EXPECT_THAT(other->ToHost()->ToDoubles(), ElementsAre(32.25));
  EXPECT_THAT(y->ToHost()->ToDoubles(), ElementsAre(4.5));
  EXPECT_THAT(x->ToHost()->ToDoubles(), ElementsAre(10, 10, 10));
  EXPECT_THAT((*session)->Bind("h", *x).message(), HasSubstr("'h' is a state"));
  EXPECT_THAT((*session)->Bind("z", *x).message(), HasSubstr("no input or output 'z'"));
  EXPECT_THAT((*session)->Bind("x", *y).message(), HasSubstr("x: float32[3]"));
}

TEST_F(StateSessionTest, MemoryOfTheCallerIsUsedThroughTheHost) {
  auto session = StateSession::Create(Growing(), device_, {{"present", "past"}}, ExactAtOnce());
  ASSERT_TRUE(session.ok()) << session.status();
  auto x = DeviceTensor::FromHost(*device_, Row({1, 2}));
  auto y = DeviceTensor::Zeros(*device_, {DataType::kFloat32, {}});
  ASSERT_TRUE((*session)->Bind("x", *x).ok());
  ASSERT_TRUE((*session)->Bind("y", *y).ok());
  for (const double wanted : {3, 6, 9}) {
    ASSERT_TRUE((*session)->Run({}).ok());
    EXPECT_FALSE((*session)->stays());
    EXPECT_THAT(y->ToHost()->ToDoubles(), ElementsAre(wanted));
  }
  auto narrow = DeviceTensor::Zeros(*device_, {DataType::kFloat32, {1, 3}});
  ASSERT_TRUE((*session)->Bind("x", *narrow).ok());
  ASSERT_TRUE((*session)->Run({}).ok());
}

TEST_F(StateSessionTest, RefusesNamesThatAreNotThere) {
  EXPECT_THAT(Make({{"g", "h"}}).status().message(),
              testing::AllOf(HasSubstr("no output 'g'"), HasSubstr("h_next, y, k_next")));
  EXPECT_THAT(Make({{"h_next", "g"}}).status().message(),
              testing::AllOf(HasSubstr("no input 'g'"), HasSubstr("x, h, k")));
  EXPECT_THAT(Make({{"h_next", "h"}, {"k_next", "h"}}).status().message(),
              HasSubstr("another state"));
  auto session = Make({{"h_next", "h"}});
  ASSERT_TRUE(session.ok());
  const HostTensor x = Constant(3, 0);
  EXPECT_THAT((*session)->Run({{"x", x}, {"k", x}, {"h", x}}).status().message(),
              HasSubstr("'h' is a state"));
  EXPECT_THAT((*session)->Run({{"x", x}}).status().message(), HasSubstr("'k' is missing"));
  EXPECT_THAT((*session)->Set("x", x).message(), HasSubstr("'x' is not a state"));
  EXPECT_THAT((*session)->Set("h", Constant(4, 0)).message(), HasSubstr("float32[4]"));
}

}  // namespace
}  // namespace tartan::api::state_session_test
