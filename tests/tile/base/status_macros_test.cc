// SPDX-License-Identifier: Apache-2.0
#include "tile/base/status_macros.h"

#include <memory>

#include "gtest/gtest.h"

namespace tartan {
namespace {

absl::StatusOr<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return std::make_unique<int>(value / 2);
}

absl::StatusOr<int> Quarter(int value) {
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(value));
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

absl::Status Check(int value) {
  TARTAN_RETURN_IF_ERROR(Quarter(value).status());
  return absl::OkStatus();
}

TEST(StatusMacros, HandOnValuesThatCanOnlyMove) { EXPECT_EQ(Quarter(12).value(), 3); }

TEST(StatusMacros, ReturnTheFirstError) {
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(Check(12).ok());
  EXPECT_EQ(Check(7).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tartan
