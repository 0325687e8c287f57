// SPDX-License-Identifier: Apache-2.0
// Links the operator table of a build without com.microsoft and ai.onnx.ml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/onnx/import/operator_table.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::left_out_operators_test {
namespace {

using ::testing::HasSubstr;

const api::HostValue kOnes = api::HostValue(Values({2}, {1, 1}));

TEST(LeftOutOperators, AreErrorsThatNameTheOptionOfTheirDomain) {
  EXPECT_THAT(Error({.op = "Gelu", .inputs = {kOnes}, .domain = "com.microsoft"}),
              HasSubstr("(com.microsoft.Gelu, opset 1): this build has no operators of "
                        "com.microsoft (CMake option TARTAN_ONNX_MICROSOFT)"));
  EXPECT_THAT(Error({.op = "Scaler", .inputs = {kOnes}, .domain = "ai.onnx.ml"}),
              HasSubstr("(ai.onnx.ml.Scaler, opset 1): this build has no operators of ai.onnx.ml "
                        "(CMake option TARTAN_ONNX_ML)"));
}

TEST(LeftOutOperators, AreThoseOfDomainsBelowToo) {
  EXPECT_EQ(OptionWithout("com.microsoft.nchwc"), "TARTAN_ONNX_MICROSOFT");
  EXPECT_EQ(OptionWithout("com.microsoftware"), "");
  EXPECT_EQ(OptionWithout(""), "");
}

TEST(LeftOutOperators, AreInNoListing) {
  EXPECT_GT(AllOperators().size(), 150u);
  for (const OperatorRow* row : AllOperators()) {
    EXPECT_NE(row->domain, "com.microsoft") << row->name;
    EXPECT_NE(row->domain, "ai.onnx.ml") << row->name;
  }
  EXPECT_EQ(FindOperator("com.microsoft", "FusedMatMul", 1), nullptr);
}

TEST(LeftOutOperators, LeaveOtherDomainsAsTheyAre) {
  EXPECT_EQ(Error({.op = "Relu", .inputs = {kOnes}}), "");
  EXPECT_THAT(Error({.op = "Relu", .inputs = {kOnes}, .domain = "com.example"}),
              HasSubstr("unknown operator"));
}

}  // namespace
}  // namespace tartan::onnx::left_out_operators_test
