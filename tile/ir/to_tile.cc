// SPDX-License-Identifier: Apache-2.0
// Prints programs as Tile functions. Sizes, constants and names are printed here, because
// lang::Print is in a higher layer.
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "tile/base/match.h"
#include "tile/ir/program.h"
#include "tile/math/integer.h"

namespace tartan::ir {
namespace {

// Distinct identifiers; tensors begin with a capital letter, index variables with a small one.
class Names {
 public:
  std::string Tensor(absl::string_view wanted) { return Unique(Clean(wanted, true)); }
  std::string Index(absl::string_view wanted) { return Unique(Clean(wanted, false)); }

 private:
  static std::string Clean(absl::string_view wanted, bool is_capital) {
    std::string name;
    for (const char c : wanted) name += absl::ascii_isalnum(c) ? c : '_';
    name.erase(0, name.find_first_not_of('_'));
    if (name.empty() || !absl::ascii_isalpha(name[0])) name = (is_capital ? "T" : "i") + name;
    name[0] = is_capital ? absl::ascii_toupper(name[0]) : absl::ascii_tolower(name[0]);
    return name;
  }

  std::string Unique(std::string name) {
    // A name may be requested often, so counting continues where the last search ended.
    int& suffix = suffixes_[name];
    std::string candidate = suffix == 0 ? name : absl::StrCat(name, "_", suffix);
    while (!used_.insert(candidate).second) candidate = absl::StrCat(name, "_", ++suffix);
    return candidate;
  }

  std::set<std::string> used_ = {"function", "default", "no_defract"};
  std::map<std::string, int> suffixes_;  // the last suffix tried, by name
};

std::string RealText(double value, DataType type) {
  if (std::isnan(value)) return "nan()";
  if (std::isinf(value)) return value < 0 ? "-inf()" : "inf()";
  char buffer[32];
  const std::to_chars_result end =
      type == DataType::kFloat64
          ? std::to_chars(buffer, buffer + sizeof(buffer), value)
          : std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value));
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string CastText(absl::string_view operand, DataType type) {
  if (type == DataType::kBool) return absl::StrCat("as_bool(", operand, ")");
  if (type == DataType::kBFloat16) return absl::StrCat("as_bfloat(", operand, ")");
  const absl::string_view function = IsFloat(type)           ? "as_float"
                                     : IsSignedInteger(type) ? "as_int"
                                                             : "as_uint";
  return absl::StrCat(function, "(", operand, ", ", 8 * ByteWidth(type), ")");
}

std::string ConstantText(const Constant& constant, DataType type) {
  const auto* integer = std::get_if<int64_t>(&constant.value);
  if (constant.weak && integer != nullptr) return absl::StrCat(*integer);
  // A weak real may have more digits than a float32.
  if (constant.weak) return RealText(std::get<double>(constant.value), DataType::kFloat64);
  return CastText(integer != nullptr ? absl::StrCat(*integer)
                                     : RealText(std::get<double>(constant.value), type),
                  type);
}

// A polynomial with fractions, as "(numerators) / common denominator".
std::string PolynomialText(const math::Affine& poly, const std::vector<std::string>& names) {
  if (poly.is_integer()) return poly.ToString(names);
  int64_t denominator = poly.constant.denominator();
  for (const math::Rational& c : poly.coefficients) {
    denominator *= c.denominator() / math::Gcd(denominator, c.denominator());
  }
  return absl::StrCat("(", (poly * denominator).ToString(names), ") / ", denominator);
}

// The functions to which the custom gradients of a text refer; each is written once.
struct Rules {
  Names names;
  std::map<const Program*, std::string> name_of;
  std::string text;
};

class TileWriter {
 public:
  TileWriter(const Program& program, Rules& rules) : program_(program), rules_(rules) {}

  // Writes a function with this name; the main function of a text has no name.
  std::string Write(absl::string_view name) {
    NameValues();
    std::string header;
    for (const ValueId id : program_.inputs) {
      absl::StrAppend(&header, header.empty() ? "" : ", ", names_of_[id]);
    }
    for (size_t i = 0; i < program_.values.size(); ++i) WriteValue(static_cast<ValueId>(i));
    const std::vector<std::string> outputs = WriteOutputs();
    return absl::StrCat("function ", name, name.empty() ? "" : " ", "(", header, ") -> (",
                        absl::StrJoin(outputs, ", "), ") {\n", body_, "}\n");
  }

 private:
  bool IsConstant(ValueId id) const {
    return std::holds_alternative<Constant>(program_.values[id].op);
  }

  // Values that are outputs take the output's names.
  void NameValues() {
    names_of_.resize(program_.values.size());
    for (const ValueId id : program_.inputs) {
      names_of_[id] = names_.Tensor(program_.values[id].name);
    }
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      std::string& name = names_of_[program_.outputs[i]];
      if (name.empty() && !IsConstant(program_.outputs[i])) {
        name = names_.Tensor(program_.output_names[i]);
      }
    }
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const auto id = static_cast<ValueId>(i);
      if (names_of_[i].empty() && !IsConstant(id)) {
        names_of_[i] = names_.Tensor(program_.values[i].name);
      }
    }
  }

  void Statement(absl::string_view text) { absl::StrAppend(&body_, "  ", text, ";\n"); }

  // The text of a value as an argument: a name or a constant.
  std::string Argument(ValueId id) const {
    const Value& value = program_.values[id];
    const auto* constant = std::get_if<Constant>(&value.op);
    return constant != nullptr ? ConstantText(*constant, value.shape.type) : names_of_[id];
  }

  // The name of a value; a constant is named at its first use.
  const std::string& NameOf(ValueId id) {
    if (names_of_[id].empty()) {
      names_of_[id] = names_.Tensor("Literal");
      Statement(absl::StrCat(names_of_[id], " = ", Argument(id)));
    }
    return names_of_[id];
  }

  void WriteValue(ValueId id) {
    const Value& value = program_.values[id];
    Match(
        value.op, [](const Input&) {}, [](const Constant&) {},
        [&](const Elementwise& x) { Statement(ElementwiseText(id, x)); },
        [&](const Contraction& x) { Statement(ContractionText(id, x)); },
        [&](const Special& x) { Statement(SpecialText(id, x)); });
  }

  std::string ElementwiseText(ValueId id, const Elementwise& x) const {
    std::string call;
    if (x.op == ScalarOp::kCast) {
      call = CastText(Argument(x.operands[0]), program_.values[id].shape.type);
    } else {
      for (const ValueId operand : x.operands) {
        absl::StrAppend(&call, call.empty() ? "" : ", ", Argument(operand));
      }
      call = absl::StrCat(Name(x.op), "(", call, ")");
    }
    return absl::StrCat(names_of_[id], " = ", call);
  }

  std::string CustomGradientText(ValueId id, const Special& x) {
    if (x.rule == nullptr) {
      return absl::StrCat(names_of_[id], " = stop_gradient(", Argument(x.operands[0]), ")");
    }
    std::string& rule = rules_.name_of[x.rule.get()];
    if (rule.empty()) {
      rule = rules_.names.Index(x.rule->name.empty() ? "gradient" : x.rule->name);
      rules_.text += TileWriter(*x.rule, rules_).Write(rule);
    }
    std::string text =
        absl::StrCat(names_of_[id], " = custom_gradient(", Argument(x.operands[0]), ", ", rule);
    for (size_t i = 1; i < x.operands.size(); ++i) {
      absl::StrAppend(&text, ", ", Argument(x.operands[i]));
    }
    return text + ")";
  }

  std::string SpecialText(ValueId id, const Special& x) {
    if (x.kind == SpecialKind::kCustomGradient) return CustomGradientText(id, x);
    std::vector<std::string> arguments;
    for (const ValueId operand : x.operands) arguments.push_back(Argument(operand));
    for (const int64_t param : x.params) arguments.push_back(absl::StrCat(param));
    if (x.kind == SpecialKind::kReshape || x.kind == SpecialKind::kPrng) {
      for (const int64_t dim : program_.values[id].shape.dims) {
        arguments.push_back(absl::StrCat(dim));
      }
    }
    return absl::StrCat(names_of_[id], " = ", Name(x.kind), "(", absl::StrJoin(arguments, ", "),
                        ")");
  }

  // " + 0*j" for each index variable that no access uses. Tile requires each variable to occur in
  // an access; variables that only constraints bound repeat each contribution.
  static std::string Unused(const Contraction& x, absl::Span<const std::string> indices) {
    std::vector<bool> is_used(indices.size());
    const auto mark = [&](const Access& access) {
      for (const math::Affine& poly : access.indices) {
        for (size_t i = 0; i < indices.size(); ++i) {
          if (poly.coefficient(static_cast<int>(i)) != 0) is_used[i] = true;
        }
      }
    };
    mark(x.output);
    for (const Access& input : x.inputs) mark(input);
    std::string text;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!is_used[i]) absl::StrAppend(&text, " + 0*", indices[i]);
    }
    return text;
  }

  std::string ContractionText(ValueId id, const Contraction& x) {
    Names index_namespace;
    std::vector<std::string> indices;
    for (const std::string& name : x.index_names) indices.push_back(index_namespace.Index(name));
    std::string unused = Unused(x, indices);
    // The first index of an access takes them.
    const auto polynomials = [&](const Access& access) {
      return absl::StrJoin(access.indices, ", ", [&](std::string* out, const math::Affine& poly) {
        absl::StrAppend(out, PolynomialText(poly, indices), std::exchange(unused, ""));
      });
    };
    const std::vector<int64_t>& dims = program_.values[id].shape.dims;
    std::string text =
        absl::StrCat(names_of_[id], "[", polynomials(x.output), dims.empty() ? "" : " : ",
                     absl::StrJoin(dims, ", "), "] = ", Symbol(x.aggregation), "(");
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      const bool is_comparison = i == 1 && x.combination == Combination::kCond;
      if (i > 0) absl::StrAppend(&text, " ", is_comparison ? "==" : Symbol(x.combination), " ");
      absl::StrAppend(&text, NameOf(x.inputs[i].tensor), "[", polynomials(x.inputs[i]), "]");
    }
    text += ")";
    for (const math::RangeConstraint& constraint : x.constraints) {
      absl::StrAppend(&text, ", ", PolynomialText(constraint.poly, indices), " < ",
                      constraint.range);
    }
    if (x.no_defract) text += " no_defract";
    if (x.default_value != kNoValue) {
      absl::StrAppend(&text, " default ", NameOf(x.default_value));
    }
    return text;
  }

  // Distinct names of the outputs; an input, a constant or a repeated output needs a copy with its
  // own name.
  std::vector<std::string> WriteOutputs() {
    std::vector<std::string> outputs;
    std::set<ValueId> seen(program_.inputs.begin(), program_.inputs.end());
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ValueId id = program_.outputs[i];
      if (!IsConstant(id) && seen.insert(id).second) {
        outputs.push_back(names_of_[id]);
        continue;
      }
      outputs.push_back(names_.Tensor(program_.output_names[i]));
      Statement(absl::StrCat(outputs.back(), " = ", Argument(id)));
    }
    return outputs;
  }

  const Program& program_;
  Rules& rules_;
  Names names_;
  std::vector<std::string> names_of_;  // per value; empty for a constant that is not named yet
  std::string body_;
};

}  // namespace

std::string ToTile(const Program& program) {
  Rules rules;
  const std::string text = TileWriter(program, rules).Write("");
  return text + rules.text;
}

}  // namespace tartan::ir
