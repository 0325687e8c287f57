// SPDX-License-Identifier: Apache-2.0
// Tests special operations whose sizes decide how work-items share the work, against the naive
// evaluator.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::lower::special_kernels_test {
namespace {

HardwareSettings Cpu(int64_t cores, int64_t vector_width) {
  HardwareSettings settings;
  settings.compute_units = cores;
  settings.vector_width = vector_width;
  return settings;
}

HardwareSettings Gpu() {
  HardwareSettings settings;
  settings.threads = 64;
  settings.vector_width = 1;
  settings.has_local_memory = true;
  settings.local_memory_bytes = 49152;
  settings.max_work_group_size = 1024;
  settings.max_work_item_sizes = {1024, 1024, 64};
  settings.compute_units = 4;
  return settings;
}

void ExpectNaiveResults(const TestProgram& test, const HardwareSettings& settings,
                        compiler::Tier tier) {
  const std::string what = absl::StrCat(test.name, " on ", settings.compute_units, " units of ",
                                        settings.threads, " x ", settings.vector_width);
  const ir::Program program = BindTestProgram(test);
  const std::vector<HostTensor> inputs = RandomInputs(test, 11);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << what << ": " << expected.status();
  compiler::CompileOptions options;
  options.settings = settings;
  options.tier = tier;
  const auto list = compiler::Compile(program, options);
  ASSERT_TRUE(list.ok()) << what << ": " << list.status();
  const auto actual = compiler::InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << what << ": " << actual.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-4), "") << what;
  }
}

void ExpectNaiveResultsEverywhere(const TestProgram& test) {
  for (const compiler::Tier tier : {compiler::Tier::kExact, compiler::Tier::kReady}) {
    for (const int64_t cores : {1, 2, 5}) {
      for (const int64_t vector_width : {1, 4, 8}) {
        ExpectNaiveResults(test, Cpu(cores, vector_width), tier);
      }
    }
    ExpectNaiveResults(test, Gpu(), tier);
  }
}

// Scatters slices of `columns` columns to one of seven rows, with and without addition.
void ExpectScatters(int64_t columns) {
  for (const int mode : {0, 1}) {
    TestProgram test = {
        absl::StrCat("Scatter of ", columns, " columns"),
        absl::StrCat("function (D, I, U) -> (O) { O = scatter_nd(D, I, U, ", mode, "); }"),
        {F32({7, columns}), I32({20, 1}), F32({20, columns})},
        0,
        6};
    ExpectNaiveResultsEverywhere(test);
  }
}

TEST(SpecialKernels, ScatterSlicesNarrowerThanAVector) { ExpectScatters(3); }

TEST(SpecialKernels, ScatterRangesOfColumnsThatDivideNothing) {
  for (const int64_t columns : {64, 65, 150, 203}) ExpectScatters(columns);
}

TEST(SpecialKernels, ScatterManyLinesOfFewUpdates) {
  ExpectNaiveResultsEverywhere(
      {"Lines",
       "function (D, I, U) -> (O) { O = scatter_elements(D, I, U, 1, 1); }",
       {F32({33, 7}), I32({33, 5}), F32({33, 5})},
       0,
       6});
}

TEST(SpecialKernels, AddUpLongLinesInParts) {
  for (const int64_t size : {255, 256, 257, 1000}) {
    for (const char* order : {"0, 0", "1, 0", "0, 1", "1, 1"}) {
      ExpectNaiveResultsEverywhere(
          {absl::StrCat("Running sum of ", size, " with ", order),
           absl::StrCat("function (X) -> (O) { O = cumsum(X, 1, ", order, "); }"),
           {F32({3, size})}});
    }
  }
}

TEST(SpecialKernels, SortLongLinesOfEveryType) {
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
        DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kUInt8,
        DataType::kUInt16, DataType::kUInt32, DataType::kUInt64, DataType::kBool}) {
    const double greatest = type == DataType::kBool ? 1 : 120;
    const double least = IsUnsignedInteger(type) || type == DataType::kBool ? 0 : -120;
    for (const char* sorted : {"sort(X, 0, 0)", "sort(X, 0, 1)", "argsort(X, 0, 0)",
                               "argsort(X, 0, 1)", "argsort(X, 0, 0, 3)", "argsort(X, 0, 1, 40)"}) {
      ExpectNaiveResultsEverywhere({absl::StrCat(sorted, " of ", Name(type)),
                                    absl::StrCat("function (X) -> (O) { O = ", sorted, "; }"),
                                    {{type, {70, 3}}},
                                    least,
                                    greatest});
    }
  }
}

// Sorts NaN, infinities and zeros of both signs: 0 / 0, 1 / 0, -1 / 0, and 0 * -1.
TEST(SpecialKernels, SortNumbersWithoutAnOrder) {
  for (const char* type : {"16", "32", "64"}) {
    for (const char* sorted : {"argsort(Y, 1, 0)", "argsort(Y, 1, 1)", "argsort(Y, 1, 0, 5)",
                               "argsort(Y, 1, 1, 5)", "argsort(Y, 1, 1, 50)"}) {
      ExpectNaiveResultsEverywhere(
          {absl::StrCat(sorted, " of float", type),
           absl::StrCat("function (X, Z) -> (O) { Y = as_float(round(X) / trunc(Z), ", type,
                        "); O = ", sorted, "; }"),
           {F32({5, 60}), F32({5, 60})}});
    }
  }
}

TEST(SpecialKernels, SortMoreLinesThanThereAreWorkItems) {
  for (const int64_t lines : {16, 37, 83}) {
    ExpectNaiveResultsEverywhere(
        {absl::StrCat("Sort of ", lines, " lines"),
         "function (X) -> (V, P) { V = sort(X, 1, 0); P = argsort(X, 1, 0);"
         " }",
         {F32({lines, 19})}});
  }
}

}  // namespace
}  // namespace tartan::lower::special_kernels_test
