// SPDX-License-Identifier: Apache-2.0
// Tests that every official case listed in node_cases.txt passes on the host.
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/node_case.h"

namespace tartan::onnx::node_cases_test {
namespace {

TEST(NodeCases, ThatPassedBeforeStillPass) {
  if (ListCases("node").empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::ifstream list("tests/frontend/onnx/node_cases.txt");
  ASSERT_TRUE(list.good());
  std::string name;
  int count = 0;
  while (std::getline(list, name)) {
    ++count;
    const absl::Status status = RunNodeCase(absl::StrCat(kTestDataFolder, "/", name));
    EXPECT_TRUE(status.ok()) << name << ": " << status;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace tartan::onnx::node_cases_test
