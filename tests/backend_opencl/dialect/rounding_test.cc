// SPDX-License-Identifier: Apache-2.0
// Casts of float32 to a 16-bit float and back within a kernel, near representable values. The
// device and the interpreter are compared with the exact conversions of base/float16.h.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "opencl_runner.h"
#include "tile/base/float16.h"
#include "tile/loop/build.h"
#include "tile/loop/interpret.h"
#include "tile/loop/verify.h"

namespace tartan::opencl {
namespace {

using namespace loop;  // NOLINT: builders

float Rounded(float x, DataType type) {
  return type == DataType::kFloat16 ? HalfToFloat(FloatToHalf(x))
                                    : BFloat16ToFloat(FloatToBFloat16(x));
}

// Returns every third value of the type, its midpoint to the next value, and the two floats
// adjacent to the midpoint.
std::vector<float> Inputs(DataType type) {
  std::vector<float> inputs;
  for (uint32_t bits = 0; bits < 65536; bits += 3) {
    const auto half = static_cast<uint16_t>(bits);
    const float x = type == DataType::kFloat16 ? HalfToFloat(half) : BFloat16ToFloat(half);
    const float next = type == DataType::kFloat16
                           ? HalfToFloat(static_cast<uint16_t>(half + 1))
                           : BFloat16ToFloat(static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((static_cast<double>(x) + next) / 2);
    const float infinity = std::copysign(std::numeric_limits<float>::infinity(), x);
    for (const float input :
         {x, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, infinity)}) {
      // Replaces subnormal float32 numbers, which devices may flush to 0.
      const bool is_tiny = input != 0 && std::fabs(input) < std::numeric_limits<float>::min();
      inputs.push_back(is_tiny ? 65519.0f : input);
    }
  }
  for (const float x : {65519.99f, 65520.0f, 65536.0f, 3.4e38f}) {
    for (int i = 0; i < 4; ++i) inputs.push_back(i % 2 == 0 ? x : -x);
  }
  return inputs;
}

// y = x rounded to the type, `lanes` elements per work-item.
Kernel RoundingKernel(DataType type, int lanes, int64_t count) {
  Kernel kernel;
  kernel.name = absl::StrCat("round_", Name(type), "_", lanes);
  kernel.parameters = {{"x", DataType::kFloat32}, {"y", DataType::kFloat32, true}};
  kernel.global_size[0] = count / lanes;
  const ExprPtr at = Mul(Work(WorkId::kGlobal, 0), Int(lanes));
  const ExprPtr rounded = Cast(LoadFrom("x", DataType::kFloat32, at, lanes), type);
  kernel.body = MakeBlock({MakeDeclare(rounded->type, "rounded", rounded),
                           MakeStore("y", DataType::kFloat32, at,
                                     Cast(Var("rounded", rounded->type), DataType::kFloat32))});
  return kernel;
}

// Checks the first `count` results.
void ExpectRounded(const std::vector<uint8_t>& bytes, const std::vector<float>& inputs,
                   DataType type, int64_t count) {
  int failures = 0;
  for (int64_t i = 0; i < count && failures < 4; ++i) {
    float actual;
    std::memcpy(&actual, &bytes[4 * i], 4);
    const float expected = Rounded(inputs[i], type);
    if (std::isnan(expected) && std::isnan(actual)) continue;
    if (actual == expected && std::signbit(actual) == std::signbit(expected)) continue;
    ++failures;
    ADD_FAILURE() << inputs[i] << " is rounded to " << actual << " instead of " << expected;
  }
}

class Rounding : public testing::TestWithParam<DataType> {};

TEST_P(Rounding, IsThatOfMemoryInEveryWidth) {
  const std::vector<float> inputs = Inputs(GetParam());
  const int64_t count = static_cast<int64_t>(inputs.size()) / 16 * 16;
  std::vector<uint8_t> bytes(4 * count);
  std::memcpy(bytes.data(), inputs.data(), bytes.size());
  for (const int lanes : {1, 2, 4, 8, 16}) {
    SCOPED_TRACE(lanes);
    const Kernel kernel = RoundingKernel(GetParam(), lanes, count);
    ASSERT_EQ(Verify(kernel).message(), "");
    std::vector<std::vector<uint8_t>> buffers = {bytes, std::vector<uint8_t>(bytes.size())};
    OpenClRunner runner({&kernel, 1});
    ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(buffers)).message(), "");
    ExpectRounded(buffers[1], inputs, GetParam(), count);
  }
}

TEST_P(Rounding, IsThatOfTheInterpreter) {
  const std::vector<float> inputs = Inputs(GetParam());
  const int64_t count = 8192;
  std::vector<std::vector<uint8_t>> buffers(2, std::vector<uint8_t>(4 * count));
  std::memcpy(buffers[0].data(), inputs.data(), buffers[0].size());
  const Kernel kernel = RoundingKernel(GetParam(), 2, count);
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(buffers)).message(), "");
  ExpectRounded(buffers[1], inputs, GetParam(), count);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Rounding,
                         testing::Values(DataType::kFloat16, DataType::kBFloat16),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace tartan::opencl
