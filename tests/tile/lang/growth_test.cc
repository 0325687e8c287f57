// SPDX-License-Identifier: Apache-2.0
// Tests that parsing and binding allocate memory linear in the text. Allocated bytes replace
// timing: quadratic copies or walks would allocate more.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/lang/parser.h"

namespace {

size_t allocated_bytes = 0;

}  // namespace

// Not inlined, because GCC would otherwise warn about mismatched malloc and delete.
__attribute__((noinline)) void* operator new(size_t size) {
  allocated_bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tartan::lang {
namespace {

// Statements of every kind, each reading the one before it; every fifth has a longer expression.
std::string Program(int statements) {
  std::string text = "function (A[N, M], B[M, M]) -> (T" + absl::StrCat(statements - 1) + ") {\n";
  std::string last = "A";
  for (int i = 0; i < statements; ++i) {
    const std::string name = absl::StrCat("T", i);
    switch (i % 5) {
      case 0:
        absl::StrAppend(&text, name, "[i, j : N, M] = +(", last, "[i, k] * B[k, j]);\n");
        break;
      case 1:
        absl::StrAppend(&text, name, " = tanh(", last, ") * 0.5 + ", last, " / (N * M + ", i,
                        ");\n");
        break;
      case 2:
        absl::StrAppend(&text, name, "[i, j : N, M] = >(", last, "[i, j + k]), k < 3 default ",
                        last, ";\n");
        break;
      case 3:
        absl::StrAppend(&text, name, " = ", last, " > 0 ? ", last, " : cumsum(", last, ", 1);\n");
        break;
      default:
        absl::StrAppend(&text, "[[name(step)]] ", name, " = reshape(", last, ", N, M);\n");
    }
    last = name;
  }
  return text + "}\n";
}

size_t BytesFor(int statements) {
  const std::string text = Program(statements);
  const TensorShape a{DataType::kFloat32, {4, 6}};
  const TensorShape b{DataType::kFloat32, {6, 6}};
  const size_t before = allocated_bytes;
  const absl::Status status = ParseAndBind(text, {a, b}, "growth.tile").status();
  EXPECT_TRUE(status.ok()) << status;
  return allocated_bytes - before;
}

TEST(ParseAndBind, TakesMemoryLinearInTheText) {
  const size_t small = BytesFor(2500);
  const size_t medium = BytesFor(5000);
  const size_t large = BytesFor(10000);
  // Vectors double as they grow, so equal steps need not cost exactly the same.
  EXPECT_LT(static_cast<double>(medium), 2.3 * static_cast<double>(small));
  EXPECT_LT(static_cast<double>(large), 2.3 * static_cast<double>(medium));
  RecordProperty("bytes_per_statement", static_cast<int>(large / 10000));
}

}  // namespace
}  // namespace tartan::lang
