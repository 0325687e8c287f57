// SPDX-License-Identifier: Apache-2.0
// Tests of random picture augmentation, against a reference that applies the same random draws.
#include "frontend/train/augment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "absl/strings/str_cat.h"
#include "frontend/api/gradient.h"
#include "frontend/api/invoker.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::augment_test {
namespace {

using onnx::NodeText;
using onnx::ValueText;
using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

using Seed = std::vector<uint32_t>;

// A batch [n, c, h, w] for the reference, which applies one change after the other.
struct Picture {
  int64_t n, c, h, w;
  std::vector<double> values;

  double At(int64_t i, int64_t k, int64_t y, int64_t x) const {
    const bool inside = y >= 0 && y < h && x >= 0 && x < w;
    return inside ? values[static_cast<size_t>(((i * c + k) * h + y) * w + x)] : 0;
  }
  // A picture whose pixels are a function of the example, the channel and the position.
  template <typename F>
  Picture Made(const F& pixel) const {
    Picture made = *this;
    size_t next = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < c; ++k)
        for (int64_t y = 0; y < h; ++y)
          for (int64_t x = 0; x < w; ++x) made.values[next++] = pixel(i, k, y, x);
    return made;
  }
};

double Bilinear(const Picture& p, int64_t i, int64_t k, double y, double x) {
  const double fy = std::floor(y);
  const double fx = std::floor(x);
  const auto iy = static_cast<int64_t>(fy);
  const auto ix = static_cast<int64_t>(fx);
  const double top = p.At(i, k, iy, ix) * (1 - x + fx) + p.At(i, k, iy, ix + 1) * (x - fx);
  const double low = p.At(i, k, iy + 1, ix) * (1 - x + fx) + p.At(i, k, iy + 1, ix + 1) * (x - fx);
  return top * (1 - y + fy) + low * (y - fy);
}

// The affine change. `draw(d, i)` is draw d of example i. Each output pixel samples the input at
// its inversely mapped position.
template <typename F>
Picture AffineByHand(const Picture& p, const Augmentation& a, const F& draw) {
  const double degree = std::numbers::pi / 180;
  return p.Made([&](int64_t i, int64_t k, int64_t y, int64_t x) {
    const auto between = [&](int64_t d, double most) { return (2 * draw(d, i) - 1) * most; };
    const double angle = between(0, a.rotate * degree);
    const double shear = std::tan(between(1, a.shear * degree));
    const double scale = 1 + between(2, a.scale);
    const double middle_y = static_cast<double>(p.h - 1) / 2;
    const double middle_x = static_cast<double>(p.w - 1) / 2;
    // The inverse of the translation, the rotation, the shear and the scaling, in this order.
    const double dy =
        static_cast<double>(y) - middle_y - between(3, a.translate * static_cast<double>(p.h));
    const double dx =
        static_cast<double>(x) - middle_x - between(4, a.translate * static_cast<double>(p.w));
    const double back_x = std::cos(angle) * dx + std::sin(angle) * dy;
    const double back_y = -std::sin(angle) * dx + std::cos(angle) * dy;
    return Bilinear(p, i, k, middle_y + back_y / scale,
                    middle_x + (back_x - shear * back_y) / scale);
  });
}

class AugmentTest : public DeviceTest {
 protected:
  HostTensor Invoke(std::vector<api::NamedTensor> inputs, const api::Tensor& output,
                    const api::NamedTensors& values) const {
    const auto invoker =
        api::Invoker::Create(device_, std::move(inputs), {{"Y", output}}, "augmented");
    EXPECT_TRUE(invoker.ok()) << invoker.status();
    auto made = invoker->Run(values);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->at("Y");
  }

  static Augmentations Parsed(const std::string& text, bool channels_last = false) {
    const auto list = ParseAugmentations(text);
    EXPECT_TRUE(list.ok()) << list.status();
    return {*list, channels_last};
  }

  static HostTensor Words(const Seed& seed) {
    return HostTensor::FromVector({DataType::kUInt32, {2}}, seed);
  }

  HostTensor Run(const HostTensor& x, const Augmentations& augmentations, const Seed& seed) const {
    const auto placeholder = api::Tensor::Placeholder("x", x.shape());
    const auto word = api::Tensor::Placeholder("seed", {DataType::kUInt32, {2}});
    const auto y = Augmented(placeholder, augmentations, word, 0, "x");
    EXPECT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(y->type(), x.type());
    return Invoke({{"x", placeholder}, {"seed", word}}, *y, {{"x", x}, {"seed", Words(seed)}});
  }

  // The numbers that `prng` draws for the seed and the key.
  std::vector<double> Draws(const Seed& seed, uint32_t noise, int64_t rows, int64_t columns) const {
    Seed sum = AugmentationKey(0, noise);
    sum[0] += seed[0];
    sum[1] += seed[1];
    const auto word = api::Tensor::Placeholder("seed", {DataType::kUInt32, {2}});
    const auto made =
        api::Apply(absl::StrCat("function (S) -> (R) { R = prng(S, ", rows, ", ", columns, "); }"),
                   {word}, "draws");
    EXPECT_TRUE(made.ok()) << made.status();
    return Invoke({{"seed", word}}, *made, {{"seed", Words(sum)}}).ToDoubles();
  }

  Picture ByHand(Picture p, const Augmentations& augmentations, const Seed& seed) const {
    int64_t rows = 0;
    for (const Augmentation& a : augmentations.list) rows += DrawCount(a.kind);
    const std::vector<double> draws = Draws(seed, 0, std::max<int64_t>(rows, 1), p.n);
    int64_t row = 0;
    uint32_t noises = 0;
    for (const Augmentation& a : augmentations.list) {
      const auto draw = [&, first = row](int64_t d, int64_t i) {
        return draws[static_cast<size_t>((first + d) * p.n + i)];
      };
      const Picture before = p;
      if (a.kind == AugmentationKind::kFlip) {
        p = before.Made([&](int64_t i, int64_t k, int64_t y, int64_t x) {
          if (a.vertical && draw(0, i) < a.probability) y = before.h - 1 - y;
          if (a.horizontal && draw(1, i) < a.probability) x = before.w - 1 - x;
          return before.At(i, k, y, x);
        });
      } else if (a.kind == AugmentationKind::kCrop) {
        const auto offset = [&](int64_t d, int64_t i) {
          return static_cast<int64_t>(draw(d, i) * static_cast<double>(2 * a.padding + 1)) -
                 a.padding;
        };
        p = before.Made([&](int64_t i, int64_t k, int64_t y, int64_t x) {
          return before.At(i, k, y + offset(0, i), x + offset(1, i));
        });
      } else if (a.kind == AugmentationKind::kAffine) {
        p = AffineByHand(before, a, draw);
      } else {
        const auto count = static_cast<int64_t>(p.values.size());
        const std::vector<double> u = Draws(seed, ++noises, 2, count);
        // Draws follow the order of elements in memory.
        for (int64_t e = 0; e < count; ++e) {
          const double normal = std::sqrt(-2 * std::log(1 - u[static_cast<size_t>(e)])) *
                                std::cos(2 * std::numbers::pi * u[static_cast<size_t>(count + e)]);
          const int64_t to = augmentations.channels_last ? FromChannelsLast(p, e) : e;
          p.values[static_cast<size_t>(to)] += normal * a.deviation;
        }
      }
      row += DrawCount(a.kind);
    }
    return p;
  }

  // The index in [n, c, h, w] of element e of [n, h, w, c].
  static int64_t FromChannelsLast(const Picture& p, int64_t e) {
    const int64_t k = e % p.c;
    const int64_t pixel = e / p.c;
    return (pixel / (p.h * p.w) * p.c + k) * p.h * p.w + pixel % (p.h * p.w);
  }

  void Check(const std::string& text, int64_t n, int64_t c, int64_t h, int64_t w,
             bool channels_last, const Seed& seed) const {
    SCOPED_TRACE(absl::StrCat(text, " of [", n, ", ", c, ", ", h, ", ", w, "]",
                              channels_last ? " channels last" : "", ", seed ", seed[0], " ",
                              seed[1]));
    const std::vector<float> values = Numbers(static_cast<size_t>(n * c * h * w), seed[0]);
    const Augmentations augmentations = Parsed(text, channels_last);
    Picture p{n, c, h, w, std::vector<double>(values.size())};
    for (size_t e = 0; e < values.size(); ++e) {
      const auto at = static_cast<int64_t>(e);
      p.values[static_cast<size_t>(channels_last ? FromChannelsLast(p, at) : at)] = values[e];
    }
    const Picture expected = ByHand(p, augmentations, seed);
    const HostTensor made =
        Run(channels_last ? Floats({n, h, w, c}, values) : Floats({n, c, h, w}, values),
            augmentations, seed);
    std::vector<double> actual(values.size());
    for (size_t e = 0; e < values.size(); ++e) {
      const auto at = static_cast<int64_t>(e);
      actual[static_cast<size_t>(channels_last ? FromChannelsLast(p, at) : at)] =
          made.GetDouble(at);
    }
    EXPECT_THAT(actual, Pointwise(DoubleNear(5e-5), expected.values));
  }
};

TEST_F(AugmentTest, EachChangeIsItsDefinitionWithTheNumbersDrawn) {
  const uint32_t first = std::random_device()();
  for (const char* text :
       {"flip:vertical=1,probability=0.3", "crop:padding=3",
        "affine:rotate=180,translate=0.3,scale=0.4,shear=30", "noise:deviation=0.2"}) {
    Check(text, 6, 3, 7, 11, false, {first, 1});
    Check(text, 5, 2, 9, 4, true, {first, 2});
  }
}

TEST_F(AugmentTest, ChangesComeOneAfterTheOther) {
  const uint32_t first = std::random_device()();
  for (const char* text :
       {"flip:vertical=1,crop:padding=2,affine:rotate=20,shear=5,crop",
        "noise,affine,affine:scale=0.2,noise:deviation=0.3,crop:padding=1,flip"}) {
    Check(text, 4, 2, 8, 5, false, {first, 3});
  }
}

TEST_F(AugmentTest, TakesTheLeastPictures) {
  const uint32_t first = std::random_device()();
  const char* const all = "flip:vertical=1,crop:padding=1,affine:rotate=90,translate=0.5,noise";
  Check(all, 1, 1, 1, 1, false, {first, 5});
  Check(all, 3, 4, 5, 1, true, {first, 7});
  Check("crop:padding=9", 8, 1, 2, 3, false, {first, 8});
}

TEST_F(AugmentTest, WhatIsNothingChangesNothing) {
  const HostTensor x = Floats({3, 2, 5, 6}, Numbers(180, 1));
  for (const char* text :
       {"flip:probability=1,vertical=1,flip:probability=1,vertical=1", "crop:padding=0",
        "flip:probability=0", "affine:rotate=0", "noise:deviation=0", "flip:horizontal=0"}) {
    EXPECT_EQ(Run(x, Parsed(text), {1, 2}).ToDoubles(), x.ToDoubles()) << text;
  }
  EXPECT_NE(Run(x, Parsed("flip:probability=1"), {1, 2}).ToDoubles(), x.ToDoubles());
}

TEST_F(AugmentTest, DrawsAreAsLikelyAsTheyShouldBe) {
  constexpr int64_t kCount = 8192;
  std::vector<float> pairs;
  for (int64_t i = 0; i < kCount; ++i) pairs.insert(pairs.end(), {0, 1});
  const HostTensor flipped = Run(Floats({kCount, 1, 1, 2}, pairs), Parsed("flip"), {11, 12});
  double flips = 0;
  for (int64_t i = 0; i < kCount; ++i) flips += flipped.GetDouble(2 * i);
  EXPECT_NEAR(flips, kCount / 2.0, 5 * std::sqrt(kCount / 4.0));

  // Follows the centre of 3x3 pixels.
  std::vector<float> dots(9 * kCount, 0);
  for (size_t i = 0; i < kCount; ++i) dots[9 * i + 4] = 1;
  const std::vector<double> moved =
      Run(Floats({kCount, 1, 3, 3}, dots), Parsed("crop:padding=1"), {13, 14}).ToDoubles();
  std::vector<double> counts(9, 0);
  for (size_t e = 0; e < moved.size(); ++e) counts[e % 9] += moved[e];
  EXPECT_THAT(counts, testing::Each(DoubleNear(kCount / 9.0, 5 * std::sqrt(kCount / 9.0))));

  const std::vector<double> noise = Run(HostTensor::Zeros({DataType::kFloat32, {64, 1, 32, 32}}),
                                        Parsed("noise:deviation=0.5"), {15, 16})
                                        .ToDoubles();
  const auto count = static_cast<double>(noise.size());
  double mean = 0;
  double square = 0;
  double fourth = 0;
  for (const double v : noise) {
    mean += v / count;
    square += v * v / count;
    fourth += v * v * v * v / count;
  }
  EXPECT_NEAR(mean, 0, 5 * 0.5 / std::sqrt(count));
  EXPECT_NEAR(square, 0.25, 5 * 0.25 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth / (square * square), 3, 5 * std::sqrt(24 / count));
}

TEST_F(AugmentTest, OtherSeedsDrawOtherNumbersAndEqualOnesTheSame) {
  const HostTensor x = Floats({16, 1, 6, 6}, Numbers(576, 1));
  const Augmentations all = Parsed("flip,crop,affine,noise");
  const auto first = Run(x, all, {1, 1}).ToDoubles();
  EXPECT_EQ(Run(x, all, {1, 1}).ToDoubles(), first);
  EXPECT_NE(Run(x, all, {1, 2}).ToDoubles(), first);
  EXPECT_NE(Run(x, all, {2, 1}).ToDoubles(), first);
}

TEST_F(AugmentTest, PicturesKeepTheirType) {
  const HostTensor x = Floats({2, 1, 3, 3}, Numbers(18, 1));
  std::vector<uint8_t> bytes(36);
  for (int64_t i = 0; i < 18; ++i)
    StoreElement(DataType::kFloat16, x.GetDouble(i), i, bytes.data());
  const HostTensor half({DataType::kFloat16, {2, 1, 3, 3}}, bytes);
  const HostTensor made = Run(half, Parsed("flip:probability=1"), {1, 1});
  EXPECT_EQ(made.GetDouble(0), half.GetDouble(2));
}

TEST_F(AugmentTest, NoGradientGoesThrough) {
  const auto x = api::Tensor::Placeholder("x", {DataType::kFloat32, {1, 1, 2, 2}});
  const auto seed = api::Tensor::Placeholder("seed", {DataType::kUInt32, {2}});
  const auto y = Augmented(x, Parsed("flip,noise"), seed, 0, "x");
  ASSERT_TRUE(y.ok()) << y.status();
  const auto sum = api::Apply("function (Y) -> (S) { S[] = +(Y[a, b, c, d]); }", {*y}, "sum");
  ASSERT_TRUE(sum.ok()) << sum.status();
  const auto gradient = api::Gradient(*sum, {x});
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  const HostTensor zeros = HostTensor::Zeros({DataType::kFloat32, {1, 1, 2, 2}});
  EXPECT_EQ(
      Invoke({{"x", x}, {"seed", seed}}, (*gradient)[0], {{"x", zeros}, {"seed", Words({1, 1})}})
          .ToDoubles(),
      zeros.ToDoubles());
}

// The model y = x w with a scalar w = 1.
std::string ScaledText(const std::string& dims) {
  return absl::StrCat("graph { name: 'scaled' ", ValueText("input", "x", 1, dims),
                      " output { name: 'y' } ",
                      InitializerText("w", std::vector<int64_t>{1}, std::vector<float>{1}),
                      NodeText("Mul", {"x", "w"}, {"y"}), "}");
}

TEST_F(AugmentTest, AStepSeesThePicturesChangedAndAnEvaluationAsTheyAre) {
  TrainerOptions options;
  options.loss.kind = LossKind::kMse;
  options.optimizer.kind = OptimizerKind::kSgd;
  options.augment = Parsed("flip,crop:padding=1,affine,noise");
  options.seed = 5;
  const auto model = LoadToTrain(ScaledText("N C H W"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trainer = Trainer::Create(*model, device_, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const HostTensor x = Floats({4, 1, 5, 5}, Numbers(100, 1));
  const HostTensor t = Floats({4, 1, 5, 5}, Numbers(100, 2));
  const auto loss = [&](const std::vector<double>& y) {
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += std::pow(y[i] - t.ToDoubles()[i], 2);
    return sum / static_cast<double>(y.size());
  };
  for (uint32_t step = 0; step < 3; ++step) {
    ASSERT_EQ((*trainer)->Step({{"x", x}}, t, /*rate=*/0), absl::OkStatus());
    const Picture seen =
        ByHand({4, 1, 5, 5, x.ToDoubles()}, options.augment, {5 * 0x9e3779b9U, step});
    EXPECT_NEAR((*trainer)->Read()->loss, loss(seen.values), 1e-5) << "step " << step;
  }
  const auto evaluation = (*trainer)->Evaluate({{"x", x}}, t);
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->numerator / evaluation->denominator, loss(x.ToDoubles()), 1e-5);
}

TEST_F(AugmentTest, SaysWhatIsNoPicture) {
  TrainerOptions options;
  options.loss.kind = LossKind::kMse;
  options.augment = Parsed("flip", /*channels_last=*/true);
  const auto model = LoadToTrain(ScaledText("N C"));
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trainer = Trainer::Create(*model, device_, options);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const HostTensor x = Floats({2, 3}, Numbers(6, 1));
  EXPECT_THAT((*trainer)->Step({{"x", x}}, x, 0.1).message(),
              AllOf(HasSubstr("no input is a picture"), HasSubstr("[N, H, W, C]"),
                    HasSubstr("'x' float32[2, 3]")));
}

TEST(ParseAugmentations, ReadsNamesWithTheirOptions) {
  const auto list = ParseAugmentations("flip:horizontal=0,vertical=1,crop,affine:rotate=5,noise");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ((Augmentations{*list, false}.ToString()),
            "flip:horizontal=0,vertical=1,probability=0.5,crop:padding=4,"
            "affine:rotate=5,translate=0,scale=0,shear=0,noise:deviation=0.05");
  EXPECT_EQ((Augmentations{*ParseAugmentations("affine"), true}.ToString()),
            "affine:rotate=10,translate=0.1,scale=0.1,shear=0 of channels last");
  EXPECT_EQ(Augmentations().ToString(), "");
}

TEST(ParseAugmentations, NamesWhatIsWrong) {
  const auto fails = [](const char* text, const char* message) {
    EXPECT_THAT(ParseAugmentations(text).status().message(), HasSubstr(message)) << text;
  };
  fails("blur", "there is no augmentation 'blur'; the augmentations are flip, crop, affine, noise");
  fails("", "there is no augmentation ''");
  fails("crop:size=3", "'size=3' is not an option of crop; its options are padding=PIXELS");
  fails("crop:padding=1.5", "padding is a whole number from 0 to");
  fails("affine:scale=1", "scale is a number from 0 to 0.99, not '1'");
  fails("noise:deviation=nan", "deviation is a number");
  fails("flip,vertical=1", "'vertical=1' does not follow the name of an augmentation");
}

}  // namespace
}  // namespace tartan::train::augment_test
