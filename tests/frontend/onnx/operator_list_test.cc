// SPDX-License-Identifier: Apache-2.0
// Tests that docs/operators.md is up to date.
#include "tests/frontend/onnx/operator_list.h"

#include <fstream>
#include <sstream>

#include "frontend/onnx/import/operator_table.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_notes.h"

namespace tartan::onnx::operator_list_test {
namespace {

TEST(OperatorList, IsWhatTheTableAndTheCasesSay) {
  const absl::StatusOr<std::string> page = OperatorList();
  if (absl::IsNotFound(page.status())) GTEST_SKIP() << page.status();
  ASSERT_TRUE(page.ok()) << page.status();
  std::ifstream file(kOperatorListFile);
  std::ostringstream written;
  written << file.rdbuf();
  EXPECT_EQ(written.str(), *page) << "write it again: onnx_operator_list " << kOperatorListFile;
}

TEST(OperatorList, NamesNoOperatorAsMissingThatIsThere) {
  for (const Reason& reason : MissingMicrosoftOperators()) {
    EXPECT_TRUE(OperatorVersions("com.microsoft", reason.name).empty()) << reason.name;
  }
}

}  // namespace
}  // namespace tartan::onnx::operator_list_test
