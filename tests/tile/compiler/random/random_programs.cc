// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/random/random_programs.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/tile/compiler/random/program_writer.h"
#include "tile/autodiff/gradient.h"
#include "tile/ir/type_rules.h"

namespace tartan {

int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

double BoundOf(DataType type) {
  return type == DataType::kBool ? 1 : std::ldexp(1.0, static_cast<int>(8 * ByteWidth(type)));
}

bool Broadcasts(const Dims& a, const Dims& b, Dims* result) {
  result->assign(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < result->size(); ++d) {
    const int64_t x = d < a.size() ? a[a.size() - 1 - d] : 1;
    const int64_t y = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (x != y && x != 1 && y != 1) return false;
    (*result)[result->size() - 1 - d] = x == 1 ? y : x;
  }
  return CountOf(*result) <= kMostElements;
}

std::string Indices(size_t rank) {
  std::vector<std::string> names;
  for (size_t d = 0; d < rank; ++d) names.push_back(absl::StrCat("i", d));
  return absl::StrJoin(names, ", ");
}

std::string Target(const std::string& name, const std::string& indices, const Dims& dims) {
  if (dims.empty()) return absl::StrCat(name, "[]");
  return absl::StrCat(name, "[", indices, " : ", absl::StrJoin(dims, ", "), "]");
}

void ProgramWriter::Add(RandomValue value, const std::string& text) {
  // Maximum number of significant bits of an exact float; below float32's 24, as a margin.
  constexpr int kExactBits = 21;
  if (!IsFloat(value.type)) {
    value.is_exact = true;
  } else if (value.bound > (value.is_exact ? std::ldexp(1.0, kExactBits - value.fraction) : 1e5)) {
    return;
  }
  statements_.push_back(text);
  values_.push_back(std::move(value));
}

void ProgramWriter::AddInput() {
  RandomValue value;
  value.name = absl::StrCat("A", parameters_.size());
  value.type = OneOf({DataType::kFloat32, DataType::kFloat32, DataType::kFloat32,
                      DataType::kFloat32, DataType::kFloat16, DataType::kFloat64, DataType::kInt32,
                      DataType::kInt32, DataType::kInt8, DataType::kUInt8, DataType::kInt64,
                      DataType::kUInt16, DataType::kBool, DataType::kBool});
  value.dims = Shape();
  value.bound = IsFloat(value.type) ? 3 : BoundOf(value.type);
  value.fraction = 1;
  const TensorShape shape{value.type, value.dims};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    if (IsFloat(value.type)) {
      StoreElement(value.type, static_cast<double>(Below(13) - 6) / 2, i, bytes.data());
    } else if (value.type == DataType::kBool) {
      StoreElement(value.type, Below(2), i, bytes.data());
    } else {
      const int64_t number = Below(4) == 0 ? static_cast<int64_t>(random_()) : Below(9) - 4;
      StoreElement(value.type, number, i, bytes.data());
    }
  }
  if (IsFloat(value.type)) result_.floats.push_back(static_cast<int>(parameters_.size()));
  result_.program.inputs.push_back(shape);
  result_.inputs.emplace_back(shape, bytes);
  parameters_.push_back(value.name);
  values_.push_back(std::move(value));
}

void ProgramWriter::AddConstant() {
  RandomValue value{
      "", OneOf({DataType::kFloat32, DataType::kFloat32, DataType::kInt32, DataType::kBool}),
      Shape(), 2.5, 1};
  const std::string scalar = NewName();
  const std::string number = value.type == DataType::kFloat32 ? OneOf({"0.0", "1.0", "2.5"})
                             : value.type == DataType::kInt32 ? OneOf({"0", "1", "7"})
                                                              : OneOf({"(1 > 0)", "(1 < 0)"});
  value.name = NewName();
  if (!IsFloat(value.type)) value.bound = 7;
  Add(value, absl::StrCat(scalar, " = ", number, "; ",
                          Target(value.name, Indices(value.dims.size()), value.dims), " = =(",
                          scalar, "[]);"));
}

void ProgramWriter::AddUnary() {
  const RandomValue a = Any();
  RandomValue result = a;
  if (!IsFloat(a.type)) {
    return AddExpression(
        result, absl::StrCat(OneOf({"-", "~", "abs", "sign", "relu", "floor"}), "(", a.name, ")"));
  }
  if (!a.is_exact) return AddExpression(result, absl::StrCat("-", a.name));
  const std::string function = OneOf<std::string>({"-", "abs", "relu", "sign", "floor", "round"});
  if (function == "floor" || function == "round") {
    result.bound += 1;
    result.fraction = 0;
  }
  AddExpression(result, absl::StrCat(function, "(", a.name, ")"));
}

void ProgramWriter::AddBinary() {
  const RandomValue a = Any();
  RandomValue result;
  const RandomValue* found =
      Find([&](const RandomValue& value) { return Broadcasts(a.dims, value.dims, &result.dims); });
  if (found == nullptr) return;
  const RandomValue b = *found;
  Broadcasts(a.dims, b.dims, &result.dims);
  result.type = ir::Promote(a.type, b.type);
  if (IsFloat(result.type)) return AddBinaryOfFloats(a, b, result);
  result.bound = BoundOf(result.type);
  const bool is_bool = result.type == DataType::kBool;
  const std::string op =
      is_bool ? OneOf({"+", "-", "*", "/", "%", "&", "|", "^", "max", "min", "pow", "&&", "||"})
              : OneOf({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "max", "min", "pow",
                       "fmod"});
  const bool is_call = op.size() >= 3;
  AddExpression(result, is_call ? absl::StrCat(op, "(", a.name, ", ", b.name, ")")
                                : absl::StrCat(a.name, " ", op, " ", b.name));
}

void ProgramWriter::AddBinaryOfFloats(const RandomValue& a, const RandomValue& b,
                                      RandomValue result) {
  result.is_exact = a.is_exact && b.is_exact;
  const int fraction_a = IsFloat(a.type) ? a.fraction : 0;
  const int fraction_b = IsFloat(b.type) ? b.fraction : 0;
  result.fraction = std::max(fraction_a, fraction_b);
  std::string op = OneOf({"+", "-", "*"});
  if (result.is_exact && Below(3) == 0) op = OneOf({"max", "min"});
  result.bound = a.bound + b.bound;
  if (op == "*") {
    result.bound = a.bound * b.bound;
    result.fraction = fraction_a + fraction_b;
  }
  // An integer that float32 does not represent would be rounded.
  if ((!IsFloat(a.type) && a.bound > 65536) || (!IsFloat(b.type) && b.bound > 65536)) return;
  AddExpression(result, op.size() == 3 ? absl::StrCat(op, "(", a.name, ", ", b.name, ")")
                                       : absl::StrCat(a.name, " ", op, " ", b.name));
}

void ProgramWriter::AddComparison() {
  const RandomValue* a = Find([](const RandomValue& value) { return value.is_exact; });
  if (a == nullptr) return;
  const RandomValue left = *a;
  RandomValue result;
  const std::string op = OneOf({"<", "<=", ">", ">=", "==", "!="});
  if (Below(3) == 0) {
    result.dims = left.dims;
    result.type = DataType::kBool;
    const std::string number = left.type == DataType::kBool ? "(1 > 0)" : OneOf({"0", "1"});
    return AddExpression(result, absl::StrCat(left.name, " ", op, " ", number));
  }
  const RandomValue* b = Find([&](const RandomValue& value) {
    return value.is_exact && Broadcasts(left.dims, value.dims, &result.dims) &&
           IsFloat(value.type) == IsFloat(left.type);
  });
  if (b == nullptr) return;
  result.type = DataType::kBool;
  AddExpression(result, absl::StrCat(left.name, " ", op, " ", b->name));
}

void ProgramWriter::AddSelection() {
  const RandomValue* found =
      Find([](const RandomValue& value) { return value.type == DataType::kBool; });
  if (found == nullptr) return;
  const RandomValue condition = *found;
  RandomValue result;
  Dims dims;
  const RandomValue* yes =
      Find([&](const RandomValue& value) { return Broadcasts(condition.dims, value.dims, &dims); });
  if (yes == nullptr) return;
  const RandomValue a = *yes;
  Broadcasts(condition.dims, a.dims, &dims);
  const RandomValue* no = Find([&](const RandomValue& value) {
    return Broadcasts(dims, value.dims, &result.dims) && (value.type == a.type);
  });
  if (no == nullptr) return;
  const RandomValue b = *no;
  Broadcasts(dims, b.dims, &result.dims);
  result.type = a.type;
  result.bound = std::max(a.bound, b.bound);
  result.fraction = std::max(a.fraction, b.fraction);
  result.is_exact = a.is_exact && b.is_exact;
  AddExpression(result, absl::StrCat(condition.name, " ? ", a.name, " : ", b.name));
}

void ProgramWriter::AddSmooth() {
  const RandomValue* a = Find([](const RandomValue& value) { return IsFloat(value.type); });
  if (a == nullptr) return;
  RandomValue result = *a;
  result.is_exact = false;
  result.bound = 30;
  const std::string& x = a->name;
  const std::string square = absl::StrCat("(1.0 + ", x, " * ", x, ")");
  AddExpression(result, OneOf({absl::StrCat("tanh(", x, ")"), absl::StrCat("sigmoid(", x, ")"),
                               absl::StrCat("sin(", x, ")"), absl::StrCat("exp(-", square, ")"),
                               absl::StrCat("sqrt", square), absl::StrCat("log", square),
                               absl::StrCat("1.0 / ", square), absl::StrCat("erf(", x, ")")}));
}

void ProgramWriter::AddCast() {
  RandomValue result = Any();
  const RandomValue a = result;
  if (IsFloat(a.type) && !a.is_exact) return;
  result.type = OneOf({DataType::kInt32, DataType::kFloat32, DataType::kInt8, DataType::kUInt8,
                       DataType::kBool, DataType::kFloat64, DataType::kInt64});
  if (IsFloat(result.type) && a.bound > 65536) return;
  if (IsFloat(a.type) != IsFloat(result.type)) result.fraction = 0;
  if (!IsFloat(result.type)) result.bound = std::min(a.bound, BoundOf(result.type));
  // A cast that wraps may yield any value of its type.
  if (!IsFloat(a.type) && result.bound < a.bound) result.bound = BoundOf(result.type);
  const std::string name = std::string(Name(result.type));
  const size_t digits = name.find_first_of("0123456789");
  AddExpression(result, digits == std::string::npos
                            ? absl::StrCat("as_bool(", a.name, ")")
                            : absl::StrCat("as_", name.substr(0, digits), "(", a.name, ", ",
                                           name.substr(digits), ")"));
}

void ProgramWriter::AddStatement() {
  switch (Below(20)) {
    case 0:
      return AddConstant();
    case 1:
    case 2:
      return AddUnary();
    case 3:
    case 4:
    case 5:
    case 6:
      return AddBinary();
    case 7:
    case 8:
      return AddComparison();
    case 9:
    case 10:
      return AddSelection();
    case 11:
      return AddSmooth();
    case 12:
      return AddCast();
    case 13:
      return AddReduction();
    case 14:
      return AddMatMul();
    case 15:
      return AddWindow();
    case 16:
      return AddMove();
    case 17:
      return Below(2) == 0 ? AddPlacement() : AddMatch();
    case 18:
      return AddSpecial();
    default:
      return AddGather();
  }
}

RandomProgram ProgramWriter::Write(uint64_t seed) {
  const int64_t inputs = 1 + Below(4);
  for (int64_t i = 0; i < inputs; ++i) AddInput();
  const auto wanted = static_cast<size_t>(2 + Below(14));
  for (int tries = 0; statements_.size() < wanted && tries < 200; ++tries) AddStatement();
  std::vector<std::string> outputs;
  const size_t computed = values_.size() - parameters_.size();
  for (size_t v = 0; v < computed; ++v) {
    const RandomValue& value = values_[parameters_.size() + v];
    if (v + 1 < computed && Below(4) != 0) continue;
    outputs.push_back(value.name);
    result_.is_inexact.push_back(!value.is_exact);
  }
  if (outputs.empty()) {
    outputs.push_back(parameters_[0]);
    result_.is_inexact.push_back(false);
  }
  result_.program.name = absl::StrCat("Random", seed);
  result_.program.code = absl::StrCat("function (", absl::StrJoin(parameters_, ", "), ") -> (",
                                      absl::StrJoin(outputs, ", "), ") {\n  ",
                                      absl::StrJoin(statements_, "\n  "), "\n}");
  return std::move(result_);
}

RandomProgram MakeRandomProgram(uint64_t seed) { return ProgramWriter(seed).Write(seed); }

RandomProgram WithGradients(RandomProgram program) {
  const ir::Program bound = BindTestProgram(program.program);
  const auto is_float = [&](ir::ValueId id) { return IsFloat(bound.values[id].shape.type); };
  if (program.floats.empty() ||
      std::none_of(bound.outputs.begin(), bound.outputs.end(), is_float)) {
    return program;
  }
  const auto made = autodiff::Gradient(bound, program.floats);
  if (!made.ok()) return program;
  program.program.code = ir::ToTile(*made);
  program.is_inexact.resize(made->outputs.size(), true);
  return program;
}

std::string DifferenceOf(const RandomProgram& program, const std::vector<HostTensor>& actual,
                         const std::vector<HostTensor>& expected) {
  for (size_t o = 0; o < expected.size(); ++o) {
    std::string difference;
    if (!program.is_inexact[o] || actual[o].shape() != expected[o].shape()) {
      difference = FirstDifference(actual[o], expected[o], 0);
    } else {
      double largest = 1;
      for (int64_t i = 0; i < expected[o].element_count(); ++i) {
        const double magnitude = std::abs(expected[o].GetDouble(i));
        if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
      }
      const double tolerance = expected[o].type() == DataType::kFloat16 ? 2e-3 : 2e-4;
      for (int64_t i = 0; i < expected[o].element_count() && difference.empty(); ++i) {
        const double a = actual[o].GetDouble(i);
        const double b = expected[o].GetDouble(i);
        const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
        if (is_same || std::abs(a - b) <= tolerance * largest) continue;
        difference = absl::StrCat("element ", i, " is ", a, " instead of ", b);
      }
    }
    if (!difference.empty()) return absl::StrCat("output ", o, ": ", difference);
  }
  return "";
}

}  // namespace tartan
