// SPDX-License-Identifier: Apache-2.0
// Tests matmuls with int8 factors on the device, with its integer dot instructions. Compares errors
// with float64 bounds, and checks NaN and infinities.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "tests/tile/compiler/products/quantized_programs.h"
#include "tests/tile/evaluator/device.h"
#include "tests/tile/evaluator/list_runner.h"
#include "tile/compiler/compiler.h"

namespace tartan::evaluator::quantized_test {
namespace {

class QuantizedDeviceTest : public testing::TestWithParam<QuantizedCase> {
 protected:
  void SetUp() override {
    if (TestSettings().packed_dot_width < 2) GTEST_SKIP() << "it multiplies one integer at a time";
    if (TestSettings().threads > 1) GTEST_SKIP() << "for a GPU these products are small";
    list = compiler::Compile(Bind(product), OptionsForIntegers(TestSettings()));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(CountIntegerDots(*list), 1);
    runner.emplace(*list, *TestDevice());
  }
  const MatrixProgram& product = GetParam().product;
  std::vector<HostTensor> inputs = UnevenNumbers(product);
  absl::StatusOr<compiler::KernelList> list;
  std::optional<ListRunner> runner;
};

TEST_P(QuantizedDeviceTest, ErrorsAreThoseOfRoundingTheFactorsToIntegers) {
  ExpectQuantizationErrors(GetParam(), inputs, runner->Run(inputs));
}

// Makes the first activation and the last weight NaN or infinite. The first activation affects the
// first row, image or pixel; the last weight affects the last result.
TEST_P(QuantizedDeviceTest, NumbersThatAreNoneAreNotHidden) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<double> before = runner->Run(inputs).ToDoubles();
  for (const float none : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (const bool in_weights : {false, true}) {
      std::vector<HostTensor> changed = inputs;
      HostTensor& factor = changed[in_weights == product.is_constant[0] ? 0 : 1];
      std::vector<float> values;
      for (const double value : factor.ToDoubles()) values.push_back(static_cast<float>(value));
      (in_weights ? values.back() : values.front()) = none;
      factor = HostTensor::FromVector(factor.shape(), values);
      const std::vector<double> after = runner->Run(changed).ToDoubles();
      ASSERT_EQ(after.size(), before.size());
      EXPECT_TRUE(std::isnan(in_weights ? after.back() : after.front()));
      for (size_t i = 0; i < before.size(); ++i) {
        EXPECT_TRUE(std::isnan(after[i]) || after[i] == before[i]) << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, QuantizedDeviceTest, testing::ValuesIn(QuantizedCases()),
                         [](const auto& info) { return info.param.product.name; });

}  // namespace
}  // namespace tartan::evaluator::quantized_test
