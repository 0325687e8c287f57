// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/operator_table.h"

#include <set>
#include <tuple>

#include "frontend/api/function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::onnx::operator_table_test {
namespace {

TEST(OperatorTable, HasEachFormOnce) {
  std::set<std::tuple<std::string, std::string, int>> seen;
  for (const OperatorRow* row : AllOperators()) {
    EXPECT_TRUE(seen.emplace(row->domain, row->name, row->since_version).second)
        << row->name << " " << row->since_version;
  }
}

TEST(OperatorTable, SaysOfEachRowHowInOneWay) {
  for (const OperatorRow* row : AllOperators()) {
    EXPECT_EQ((row->handler != nullptr) + (row->tile != nullptr) + (row->value_handler != nullptr),
              1)
        << row->name;
    EXPECT_LE(row->arity.least, row->arity.most) << row->name;
  }
}

TEST(OperatorTable, HasTileThatParsesAndTakesItsOperands) {
  for (const OperatorRow* row : AllOperators()) {
    if (row->tile == nullptr) continue;
    const auto function = api::Function::FromTile(row->tile);
    ASSERT_TRUE(function.ok()) << row->name << ": " << function.status();
    EXPECT_EQ(static_cast<int>(function->ast().inputs.size()), row->arity.most) << row->name;
  }
}

TEST(OperatorTable, FindsTheNewestFormUpToAnOperatorSet) {
  EXPECT_EQ(FindOperator("", "Squeeze", 11)->since_version, 1);
  EXPECT_EQ(FindOperator("", "Squeeze", 13)->since_version, 13);
  EXPECT_EQ(FindOperator("", "Squeeze", 20)->since_version, 13);
  EXPECT_EQ(FindOperator("", "Gelu", 19)->since_version, 20) << "taken as it came to be";
  EXPECT_EQ(FindOperator("com.example", "Add", 13), nullptr);
  EXPECT_THAT(OperatorVersions("", "Clip"), testing::ElementsAre(1, 11));
}

}  // namespace
}  // namespace tartan::onnx::operator_table_test
