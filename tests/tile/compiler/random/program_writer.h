// SPDX-License-Identifier: Apache-2.0
// Writes the text of a random program. Private to random_programs.cc and random_moves.cc.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/random/random_programs.h"
#include "tile/base/data_type.h"

namespace tartan {

using Dims = std::vector<int64_t>;

inline constexpr int64_t kMostElements = 1500;

struct RandomValue {
  std::string name;
  DataType type = DataType::kInvalid;
  Dims dims;
  double bound = 0;  // upper bound of the magnitudes of floats
  int fraction = 0;  // floats are multiples of 2^-fraction
  bool is_exact = true;
};

int64_t CountOf(const Dims& dims);
// Returns the maximum magnitude of an integer type.
double BoundOf(DataType type);
// Computes the broadcast shape. Returns false if the shapes do not broadcast, or for more than
// kMostElements elements.
bool Broadcasts(const Dims& a, const Dims& b, Dims* result);
// Returns index names for a rank: "i0, i1".
std::string Indices(size_t rank);
// Returns the left-hand side of a contraction: "T[i0, i1 : 5, 3]", or "T[]" for a scalar.
std::string Target(const std::string& name, const std::string& indices, const Dims& dims);

class ProgramWriter {
 public:
  explicit ProgramWriter(uint64_t seed) : random_(seed) {}

  RandomProgram Write(uint64_t seed);

 private:
  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  template <class T>
  T OneOf(std::initializer_list<T> choices) {
    return choices.begin()[Below(static_cast<int64_t>(choices.size()))];
  }
  int64_t Size() {
    if (Below(60) == 0) return 0;
    return OneOf<int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33});
  }
  Dims Shape() {
    Dims dims(OneOf({0, 1, 1, 2, 2, 2, 3}));
    for (int64_t& dim : dims) dim = Size();
    while (CountOf(dims) > kMostElements) dims.pop_back();
    return dims;
  }

  void AddInput();
  // Returns a random value and prefers recent ones, so that programs become deep.
  const RandomValue& Any() {
    const auto count = static_cast<int64_t>(values_.size());
    return values_[Below(2) == 0 ? count - 1 - Below(std::min<int64_t>(3, count)) : Below(count)];
  }
  // Returns a value that `accepts` accepts; null if a few tries find none.
  template <class Accepts>
  const RandomValue* Find(const Accepts& accepts) {
    for (int tries = 0; tries < 12; ++tries) {
      const RandomValue& value = Any();
      if (accepts(value)) return &value;
    }
    return nullptr;
  }

  std::string NewName() { return absl::StrCat("T", next_name_++); }
  // Adds a statement, unless its floats could become inexact or too large.
  void Add(RandomValue value, const std::string& text);
  void AddExpression(RandomValue value, const std::string& expression) {
    value.name = NewName();
    Add(value, absl::StrCat(value.name, " = ", expression, ";"));
  }

  void AddStatement();
  void AddConstant();
  void AddUnary();
  void AddBinary();
  void AddBinaryOfFloats(const RandomValue& a, const RandomValue& b, RandomValue result);
  void AddComparison();
  void AddSelection();
  void AddSmooth();
  void AddCast();
  void AddReduction();
  void AddMatMul();
  void AddWindow();
  void AddMove();
  void AddPlacement();
  void AddMatch();
  void AddSpecial();
  void AddGather();

  std::mt19937_64 random_;
  int next_name_ = 0;
  std::vector<RandomValue> values_;
  std::vector<std::string> parameters_;
  std::vector<std::string> statements_;
  RandomProgram result_;
};

}  // namespace tartan
