// SPDX-License-Identifier: Apache-2.0
// Tests of training steps on the device, against references, with various batch sizes.
#include "frontend/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::trainer_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Pointwise;
using testing::UnorderedElementsAre;

// The network x[N, 5] -> relu(x W1 + b1) W2 + b2: y[N, 3], with an intermediate value for dropout.
std::string MlpText(bool with_dropout = false) {
  return absl::StrCat(
      "graph { name: 'mlp' ", ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      InitializerText("w1", {5, 8}, Numbers(40, 1)), InitializerText("b1", {8}, Numbers(8, 2)),
      InitializerText("w2", {8, 3}, Numbers(24, 3)), InitializerText("b2", {3}, Numbers(3, 4)),
      NodeText("MatMul", {"x", "w1"}, {"h0"}), NodeText("Add", {"h0", "b1"}, {"h1"}),
      NodeText("Relu", {"h1"}, {"h2"}),
      with_dropout ? NodeText("Dropout", {"h2"}, {"h3"}) : NodeText("Identity", {"h2"}, {"h3"}),
      NodeText("MatMul", {"h3", "w2"}, {"h4"}), NodeText("Add", {"h4", "b2"}, {"y"}), "}");
}

class TrainerTest : public DeviceTest {
 protected:
  absl::StatusOr<std::unique_ptr<Trainer>> Make(const std::string& text,
                                                const TrainerOptions& options) const {
    const auto model = LoadToTrain(text);
    if (!model.ok()) return model.status();
    return Trainer::Create(*model, device_, options);
  }

  std::unique_ptr<Trainer> MustMake(const std::string& text, const TrainerOptions& options) const {
    auto trainer = Make(text, options);
    EXPECT_TRUE(trainer.ok()) << trainer.status();
    return *std::move(trainer);
  }
};

// The reference network in float64.
struct Mlp {
  std::vector<double> w1, b1, w2, b2;

  Mlp() {
    const auto wide = [](const std::vector<float>& v) {
      return std::vector<double>(v.begin(), v.end());
    };
    w1 = wide(Numbers(40, 1));
    b1 = wide(Numbers(8, 2));
    w2 = wide(Numbers(24, 3));
    b2 = wide(Numbers(3, 4));
  }

  // One step of plain gradient descent; returns the loss before it.
  double Step(const HostTensor& x, const HostTensor& classes, double rate) {
    const int64_t n = x.shape().dims[0];
    Mlp gradient = *this;
    for (auto* g : {&gradient.w1, &gradient.b1, &gradient.w2, &gradient.b2})
      std::fill(g->begin(), g->end(), 0);
    double loss = 0;
    for (int64_t i = 0; i < n; ++i) {
      double h[8], y[3], d[3];
      for (int j = 0; j < 8; ++j) {
        h[j] = b1[j];
        for (int k = 0; k < 5; ++k) h[j] += x.GetDouble(5 * i + k) * w1[8 * k + j];
        h[j] = std::max(h[j], 0.0);
      }
      double sum = 0;
      for (int c = 0; c < 3; ++c) {
        y[c] = b2[c];
        for (int j = 0; j < 8; ++j) y[c] += h[j] * w2[3 * j + c];
        sum += std::exp(y[c]);
      }
      const int64_t t = classes.GetInt(i);
      loss += (std::log(sum) - y[t]) / static_cast<double>(n);
      for (int c = 0; c < 3; ++c) {
        d[c] = (std::exp(y[c]) / sum - (c == t)) / static_cast<double>(n);
        gradient.b2[c] += d[c];
      }
      for (int j = 0; j < 8; ++j) {
        double back = 0;
        for (int c = 0; c < 3; ++c) {
          gradient.w2[3 * j + c] += h[j] * d[c];
          back += w2[3 * j + c] * d[c];
        }
        if (h[j] <= 0) continue;
        gradient.b1[j] += back;
        for (int k = 0; k < 5; ++k) gradient.w1[8 * k + j] += x.GetDouble(5 * i + k) * back;
      }
    }
    const auto move = [rate](std::vector<double>* p, const std::vector<double>& g) {
      for (size_t i = 0; i < p->size(); ++i) (*p)[i] -= rate * g[i];
    };
    move(&w1, gradient.w1);
    move(&b1, gradient.b1);
    move(&w2, gradient.w2);
    move(&b2, gradient.b2);
    return loss;
  }
};

TrainerOptions Descent() {
  TrainerOptions options;
  options.optimizer.kind = OptimizerKind::kSgd;
  return options;
}

TEST_F(TrainerTest, StepsAreThoseOfANetworkByHand) {
  const auto trainer = MustMake(MlpText(), Descent());
  Mlp reference;
  for (int step = 0; step < 20; ++step) {
    // Alternates between two batch sizes, one of them odd.
    const int64_t count = step % 2 == 0 ? 16 : 7;
    const HostTensor x = Images(count, 100 + static_cast<uint64_t>(step));
    const HostTensor t = ClassesFor(count, 200 + static_cast<uint64_t>(step));
    ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.5), absl::OkStatus());
    const auto progress = trainer->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_NEAR(progress->loss, reference.Step(x, t, 0.5), 1e-5) << "step " << step;
    EXPECT_EQ(progress->steps, 1);
  }
  const auto values = trainer->Values();
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, UnorderedElementsAre(Key("w1"), Key("b1"), Key("w2"), Key("b2")));
  EXPECT_THAT(values->at("w1").ToDoubles(), Pointwise(DoubleNear(1e-5), reference.w1));
  EXPECT_THAT(values->at("b2").ToDoubles(), Pointwise(DoubleNear(1e-5), reference.b2));
}

TEST_F(TrainerTest, SeveralStepsAreReadTogether) {
  const auto trainer = MustMake(MlpText(), Descent());
  Mlp reference;
  double sum = 0;
  for (int step = 0; step < 8; ++step) {
    const HostTensor x = Images(4, 300 + static_cast<uint64_t>(step));
    const HostTensor t = ClassesFor(4, 400 + static_cast<uint64_t>(step));
    ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
    sum += reference.Step(x, t, 0.1);
  }
  const auto progress = trainer->Read();
  ASSERT_TRUE(progress.ok());
  EXPECT_EQ(progress->steps, 8);
  EXPECT_NEAR(progress->loss, sum / 8, 1e-5);
  EXPECT_EQ(trainer->Read()->steps, 0);
}

TEST_F(TrainerTest, AccumulatedStepsAreOneOfTheWholeBatch) {
  TrainerOptions options;
  options.optimizer.decay = 0.05;
  options.clip_norm = 0.1;
  const auto whole = MustMake(MlpText(), options);
  options.accumulate = 2;
  const auto halves = MustMake(MlpText(), options);
  const HostTensor x = Images(8, 5);
  const HostTensor t = ClassesFor(8, 6);
  const auto rows = [](const HostTensor& all, int64_t begin) {
    TensorShape shape = all.shape();
    shape.dims[0] = 4;
    return HostTensor(shape, all.bytes().subspan(static_cast<size_t>(begin * shape.byte_size() / 4),
                                                 static_cast<size_t>(shape.byte_size())));
  };
  for (int step = 0; step < 5; ++step) {
    ASSERT_EQ(whole->Step({{"x", x}}, t, 0.01), absl::OkStatus());
    ASSERT_EQ(halves->Step({{"x", rows(x, 0)}}, rows(t, 0), 0.01), absl::OkStatus());
    ASSERT_EQ(halves->Step({{"x", rows(x, 4)}}, rows(t, 4), 0.01), absl::OkStatus());
  }
  EXPECT_EQ(whole->step(), 5);
  EXPECT_EQ(halves->step(), 5);
  const auto a = whole->Values();
  const auto b = halves->Values();
  ASSERT_TRUE(a.ok() && b.ok());
  for (const auto& [name, value] : *a) {
    EXPECT_THAT(b->at(name).ToDoubles(), Pointwise(DoubleNear(2e-5), value.ToDoubles())) << name;
  }
}

TEST_F(TrainerTest, NothingChangesFromALossThatIsNoNumberOn) {
  const auto trainer = MustMake(MlpText(), TrainerOptions());
  ASSERT_EQ(trainer->Step({{"x", Images(4, 1)}}, ClassesFor(4, 2), 0.01), absl::OkStatus());
  ASSERT_TRUE(trainer->Read().ok());
  const auto before = trainer->Values();
  std::vector<float> broken = Numbers(20, 3);
  broken[7] = NAN;
  ASSERT_EQ(trainer->Step({{"x", Floats({4, 5}, broken)}}, ClassesFor(4, 2), 0.01),
            absl::OkStatus());
  ASSERT_EQ(trainer->Step({{"x", Images(4, 1)}}, ClassesFor(4, 2), 0.01), absl::OkStatus());
  EXPECT_THAT(trainer->Read().status().message(),
              HasSubstr("the loss of step 2 is not a finite number"));
  EXPECT_EQ(trainer->failed_step(), 2);
  EXPECT_EQ(*trainer->FindNonFinite({{"x", Floats({4, 5}, broken)}}, ClassesFor(4, 2)),
            "the input 'x'");
  const auto after = trainer->Values();
  for (const auto& [name, value] : *before) {
    EXPECT_EQ(after->at(name).ToDoubles(), value.ToDoubles()) << name;
  }
}

TEST_F(TrainerTest, NamesTheNodeThatMakesNumbersOutOfRange) {
  std::string text = MlpText();
  text.replace(text.find("op_type: 'Relu'"), 15, "op_type: 'Exp'");
  const auto trainer = MustMake(text, Descent());
  const HostTensor x = Floats({2, 5}, std::vector<float>(10, 1000));
  ASSERT_EQ(trainer->Step({{"x", x}}, ClassesFor(2, 2), 0.01), absl::OkStatus());
  EXPECT_FALSE(trainer->Read().ok());
  EXPECT_THAT(*trainer->FindNonFinite({{"x", x}}, ClassesFor(2, 2)),
              testing::AllOf(HasSubstr("'h2'"), HasSubstr("Exp")));
}

TEST_F(TrainerTest, GoesOnBitForBitFromASavedState) {
  TrainerOptions options;
  options.mode.dropout = true;
  options.seed = 7;
  const auto run = [&](Trainer* trainer, int begin, int end) {
    for (int step = begin; step < end; ++step) {
      ASSERT_EQ(
          trainer->Step({{"x", Images(6, static_cast<uint64_t>(step))}}, ClassesFor(6, 9), 0.01),
          absl::OkStatus());
    }
  };
  const auto straight = MustMake(MlpText(true), options);
  run(straight.get(), 0, 10);
  const auto first = MustMake(MlpText(true), options);
  run(first.get(), 0, 6);
  const auto state = first->Save();
  ASSERT_TRUE(state.ok()) << state.status();
  const auto second = MustMake(MlpText(true), options);
  ASSERT_EQ(second->Restore(*state), absl::OkStatus());
  run(second.get(), 6, 10);
  const auto expected = straight->Save();
  const auto actual = second->Save();
  ASSERT_TRUE(expected.ok() && actual.ok());
  EXPECT_EQ(actual->step, expected->step);
  ASSERT_EQ(actual->tensors.size(), 12u);  // four parameters and their averages
  for (const auto& [name, value] : expected->tensors) {
    EXPECT_EQ(actual->tensors.at(name).bytes(), value.bytes()) << name;
  }
}

TEST_F(TrainerTest, DropoutDropsInTrainingAlone) {
  TrainerOptions options = Descent();
  options.mode.dropout = true;
  options.mode.dropout_ratio = 0.5;
  const auto trainer = MustMake(MlpText(true), options);
  const auto without = MustMake(MlpText(true), Descent());
  const HostTensor x = Images(32, 1);
  const HostTensor t = ClassesFor(32, 2);
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(trainer->Step({{"x", x}}, t, 0), absl::OkStatus());
    losses.push_back(trainer->Read()->loss);
  }
  ASSERT_EQ(without->Step({{"x", x}}, t, 0), absl::OkStatus());
  const double plain = without->Read()->loss;
  // Each step drops other elements.
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NE(losses[1], losses[2]);
  EXPECT_NE(losses[0], plain);
  const auto evaluation = trainer->Evaluate({{"x", x}}, t);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->numerator / evaluation->denominator, plain, 1e-5);
}

TEST_F(TrainerTest, TrainsWhatTheRulesSay) {
  TrainerOptions options = Descent();
  options.rules.frozen = "w1|b.";
  const auto trainer = MustMake(MlpText(), options);
  ASSERT_EQ(trainer->Step({{"x", Images(4, 1)}}, ClassesFor(4, 2), 0.1), absl::OkStatus());
  EXPECT_THAT(*trainer->Values(), UnorderedElementsAre(Key("w2")));
  options.rules.frozen = ".*";
  EXPECT_THAT(Make(MlpText(), options).status().message(), HasSubstr("nothing is left to train"));
  options.rules.frozen = "(";
  EXPECT_THAT(Make(MlpText(), options).status().message(), HasSubstr("not a regular expression"));
}

TEST_F(TrainerTest, GroupsHaveRatesOfTheirOwn) {
  TrainerOptions options = Descent();
  options.rules.groups = {{"w1", {0, 1}}};
  const auto trainer = MustMake(MlpText(), options);
  ASSERT_EQ(trainer->Step({{"x", Images(4, 1)}}, ClassesFor(4, 2), 0.1), absl::OkStatus());
  const auto values = trainer->Values();
  const std::vector<float> w1 = Numbers(40, 1);
  EXPECT_THAT(values->at("w1").ToDoubles(), Pointwise(DoubleNear(1e-6), w1));
  EXPECT_NE(values->at("w2").ToDoubles()[0], double{Numbers(24, 3)[0]});
}

TEST_F(TrainerTest, TheLossSeesWhatASoftmaxIsMadeOf) {
  std::string text = MlpText();
  text.replace(text.find("output { name: 'y' }"), 20, "output { name: 'p' }");
  text.insert(text.rfind('}'), NodeText("Softmax", {"y"}, {"p"}));
  const auto trainer = MustMake(text, Descent());
  EXPECT_EQ(trainer->loss_output(), "y");
  const HostTensor x = Images(6, 1);
  const HostTensor t = ClassesFor(6, 2);
  ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
  EXPECT_NEAR(trainer->Read()->loss, Mlp().Step(x, t, 0.1), 1e-5);
}

TEST_F(TrainerTest, BatchNormalizationFollowsTheBatches) {
  const std::string text = absl::StrCat(
      "graph { name: 'bn' ", ValueText("input", "x", 1, "4 2"), " output { name: 'y' } ",
      InitializerText("scale", {2}, {1, 2}), InitializerText("bias", {2}, {0, 1}),
      InitializerText("mean", {2}, {0, 0}), InitializerText("var", {2}, {1, 1}),
      NodeText("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"}), "}");
  TrainerOptions options = Descent();
  options.mode.batch_norm = true;
  options.loss = *ParseLoss("mse");
  const auto trainer = MustMake(text, options);
  const HostTensor x = Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 12});
  const HostTensor t = Floats({4, 2}, std::vector<float>(8, 0.5f));
  ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.1), absl::OkStatus());
  const auto values = trainer->Values();
  ASSERT_TRUE(values.ok()) << values.status();
  // The means are 4 and 6, the variances 5 and 14, the momentum 0.9.
  EXPECT_THAT(values->at("mean").ToDoubles(),
              ElementsAre(DoubleNear(0.4, 1e-6), DoubleNear(0.6, 1e-6)));
  EXPECT_THAT(values->at("var").ToDoubles(),
              ElementsAre(DoubleNear(1.4, 1e-5), DoubleNear(2.3, 1e-5)));
  EXPECT_NE(values->at("scale").ToDoubles()[0], 1);
  const auto evaluation = trainer->Evaluate({{"x", x}}, t);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const double scale = values->at("scale").GetDouble(0);
  const double bias = values->at("bias").GetDouble(0);
  EXPECT_NEAR(evaluation->output.GetDouble(0), (1 - 0.4) / std::sqrt(1.4 + 1e-5) * scale + bias,
              1e-5);
}

// The model y = x W, with weights and inputs quantized to int8 and back.
std::string QuantizedText() {
  const auto through = [](const std::string& from, const std::string& to) {
    return absl::StrCat(NodeText("QuantizeLinear", {from, "scale", "zero"}, {to + "_q"}),
                        NodeText("DequantizeLinear", {to + "_q", "scale", "zero"}, {to}));
  };
  return absl::StrCat(
      "graph { name: 'q' ", ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      InitializerText("w", {5, 3}, 1), InitializerText("scale", {}, std::vector<float>{0.02F}),
      " initializer { name: 'zero' data_type: 3 int32_data: 0 }", through("x", "xd"),
      through("w", "wd"), NodeText("MatMul", {"xd", "wd"}, {"y"}), "}");
}

TEST_F(TrainerTest, QuantizedWeightsAreTrainedStraightThrough) {
  TrainerOptions options = Descent();
  options.loss.kind = LossKind::kMse;
  const HostTensor x = Images(16, 1);
  const HostTensor t = Floats({16, 3}, Numbers(48, 2));
  for (const bool straight_through : {false, true}) {
    SCOPED_TRACE(straight_through);
    options.straight_through = straight_through;
    const auto trainer = MustMake(QuantizedText(), options);
    std::vector<double> losses;
    for (int step = 0; step < 60; ++step) {
      ASSERT_EQ(trainer->Step({{"x", x}}, t, 0.3), absl::OkStatus());
      const auto progress = trainer->Read();
      ASSERT_TRUE(progress.ok()) << progress.status();
      losses.push_back(progress->loss);
    }
    EXPECT_EQ(losses.back() < 0.7 * losses.front(), straight_through);
  }
}

TEST_F(TrainerTest, RefusesTargetsThatAreNoClass) {
  const auto trainer = MustMake(MlpText(), TrainerOptions());
  const api::NamedTensors x = {{"x", Images(2, 1)}};
  for (const int64_t wrong : {-1, 3}) {
    const auto target = HostTensor::FromVector<int64_t>({DataType::kInt64, {2}}, {2, wrong});
    const std::string named = absl::StrCat("target ", wrong, " of example 1");
    EXPECT_THAT(trainer->Step(x, target, 1).message(), HasSubstr(named));
    EXPECT_THAT(trainer->Evaluate(x, target).status().message(), HasSubstr(named));
  }
}

TEST_F(TrainerTest, SaysWhatDoesNotFit) {
  const auto trainer = MustMake(MlpText(), TrainerOptions());
  EXPECT_THAT(trainer->Step({{"z", Images(4, 1)}}, ClassesFor(4, 2), 1).message(),
              HasSubstr("'z'"));
  EXPECT_THAT(trainer->Step({{"x", Images(4, 1)}}, {}, 1).message(), HasSubstr("needs a target"));
  EXPECT_THAT(trainer->Step({{"x", Images(4, 1)}}, ClassesFor(3, 2), 1).message(),
              testing::AllOf(HasSubstr("[4, 3]"), HasSubstr("int64[3]")));
  TrainerOptions options;
  options.output = "h9";
  const auto wrong = MustMake(MlpText(), options);
  EXPECT_THAT(wrong->Step({{"x", Images(4, 1)}}, ClassesFor(4, 2), 1).message(), HasSubstr("'h9'"));
  options = {};
  options.accumulate = 0;
  EXPECT_FALSE(Make(MlpText(), options).ok());
}

}  // namespace
}  // namespace tartan::train::trainer_test
