// SPDX-License-Identifier: Apache-2.0
// Compares losses with their formulas in float64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "frontend/train/graph/apply_loss.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::loss_test {
namespace {

using testing::HasSubstr;

HostTensor Classes(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector({DataType::kInt64, std::move(dims)}, values);
}

// The loss of a batch and its derivative by each element of the output.
absl::StatusOr<std::pair<double, std::vector<double>>> Evaluate(absl::string_view text,
                                                                const HostTensor& output,
                                                                const HostTensor& target) {
  auto loss = ParseLoss(text);
  if (!loss.ok()) return loss.status();
  const bool has_target = target.type() != DataType::kInvalid;
  std::vector<api::Tensor> placeholders = {api::Tensor::Placeholder("y", output.shape())};
  std::vector<HostTensor> values = {output};
  if (has_target) {
    placeholders.push_back(api::Tensor::Placeholder("t", target.shape()));
    values.push_back(target);
  }
  const auto terms =
      ApplyLoss(*loss, placeholders[0], has_target ? placeholders[1] : api::Tensor());
  if (!terms.ok()) return terms.status();
  const auto batch = BatchLoss(*terms);
  if (!batch.ok()) return batch.status();
  const auto gradient = api::Gradient(*batch, {placeholders[0]});
  if (!gradient.ok()) return gradient.status();
  const auto results =
      api::EvaluateReference(placeholders, values, {*batch, (*gradient)[0]}, 1 << 24);
  if (!results.ok()) return results.status();
  return std::pair((*results)[0].GetDouble(0), (*results)[1].ToDoubles());
}

// Compares the loss with a formula, and its gradient with finite differences of the formula.
void ExpectFormula(absl::string_view text, const HostTensor& output, const HostTensor& target,
                   const std::function<double(const std::vector<double>&)>& formula) {
  const auto actual = Evaluate(text, output, target);
  ASSERT_TRUE(actual.ok()) << actual.status();
  std::vector<double> y = output.ToDoubles();
  EXPECT_NEAR(actual->first, formula(y), 1e-5) << text;
  for (size_t i = 0; i < y.size(); ++i) {
    const double at = y[i];
    y[i] = at + 1e-5;
    const double above = formula(y);
    y[i] = at - 1e-5;
    const double below = formula(y);
    y[i] = at;
    EXPECT_NEAR(actual->second[i], (above - below) / 2e-5, 2e-5) << text << ", element " << i;
  }
}

double LogSum(const std::vector<double>& y, size_t begin, size_t classes) {
  double sum = 0;
  for (size_t c = 0; c < classes; ++c) sum += std::exp(y[begin + c]);
  return std::log(sum);
}

const HostTensor& Scores() {
  static const auto& scores =
      *new HostTensor(Floats({4, 3}, {1, 2, -1, 0, 0.5f, 3, -2, 1, 0, 0.25f, 0.75f, -0.5f}));
  return scores;
}

TEST(Loss, CrossEntropyOfClassNumbers) {
  const std::vector<int64_t> classes = {1, 0, 2, 2};
  for (const auto& [text, smoothing, weights, ignored] :
       {std::tuple("softmax_cross_entropy", 0.0, std::vector<double>{1, 1, 1}, -1),
        std::tuple("softmax_cross_entropy:smoothing=0.1", 0.1, std::vector<double>{1, 1, 1}, -1),
        std::tuple("softmax_cross_entropy:weights=1/2/0.5", 0.0, std::vector<double>{1, 2, 0.5},
                   -1),
        std::tuple("softmax_cross_entropy:ignore=2", 0.0, std::vector<double>{1, 1, 1}, 2)}) {
    ExpectFormula(text, Scores(), Classes({4}, classes), [&](const std::vector<double>& y) {
      double sum = 0;
      double count = 0;
      for (size_t n = 0; n < 4; ++n) {
        const auto t = static_cast<size_t>(classes[n]);
        if (classes[n] == ignored) continue;
        const double log_sum = LogSum(y, 3 * n, 3);
        sum += (1 - smoothing) * weights[t] * (log_sum - y[3 * n + t]);
        for (size_t c = 0; c < 3; ++c) sum += smoothing / 3 * weights[c] * (log_sum - y[3 * n + c]);
        count += weights[t];
      }
      return sum / count;
    });
  }
}

TEST(Loss, CrossEntropyOfSequences) {
  const HostTensor scores =
      Floats({2, 2, 3}, {1, 2, -1, 0, 0.5f, 3, -2, 1, 0, 0.25f, 0.75f, -0.5f});
  const std::vector<int64_t> classes = {1, 0, 2, 2};
  ExpectFormula("softmax_cross_entropy", scores, Classes({2, 2}, classes),
                [&](const std::vector<double>& y) {
                  double sum = 0;
                  for (size_t n = 0; n < 4; ++n)
                    sum += LogSum(y, 3 * n, 3) - y[3 * n + static_cast<size_t>(classes[n])];
                  return sum / 4;
                });
}

// Scores [N, C, …] with classes [N, …], as in PyTorch and ONNX: the shapes select the class axis.
TEST(Loss, CrossEntropyOfClassesAlongTheSecondAxis) {
  const std::vector<int64_t> classes = {1, 0, 2, 2, 1, 1, 0, 2, 1, 2, 0, 0};
  const std::vector<double> weights = {1, 2, 0.5};
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{2, 3, 6}, {2, 3, 2, 3}, {2, 3, 3, 2, 1}}) {
    std::vector<int64_t> target = sizes;
    target.erase(target.begin() + 1);
    for (const char* options : {"weights=1/2/0.5,ignore=2,smoothing=0.1",
                                "axis=1,weights=1/2/0.5,ignore=2,smoothing=0.1"}) {
      ExpectFormula(
          absl::StrCat("softmax_cross_entropy:", options), Floats(sizes, Numbers(36, 3)),
          Classes(target, classes), [&](const std::vector<double>& y) {
            double sum = 0;
            double count = 0;
            for (size_t row = 0; row < 12; ++row) {
              if (classes[row] == 2) continue;
              const auto at = [&](size_t c) { return y[(row / 6 * 3 + c) * 6 + row % 6]; };
              const double log_sum = std::log(std::exp(at(0)) + std::exp(at(1)) + std::exp(at(2)));
              const auto t = static_cast<size_t>(classes[row]);
              sum += 0.9 * weights[t] * (log_sum - at(t));
              for (size_t c = 0; c < 3; ++c) sum += 0.1 / 3 * weights[c] * (log_sum - at(c));
              count += weights[t];
            }
            return sum / count;
          });
    }
  }
}

// Probabilities have the sizes of the scores, so only the option can name another axis.
TEST(Loss, CrossEntropyOfProbabilitiesAlongAnAxis) {
  std::vector<float> t = Numbers(12, 8);
  for (float& value : t) value = (value + 1) / 6;
  ExpectFormula("softmax_cross_entropy:axis=-2", Floats({2, 3, 2}, Numbers(12, 4)),
                Floats({2, 3, 2}, t), [&](const std::vector<double>& y) {
                  double sum = 0;
                  for (size_t i = 0; i < 12; ++i) {
                    const size_t first = i / 6 * 6 + i % 2;
                    sum += t[i] * (std::log(std::exp(y[first]) + std::exp(y[first + 2]) +
                                            std::exp(y[first + 4])) -
                                   y[i]);
                  }
                  return sum / 4;
                });
}

// If both axes fit, the last one has priority, as for sequences [N, S, C].
TEST(Loss, SquareScoresHaveTheirClassesAlongTheLastAxisUnlessAnOptionSaysOtherwise) {
  const HostTensor scores = Floats({1, 3, 3}, Numbers(9, 5));
  const std::vector<int64_t> classes = {2, 0, 1};
  for (const bool second : {false, true}) {
    ExpectFormula(second ? "softmax_cross_entropy:axis=1" : "softmax_cross_entropy", scores,
                  Classes({1, 3}, classes), [&](const std::vector<double>& y) {
                    double sum = 0;
                    for (size_t row = 0; row < 3; ++row) {
                      const auto at = [&](size_t c) {
                        return second ? y[c * 3 + row] : y[row * 3 + c];
                      };
                      sum += std::log(std::exp(at(0)) + std::exp(at(1)) + std::exp(at(2))) -
                             at(static_cast<size_t>(classes[row]));
                    }
                    return sum / 3;
                  });
  }
}

TEST(Loss, CrossEntropyOfProbabilities) {
  const std::vector<float> t = {0.2f, 0.3f, 0.5f, 1, 0, 0, 0, 0.5f, 0.5f, 0.1f, 0.1f, 0.8f};
  for (const double smoothing : {0.0, 0.2}) {
    ExpectFormula(smoothing > 0 ? "softmax_cross_entropy:smoothing=0.2" : "softmax_cross_entropy",
                  Scores(), Floats({4, 3}, t), [&](const std::vector<double>& y) {
                    double sum = 0;
                    for (size_t i = 0; i < 12; ++i) {
                      sum += ((1 - smoothing) * t[i] + smoothing / 3) *
                             (LogSum(y, i / 3 * 3, 3) - y[i]);
                    }
                    return sum / 4;
                  });
  }
}

TEST(Loss, ElementByElement) {
  const std::vector<float> t = {0.2f, 0.3f, 0.5f, 1, 0, 0, 0, 0.5f, 0.5f, 0.1f, 0.1f, 0.8f};
  const auto mean = [&](const std::function<double(double, double)>& f) {
    return [&t, f](const std::vector<double>& y) {
      double sum = 0;
      for (size_t i = 0; i < 12; ++i) sum += f(y[i], t[i]);
      return sum / 12;
    };
  };
  const HostTensor target = Floats({4, 3}, t);
  ExpectFormula("mse", Scores(), target,
                mean([](double y, double t) { return (y - t) * (y - t); }));
  ExpectFormula("mae", Scores(), target, mean([](double y, double t) { return std::abs(y - t); }));
  ExpectFormula("huber:delta=0.7", Scores(), target, mean([](double y, double t) {
                  const double d = std::abs(y - t);
                  return d <= 0.7 ? d * d / 2 : 0.7 * (d - 0.35);
                }));
  ExpectFormula("binary_cross_entropy", Scores(), target,
                mean([](double y, double t) { return std::log1p(std::exp(y)) - y * t; }));
}

// A CSV file has targets [N], and models have outputs [N, 1]; masks lack the channel.
TEST(Loss, ATargetMayLackADimensionOfSizeOne) {
  const std::vector<float> t = {0.2f, 0.3f, 0.5f, 1};
  const std::vector<float> y = {1, 2, -1, 0.25f};
  using Sizes = std::vector<int64_t>;
  for (const auto& [output, target] : {std::pair<Sizes, Sizes>{{4, 1}, {4}},
                                       {{2, 2, 1}, {2, 2}},
                                       {{2, 1, 2}, {2, 2}},
                                       {{1, 1, 4, 1}, {1, 4, 1}}}) {
    for (const char* text : {"mse", "mae", "huber:delta=0.7", "binary_cross_entropy"}) {
      const auto same = Evaluate(text, Floats(output, y), Floats(output, t));
      const auto shorter = Evaluate(text, Floats(output, y), Floats(target, t));
      ASSERT_TRUE(same.ok() && shorter.ok()) << shorter.status();
      EXPECT_EQ(*shorter, *same) << text;
    }
  }
  EXPECT_THAT(Evaluate("mse", Floats({4}, y), Floats({2, 2}, t)).status().message(),
              HasSubstr("float32[2, 2]: their shapes do not match"));
  EXPECT_FALSE(Evaluate("mse", Floats({2, 2, 1}, y), Floats({4, 1}, t)).ok());
}

TEST(Loss, RowByRow) {
  const std::vector<float> t = {0.2f, 0.3f, 0.5f, 1, 0, 0, 0, 0.5f, 0.5f, 0.1f, 0.1f, 0.8f};
  ExpectFormula("kl", Scores(), Floats({4, 3}, t), [&](const std::vector<double>& y) {
    double sum = 0;
    for (size_t i = 0; i < 12; ++i) sum += t[i] > 0 ? t[i] * (std::log(double{t[i]}) - y[i]) : 0;
    return sum / 4;
  });
  ExpectFormula("cosine", Scores(), Floats({4, 3}, t), [&](const std::vector<double>& y) {
    double sum = 0;
    for (size_t n = 0; n < 4; ++n) {
      double yt = 0;
      double yy = 0;
      double tt = 0;
      for (size_t i = 3 * n; i < 3 * n + 3; ++i) {
        yt += y[i] * t[i];
        yy += y[i] * y[i];
        tt += double{t[i]} * t[i];
      }
      sum += 1 - yt / std::sqrt(yy * tt);
    }
    return sum / 4;
  });
}

TEST(Loss, Triplets) {
  ExpectFormula("triplet:margin=2", Floats({6, 2}, {0, 1, 1, 1, 0.5f, 1, 2, 0, 1, 0, 3, 3}), {},
                [](const std::vector<double>& y) {
                  double sum = 0;
                  for (size_t n = 0; n < 2; ++n) {
                    const auto distance = [&](size_t other) {
                      const double dx = y[2 * n] - y[2 * (n + other)];
                      const double dy = y[2 * n + 1] - y[2 * (n + other) + 1];
                      return std::sqrt(dx * dx + dy * dy);
                    };
                    sum += std::max(0.0, distance(2) - distance(4) + 2);
                  }
                  return sum / 2;
                });
}

TEST(Loss, TheOutputItself) {
  ExpectFormula("output", Floats({3}, {1, 2, 4}), {},
                [](const std::vector<double>& y) { return (y[0] + y[1] + y[2]) / 3; });
  ExpectFormula("output", Floats({}, {5}), {}, [](const std::vector<double>& y) { return y[0]; });
}

// Ignored elements count in neither the loss nor its divisor.
TEST(Loss, MasksLeaveOutTheIgnoredElements) {
  const std::vector<float> y = {0.5f, -1, 2, 0.25f, -3, 1};
  const std::vector<float> t = {1, 0, 255, 0, 255, 1};
  const auto p = [](double score) { return 1 / (1 + std::exp(-score)); };
  ExpectFormula("dice:ignore=255,epsilon=1", Floats({1, 1, 2, 3}, y), Floats({1, 2, 3}, t),
                [&](const std::vector<double>& y) {
                  double both = 0;
                  double sum = 0;
                  for (const size_t i : {0, 1, 3, 5}) {
                    both += p(y[i]) * t[i];
                    sum += p(y[i]) + t[i];
                  }
                  return 1 - (2 * both + 1) / (sum + 1);
                });
  ExpectFormula("focal:ignore=255,gamma=1", Floats({1, 1, 2, 3}, y), Floats({1, 2, 3}, t),
                [&](const std::vector<double>& y) {
                  double sum = 0;
                  for (const size_t i : {0, 1, 3, 5}) {
                    const double right = t[i] > 0 ? p(y[i]) : 1 - p(y[i]);
                    sum -= (1 - right) * std::log(right);
                  }
                  return sum / 4;
                });
  // Integer masks of an output with one score per pixel are labels, not classes.
  const auto ints = Evaluate("dice", Floats({1, 1, 2}, {1, 2}), Classes({1, 2}, {1, 0}));
  const auto floats = Evaluate("dice", Floats({1, 1, 2}, {1, 2}), Floats({1, 2}, {1, 0}));
  ASSERT_TRUE(ints.ok() && floats.ok()) << ints.status();
  EXPECT_EQ(*ints, *floats);
}

TEST(Loss, FocalLossIsFiniteForCertainAnswers) {
  for (const char* text : {"focal", "focal:gamma=0.5", "focal:gamma=0"}) {
    for (const float score : {200.0f, -200.0f}) {
      const auto labels = Evaluate(text, Floats({1, 1}, {score}), Floats({1}, {1}));
      const auto classes = Evaluate(text, Floats({1, 2}, {score, 0}), Classes({1}, {0}));
      for (const auto& loss : {labels, classes}) {
        ASSERT_TRUE(loss.ok()) << loss.status();
        EXPECT_NEAR(loss->first, score > 0 ? 0 : 200, 1e-3) << text;
        EXPECT_NEAR(loss->second[0], score > 0 ? 0 : -1, 1e-6) << text;
      }
    }
  }
}

TEST(Loss, GreatScoresStayFinite) {
  const auto loss =
      Evaluate("softmax_cross_entropy", Floats({1, 2}, {1e4f, -1e4f}), Classes({1}, {1}));
  ASSERT_TRUE(loss.ok());
  EXPECT_NEAR(loss->first, 2e4, 1);
  EXPECT_NEAR(loss->second[0], 1, 1e-6);
  const auto binary = Evaluate("binary_cross_entropy", Floats({1}, {-1e4f}), Floats({1}, {1}));
  ASSERT_TRUE(binary.ok());
  EXPECT_NEAR(binary->first, 1e4, 1);
}

// The softmax of one score is always 1, so the model would learn nothing.
TEST(Loss, OneScoreHasNoSoftmax) {
  for (const HostTensor& target : {Floats({2, 1}, {0, 1}), Classes({2}, {0, 0})}) {
    EXPECT_THAT(
        Evaluate("softmax_cross_entropy", Floats({2, 1}, {1, 2}), target).status().message(),
        HasSubstr("use binary_cross_entropy for one logit"));
  }
}

TEST(Loss, SaysWhatDoesNotFit) {
  EXPECT_THAT(ParseLoss("mean").status().message(), HasSubstr("softmax_cross_entropy"));
  EXPECT_THAT(ParseLoss("huber:delta=x").status().message(),
              HasSubstr("'delta=x' is not of the form delta=D"));
  EXPECT_THAT(ParseLoss("mse:gamma=1").status().message(),
              HasSubstr("'gamma=1' is not an option of mse"));
  EXPECT_THAT(ParseLoss("huber:axis=1").status().message(),
              HasSubstr("huber, which has the options delta"));
  for (const char* text :
       {"softmax_cross_entropy:smoothing=1", "softmax_cross_entropy:ignore=a",
        "softmax_cross_entropy:weights=1//2", "triplet:margin=-1", "huber:delta=0",
        "huber:delta=nan", "focal:alpha=2", "ctc:time=2", "ctc:blank=-1",
        "ctc:lengths=", "dice:epsilon=0", "binary_cross_entropy:pos_weight=-1"}) {
    EXPECT_THAT(ParseLoss(text).status().message(), HasSubstr("is not of the form")) << text;
  }
  EXPECT_THAT(Evaluate("softmax_cross_entropy:axis=0", Scores(), Classes({3}, {0, 0, 0}))
                  .status()
                  .message(),
              HasSubstr("do not match for the class axis 0"));
  EXPECT_THAT(Evaluate("mse", Scores(), Floats({4, 2}, std::vector<float>(8))).status().message(),
              testing::AllOf(HasSubstr("float32[4, 3]"), HasSubstr("float32[4, 2]")));
  EXPECT_THAT(Evaluate("softmax_cross_entropy:weights=1/2", Scores(), Classes({4}, {0, 0, 0, 0}))
                  .status()
                  .message(),
              HasSubstr("2 class weights"));
  const HostTensor labels = Floats({4, 3}, std::vector<float>(12));
  EXPECT_THAT(Evaluate("binary_cross_entropy:pos_weight=1/2", Scores(), labels).status().message(),
              HasSubstr("2 class weights"));
  EXPECT_THAT(Evaluate("focal:weights=1/2/3", Scores(), labels).status().message(),
              HasSubstr("weights are for classes"));
  EXPECT_THAT(Evaluate("focal:alpha=0.5", Scores(), Classes({4}, {0, 1, 2, 0})).status().message(),
              HasSubstr("alpha is for labels"));
  EXPECT_THAT(Evaluate("dice:weights=1/2/3", Scores(), labels).status().message(),
              HasSubstr("weights need classes"));
  EXPECT_THAT(Evaluate("ctc", Scores(), Classes({4, 1}, {0, 1, 2, 0})).status().message(),
              HasSubstr("expected scores [N, T, C]"));
  EXPECT_FALSE(Evaluate("triplet", Floats({4, 2}, std::vector<float>(8)), {}).ok());
}

}  // namespace
}  // namespace tartan::train::loss_test
