// SPDX-License-Identifier: Apache-2.0
// Compares gradients of random Tile functions with central differences. TARTAN_LONG_TESTS sets the
// number of functions (default 100), TARTAN_TEST_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/tile/autodiff/check_gradient.h"

namespace tartan::autodiff {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// Writes a random function of matrices of at most 3 × 3, with a few statements of every kind.
class RandomFunction {
 public:
  explicit RandomFunction(uint64_t seed) : random_(seed) {}

  GradientCase Next() {
    GradientCase result;
    for (const char* name : {"A", "B"}) {
      tensors_.push_back({name, Size(), Size()});
      result.inputs.push_back(F64({tensors_.back().rows, tensors_.back().columns}));
    }
    result.inputs.push_back(I64({2}));
    const int statements = 2 + Below(5);
    for (int i = 0; i < statements; ++i) AppendStatement(absl::StrCat("T", i));
    result.code = absl::StrCat("function (A, B, I) -> (", tensors_.back().name, ", ",
                               tensors_[tensors_.size() - 2].name, ") {\n", body_, "}\n");
    return result;
  }

 private:
  struct Tensor {
    std::string name;
    int64_t rows;
    int64_t columns;
  };

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  int64_t Size() { return 1 + Below(3); }
  // Returns an operand and prefers recent values, so that functions become deep.
  Tensor Any() {
    const auto count = static_cast<int>(tensors_.size());
    return tensors_[Below(2) == 0 ? count - 1 : Below(count)];
  }
  template <size_t n>
  std::string OneOf(const char* const (&texts)[n]) {
    return texts[Below(static_cast<int>(n))];
  }

  void Add(const std::string& name, int64_t rows, int64_t columns, const std::string& text) {
    absl::StrAppend(&body_, "  ", text, ";\n");
    tensors_.push_back({name, rows, columns});
  }

  void AppendStatement(const std::string& name) {
    switch (Below(4)) {
      case 0:
        return AppendUnary(name);
      case 1:
        return AppendBinary(name);
      case 2:
        return AppendContraction(name);
      default:
        return AppendSpecial(name);
    }
  }

  void AppendUnary(const std::string& name) {
    static constexpr const char* kFunctions[] = {"sin",  "cos",   "tanh",    "erf",  "abs",
                                                 "relu", "atan",  "sigmoid", "neg",  "asinh",
                                                 "sign", "floor", "ident",   "round"};
    const Tensor a = Any();
    Add(name, a.rows, a.columns, absl::StrCat(name, " = ", OneOf(kFunctions), "(", a.name, ")"));
  }

  void AppendBinary(const std::string& name) {
    static constexpr const char* kFunctions[] = {"add", "sub", "mul", "max", "min"};
    const Tensor a = Any();
    // Reduces the axes that do not fit, so that the operand broadcasts.
    const Tensor b = Any();
    const bool row_fits = b.rows == a.rows;
    const bool column_fits = b.columns == a.columns;
    const std::string other = absl::StrCat(name, "b");
    Add(other, row_fits ? a.rows : 1, column_fits ? a.columns : 1,
        absl::StrCat(other, "[", row_fits ? "i" : "0", ", ", column_fits ? "j" : "0", " : ",
                     row_fits ? a.rows : 1, ", ", column_fits ? a.columns : 1, "] = +(", b.name,
                     "[i, j])"));
    std::string text = absl::StrCat(OneOf(kFunctions), "(", a.name, ", ", other, ")");
    // Keeps arguments away from points where the functions have no derivative.
    const std::string positive = absl::StrCat("(1.5 + ", other, " * ", other, ")");
    const int choice = Below(8);
    if (choice == 0) text = absl::StrCat(a.name, " > ", other, " ? ", other, " : 2 * ", a.name);
    if (choice == 1) text = absl::StrCat(a.name, " / ", positive);
    if (choice == 2) text = absl::StrCat("atan2(", a.name, ", ", positive, ")");
    if (choice == 3) text = absl::StrCat("pow(", positive, ", tanh(", a.name, "))");
    Add(name, a.rows, a.columns, absl::StrCat(name, " = ", text));
  }

  // Returns a polynomial that contains `variable` and sometimes the other variable.
  std::string Poly(const std::string& variable, const std::string& other) {
    std::string poly = Below(4) == 0 ? absl::StrCat("2*", variable) : variable;
    if (Below(4) == 0) poly = absl::StrCat("(", variable, ") / 2");
    if (Below(3) == 0) absl::StrAppend(&poly, " + ", other);
    if (Below(3) == 0) absl::StrAppend(&poly, " - 1");
    return poly;
  }

  void AppendContraction(const std::string& name) {
    static constexpr const char* kAggregations[] = {"+", "*", ">", "<"};
    static constexpr const char* kCombinations[] = {" * ", " + "};
    const Tensor a = Any();
    const Tensor b = Any();
    const int64_t rows = Size();
    const int64_t columns = Size();
    std::string read = absl::StrCat(a.name, "[", Poly("i", "k"), ", ", Poly("k", "i"), "]");
    if (Below(2) == 0) {
      absl::StrAppend(&read, OneOf(kCombinations), b.name, "[", Poly("k", "j"), ", ",
                      Poly("j", "i"), "]");
    }
    std::string text = absl::StrCat(name, "[i, j : ", rows, ", ", columns,
                                    "] = ", OneOf(kAggregations), "(", read, ")");
    if (Below(3) == 0) absl::StrAppend(&text, ", i + j < ", 1 + Below(3));
    for (const Tensor& tensor : tensors_) {
      if (Below(3) != 0 || tensor.rows != rows || tensor.columns != columns) continue;
      absl::StrAppend(&text, " default ", tensor.name);
      break;
    }
    Add(name, rows, columns, text);
  }

  void AppendSpecial(const std::string& name) {
    const Tensor a = Any();
    const int axis = Below(2);
    switch (Below(5)) {
      case 0:
        return Add(name, a.columns, a.rows,
                   absl::StrCat(name, " = reshape(", a.name, ", ", a.columns, ", ", a.rows, ")"));
      case 1:
        return Add(name, axis == 0 ? 2 : a.rows, axis == 0 ? a.columns : 2,
                   absl::StrCat(name, " = gather(", a.name, ", I, ", axis, ")"));
      case 2:
        return Add(name, a.rows, a.columns,
                   absl::StrCat(name, " = sort(", a.name, ", ", axis, ", ", Below(2), ")"));
      case 3:
        return Add(name, a.rows, a.columns,
                   absl::StrCat(name, " = cumprod(", a.name, ", ", axis, ", ", Below(2), ", ",
                                Below(2), ")"));
      default:
        return Add(name, a.rows, a.columns,
                   absl::StrCat(name, " = cumsum(", a.name, ", ", axis, ", ", Below(2), ", ",
                                Below(2), ")"));
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor> tensors_;
  std::string body_;
};

TEST(RandomGradient, EqualsCentralDifferences) {
  const auto first = static_cast<uint64_t>(FromEnvironment("TARTAN_TEST_SEED", 1));
  const auto count = static_cast<uint64_t>(FromEnvironment("TARTAN_LONG_TESTS", 100));
  int64_t compared = 0;
  int64_t skipped = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const GradientCase test = RandomFunction(seed).Next();
    const ir::Program program = BindCode(test.code, test.inputs);
    ASSERT_FALSE(program.values.empty()) << "seed " << seed;
    GradientOptions options;
    options.ties = seed % 2 == 0 ? Ties::kShare : Ties::kFirst;
    const Comparison result = CompareWithDifferences(program, DrawInputs(test, seed), options);
    EXPECT_EQ(result.difference, "") << "seed " << seed << "\n" << test.code;
    compared += result.compared;
    skipped += result.skipped;
    if (HasFailure()) return;
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_LE(skipped * 10, compared) << "of " << count << " functions from seed " << first;
}

}  // namespace
}  // namespace tartan::autodiff
