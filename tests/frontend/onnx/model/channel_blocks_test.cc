// SPDX-License-Identifier: Apache-2.0
// Tests filters with channels in blocks, and how the block size is derived from a file.
#include "frontend/onnx/import/channel_blocks.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::channel_blocks_test {
namespace {

using ::testing::HasSubstr;

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)}, values);
}

// The elements 0, 1, 2 … in the standard's order, stored in blocks.
HostTensor InBlocks(int64_t outputs, int64_t inputs, int64_t space, int64_t block) {
  std::vector<float> stored(static_cast<size_t>(outputs * inputs * space));
  float next = 0;
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t s = 0; s < space; ++s) {
        int64_t at = 0;
        if (inputs < block) {  // [o / B][i][s][o % B]
          at = ((o / block * inputs + i) * space + s) * block + o % block;
        } else {  // [o / B][i / B][s][i % B][o % B]
          at = o / block * (inputs / block) + i / block;
          at = ((at * space + s) * block + i % block) * block + o % block;
        }
        stored[static_cast<size_t>(at)] = next++;
      }
    }
  }
  return Floats({outputs, inputs, space, 1}, stored);
}

TEST(PlainFilter, PutsEveryElementInTheStandardsOrder) {
  for (const int64_t block : {8, 16}) {
    for (const int64_t inputs : {int64_t{1}, int64_t{3}, block, 2 * block}) {
      const HostTensor blocked = InBlocks(3 * block, inputs, 6, block);
      ASSERT_TRUE(IsBlockedFilter(blocked.shape(), block));
      std::vector<double> counting(static_cast<size_t>(blocked.element_count()));
      std::iota(counting.begin(), counting.end(), 0);
      EXPECT_EQ(PlainFilter(blocked, block).ToDoubles(), counting) << block << ", " << inputs;
    }
  }
  EXPECT_FALSE(IsBlockedFilter(TensorShape{DataType::kFloat32, {12, 3, 1, 1}}, 8));
  EXPECT_FALSE(IsBlockedFilter(TensorShape{DataType::kFloat32, {16, 12, 1, 1}}, 8));
}

// The error of a model with one convolution of such a filter and `channels` output channels.
std::string LoadError(const std::vector<int64_t>& dims, int64_t zeros, int64_t channels) {
  std::vector<std::string> values;
  const int64_t count = dims[0] * dims[1];
  for (int64_t i = 0; i < count; ++i) values.push_back(i < count - zeros ? "1" : "0");
  const std::string domain = "domain: 'com.microsoft.nchwc'";
  const std::string bytes = ModelBytes(absl::StrCat(
      "graph { ", ValueText("input", "x", 1, "1 1 2 2"), " initializer { name: 'w' data_type: 1",
      " dims: ", dims[0], " dims: ", dims[1], " dims: 1 dims: 1 float_data: [",
      absl::StrJoin(values, ", "), "] } ", NodeText("Conv", {"x", "w"}, {"c"}, domain),
      NodeText("ReorderOutput", {"c"}, {"y"},
               absl::StrCat(domain, " attribute { name: 'channels' type: INT i: ", channels, " }")),
      " output { name: 'y' } }", " opset_import { domain: 'com.microsoft.nchwc' version: 1 }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  return std::string(model.status().message());
}

TEST(ChannelBlock, FollowsFromSizesAndZerosOrIsRefused) {
  EXPECT_EQ(LoadError({24, 1}, 0, 24), "");
  EXPECT_EQ(LoadError({32, 1}, 12, 20), "");  // in blocks of 8 there would be 24 channels
  EXPECT_THAT(LoadError({32, 1}, 0, 32),
              HasSubstr("do not determine the size of its channel blocks"));
  EXPECT_THAT(LoadError({32, 1}, 0, 32), HasSubstr("ORT_ENABLE_EXTENDED"));
  EXPECT_THAT(LoadError({20, 1}, 0, 20), HasSubstr("fit no size of its channel blocks"));
}

}  // namespace
}  // namespace tartan::onnx::channel_blocks_test
