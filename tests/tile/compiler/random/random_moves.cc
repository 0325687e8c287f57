// SPDX-License-Identifier: Apache-2.0
// Contractions and special operations of random programs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/tile/compiler/random/program_writer.h"
#include "tile/ir/type_rules.h"

namespace tartan {

void ProgramWriter::AddReduction() {
  const RandomValue a = Any();
  if (a.dims.empty()) return;
  RandomValue result = a;
  result.dims.clear();
  std::vector<std::string> indices;
  int64_t count = 1;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (Below(2) == 0) {
      indices.push_back(absl::StrCat("i", d));
      result.dims.push_back(a.dims[d]);
    } else {
      count *= std::max<int64_t>(a.dims[d], 1);
    }
  }
  std::string op = a.is_exact ? OneOf({"+", "+", ">", "<"}) : "+";
  if (op == "+") result.bound *= static_cast<double>(count);
  if (!IsFloat(a.type)) result.bound = BoundOf(a.type);
  if (!IsFloat(a.type) && Below(5) == 0) op = "*";
  result.name = NewName();
  const std::string read = absl::StrCat(a.name, "[", Indices(a.dims.size()), "]");
  Add(result, absl::StrCat(Target(result.name, absl::StrJoin(indices, ", "), result.dims), " = ",
                           op, "(", read, ");"));
}

void ProgramWriter::AddMatMul() {
  const RandomValue* left = Find([](const RandomValue& value) { return value.dims.size() == 2; });
  if (left == nullptr) return;
  const RandomValue a = *left;
  const RandomValue* right = Find([&](const RandomValue& value) {
    return value.dims.size() == 2 && value.dims[0] == a.dims[1];
  });
  const RandomValue b = right == nullptr ? a : *right;
  const bool is_own = right == nullptr;
  RandomValue result;
  result.type = ir::Promote(a.type, b.type);
  result.dims = {a.dims[0], is_own ? b.dims[0] : b.dims[1]};
  result.is_exact = a.is_exact && b.is_exact;
  result.fraction = a.fraction + b.fraction;
  result.bound = a.bound * b.bound * static_cast<double>(std::max<int64_t>(a.dims[1], 1));
  if (IsFloat(result.type) && (a.bound > 65536 || b.bound > 65536)) return;
  if (!IsFloat(result.type)) result.bound = BoundOf(result.type);
  result.name = NewName();
  Add(result, absl::StrCat(Target(result.name, "i, j", result.dims), " = +(", a.name, "[i, k] * ",
                           b.name, is_own ? "[j, k]);" : "[k, j]);"));
}

// Adds sums or extremes of windows along the first axis.
void ProgramWriter::AddWindow() {
  const RandomValue* found = Find([](const RandomValue& value) { return !value.dims.empty(); });
  if (found == nullptr) return;
  const RandomValue a = *found;
  RandomValue result = a;
  const int64_t window = 1 + Below(4);
  const int64_t stride = 1 + Below(2);
  const int64_t pad = Below(3);
  result.dims[0] = (a.dims[0] + stride - 1) / stride;
  const std::string op = a.is_exact ? OneOf({"+", ">", "<"}) : "+";
  if (op == "+") result.bound *= static_cast<double>(window);
  if (!IsFloat(a.type)) result.bound = BoundOf(a.type);
  std::string others = Indices(a.dims.size()).substr(2);
  result.name = NewName();
  Add(result,
      absl::StrCat(Target(result.name, absl::StrCat("x", others), result.dims), " = ", op, "(",
                   a.name, "[", stride, "*x + w - ", pad, others, "]), w < ", window, ";"));
}

// Adds a transpose, a strided read or write, or a running sum.
void ProgramWriter::AddMove() {
  const RandomValue a = Any();
  RandomValue result = a;
  result.name = NewName();
  const std::string& t = result.name;
  const size_t rank = a.dims.size();
  if (rank == 2 && Below(2) == 0) {
    std::swap(result.dims[0], result.dims[1]);
    return Add(result, absl::StrCat(Target(t, "j, i", result.dims), " = =(", a.name, "[i, j]);"));
  }
  if (rank == 1 && Below(2) == 0 && a.is_exact) {
    result.bound *= static_cast<double>(std::max<int64_t>(a.dims[0], 1));
    if (!IsFloat(a.type)) result.bound = BoundOf(a.type);
    return Add(result, absl::StrCat(Target(t, "i", result.dims), " = +(", a.name, "[k]), i - k < ",
                                    a.dims[0] + 1, ";"));
  }
  if (rank >= 1 && Below(2) == 0) {
    const std::string others = Indices(rank).substr(2);
    result.dims[0] = 2 * a.dims[0] + Below(2);
    if (CountOf(result.dims) > kMostElements) return;
    return Add(result, absl::StrCat(Target(t, absl::StrCat("2*i0", others), result.dims), " = =(",
                                    a.name, "[", Indices(rank), "]);"));
  }
  result.dims.insert(result.dims.begin(), Size());
  if (CountOf(result.dims) > kMostElements || result.dims.size() > 4) return;
  const std::string read = Indices(rank);
  Add(result, absl::StrCat(Target(t, rank == 0 ? "s" : absl::StrCat("s, ", read), result.dims),
                           " = =(", a.name, "[", read, "]);"));
}

// Concatenates two tensors.
void ProgramWriter::AddPlacement() {
  const RandomValue* first = Find([](const RandomValue& value) { return !value.dims.empty(); });
  if (first == nullptr) return;
  const RandomValue a = *first;
  const RandomValue* second = Find([&](const RandomValue& value) {
    return value.type == a.type && value.dims.size() == a.dims.size() &&
           std::equal(value.dims.begin() + 1, value.dims.end(), a.dims.begin() + 1);
  });
  if (second == nullptr) return;
  const RandomValue b = *second;
  RandomValue result = a;
  result.dims[0] = a.dims[0] + b.dims[0];
  result.bound = std::max(a.bound, b.bound);
  result.fraction = std::max(a.fraction, b.fraction);
  result.is_exact = a.is_exact && b.is_exact;
  if (CountOf(result.dims) > kMostElements) return;
  const std::string half = NewName();
  const std::string others = Indices(a.dims.size()).substr(2);
  const std::string read = absl::StrCat("[", Indices(a.dims.size()), "]");
  result.name = NewName();
  Add(result, absl::StrCat(
                  Target(half, absl::StrCat("i0", others), result.dims), " = =(", a.name, read,
                  "); ", Target(result.name, absl::StrCat("i0 + ", a.dims[0], others), result.dims),
                  " = =(", b.name, read, ") default ", half, ";"));
}

// Compares all pairs of elements of two tensors; yields bools, or values of equal elements.
void ProgramWriter::AddMatch() {
  const auto is_vector = [](const RandomValue& value) {
    return value.dims.size() == 1 && value.is_exact;
  };
  const RandomValue* first = Find(is_vector);
  if (first == nullptr) return;
  const RandomValue a = *first;
  const RandomValue* second = Find([&](const RandomValue& value) {
    return is_vector(value) && IsFloat(value.type) == IsFloat(a.type);
  });
  if (second == nullptr) return;
  const RandomValue b = *second;
  RandomValue result;
  result.dims = {a.dims[0], b.dims[0]};
  if (CountOf(result.dims) > kMostElements) return;
  result.type = DataType::kBool;
  result.name = NewName();
  std::string what;
  if (Below(2) == 0) {
    result.type = a.type;
    result.bound = a.bound;
    result.fraction = a.fraction;
    what = absl::StrCat(" ? ", a.name, "[i]");
  }
  Add(result, absl::StrCat(Target(result.name, "i, j", result.dims), " = ",
                           what.empty() ? "+" : OneOf({"+", "="}), "(", a.name, "[i] == ", b.name,
                           "[j]", what, ");"));
}

void ProgramWriter::AddSpecial() {
  const RandomValue* found = Find([](const RandomValue& value) { return !value.dims.empty(); });
  if (found == nullptr) return;
  const RandomValue a = *found;
  RandomValue result = a;
  const int64_t axis = Below(static_cast<int64_t>(a.dims.size()));
  const auto call = [&](absl::string_view function, absl::string_view rest = "") {
    return absl::StrCat(function, "(", a.name, ", ", axis, rest, ")");
  };
  switch (Below(5)) {
    case 0:
      result.dims = {CountOf(a.dims)};
      return AddExpression(result, absl::StrCat("reshape(", a.name, ", ", result.dims[0], ")"));
    case 1:
      result.type = DataType::kInt32;
      result.bound = 64;
      return AddExpression(result, call("index"));
    case 2:
      if (!a.is_exact || a.type == DataType::kBool) return;
      result.bound *= static_cast<double>(std::max<int64_t>(a.dims[axis], 1));
      if (!IsFloat(a.type)) result.bound = BoundOf(a.type);
      return AddExpression(result, call("cumsum", OneOf({"", ", 1", ", 0, 1"})));
    case 3:
      if (!a.is_exact) return;
      return AddExpression(result, call("sort", OneOf({"", ", 1"})));
    default:
      if (!a.is_exact) return;
      result.type = DataType::kInt64;
      result.bound = 2000;
      return AddExpression(result, call("argsort", OneOf({"", ", 1"})));
  }
}

void ProgramWriter::AddGather() {
  const RandomValue* found =
      Find([](const RandomValue& value) { return !value.dims.empty() && CountOf(value.dims) > 0; });
  if (found == nullptr) return;
  const RandomValue a = *found;
  const RandomValue* places = Find([](const RandomValue& value) {
    return (value.type == DataType::kInt32 || value.type == DataType::kInt64);
  });
  if (places == nullptr) return;
  const RandomValue at = *places;
  const auto axis = static_cast<size_t>(Below(static_cast<int64_t>(a.dims.size())));
  RandomValue result = a;
  result.dims.assign(a.dims.begin(), a.dims.begin() + static_cast<int64_t>(axis));
  result.dims.insert(result.dims.end(), at.dims.begin(), at.dims.end());
  result.dims.insert(result.dims.end(), a.dims.begin() + static_cast<int64_t>(axis) + 1,
                     a.dims.end());
  if (CountOf(result.dims) > kMostElements || result.dims.size() > 4) return;
  AddExpression(result, absl::StrCat("gather(", a.name, ", ", at.name, ", ", axis, ")"));
}

}  // namespace tartan
