// SPDX-License-Identifier: Apache-2.0
// A build without libjpeg-turbo names the package that it lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/data/jpeg.h"

namespace tartan::data {
namespace {

TEST(WithoutJpeg, NamesThePackage) {
  const std::vector<uint8_t> bytes = {0xFF, 0xD8, 0xFF, 0xE0};
  for (const absl::Status& status : {ReadJpegHeader(bytes).status(), DecodeJpeg(bytes).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("install libjpeg-dev"));
  }
}

}  // namespace
}  // namespace tartan::data
