// SPDX-License-Identifier: Apache-2.0
// Tests selections whose condition compares elements of another width, on the device. A vector mask
// has the width of the compared elements.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/expect_naive.h"

namespace tartan::evaluator {
namespace {

constexpr DataType kCompared[] = {DataType::kInt8, DataType::kInt16, DataType::kFloat32,
                                  DataType::kFloat64};
constexpr DataType kChosen[] = {DataType::kUInt8, DataType::kInt16, DataType::kInt32,
                                DataType::kFloat32, DataType::kInt64};

class Conditions : public testing::TestWithParam<std::tuple<DataType, DataType>> {};

// Covers a size that vectors divide and one that they do not divide.
TEST_P(Conditions, ChooseAndJoinAcrossWidths) {
  const auto [compared, chosen] = GetParam();
  TestProgram program;
  program.name = absl::StrCat("Conditions_", Name(compared), "_", Name(chosen));
  program.code = R"(function (A, B, X, Y, C, D, P, Q) -> (E, O, F, G, H) {
    E = A < B && !(X <= Y) ? (A == B || X == Y ? X : Y) : X - Y;
    O = C < D ? P : Q;
    F = (C == D ? P < Q : C != 1);
    G = ((A < B) == (X <= Y)) ? X : Y;
    H = (C < D) != (P < Q);
  })";
  const auto shape = [](DataType type, std::vector<int64_t> dims) {
    return TensorShape{type, std::move(dims)};
  };
  program.inputs = {shape(compared, {3, 64}), shape(compared, {3, 64}), shape(chosen, {3, 64}),
                    shape(chosen, {3, 64}),   shape(compared, {5, 37}), shape(compared, {5, 37}),
                    shape(chosen, {5, 37}),   shape(chosen, {5, 37})};
  ExpectNaiveResults(program, 11, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(EveryPairOfWidths, Conditions,
                         testing::Combine(testing::ValuesIn(kCompared), testing::ValuesIn(kChosen)),
                         [](const auto& info) {
                           return absl::StrCat(Name(std::get<0>(info.param)), "_",
                                               Name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace tartan::evaluator
