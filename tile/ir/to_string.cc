// SPDX-License-Identifier: Apache-2.0
// Prints programs as text for dumps: "%3 Sum: float32[4] = [n] +(%0[m, n]), 0 <= m - n < 4".
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/ir/program.h"

namespace tartan::ir {
namespace {

std::string Reference(ValueId id) { return absl::StrCat("%", id); }

std::string List(const std::vector<ValueId>& ids) {
  return absl::StrJoin(ids, ", ", [](std::string* out, ValueId id) { *out += Reference(id); });
}

std::string ConstantText(const Constant& constant) {
  const auto* integer = std::get_if<int64_t>(&constant.value);
  return absl::StrCat(
      constant.weak ? "weak literal " : "literal ",
      integer != nullptr ? absl::StrCat(*integer) : absl::StrCat(std::get<double>(constant.value)));
}

std::string AccessText(const Access& access, const std::vector<std::string>& names) {
  const auto append = [&](std::string* out, const math::Affine& poly) {
    *out += poly.ToString(names);
  };
  return absl::StrCat(access.tensor == kNoValue ? "" : Reference(access.tensor), "[",
                      absl::StrJoin(access.indices, ", ", append), "]");
}

std::string ContractionText(const Contraction& x) {
  std::string text =
      absl::StrCat(AccessText(x.output, x.index_names), " ", Symbol(x.aggregation), "(");
  for (size_t i = 0; i < x.inputs.size(); ++i) {
    if (i > 0) {
      const bool is_comparison = i == 1 && x.combination == Combination::kCond;
      absl::StrAppend(&text, " ", is_comparison ? "==" : Symbol(x.combination), " ");
    }
    text += AccessText(x.inputs[i], x.index_names);
  }
  text += ")";
  for (const math::RangeConstraint& constraint : x.constraints) {
    absl::StrAppend(&text, ", ", constraint.ToString(x.index_names));
  }
  if (x.no_defract) text += " no_defract";
  if (x.default_value != kNoValue) absl::StrAppend(&text, " default ", Reference(x.default_value));
  return text;
}

std::string OpText(const Op& op) {
  return Match(
      op,
      [](const Input& x) {
        return absl::StrCat("input", x.is_constant ? " constant" : "", x.is_state ? " state" : "",
                            x.next < 0 ? "" : absl::StrCat(" next ", x.next));
      },
      [](const Constant& x) { return ConstantText(x); },
      [](const Elementwise& x) { return absl::StrCat(Name(x.op), "(", List(x.operands), ")"); },
      [](const Contraction& x) { return ContractionText(x); },
      [](const Special& x) {
        const std::string params = x.params.empty() ? "" : absl::StrJoin(x.params, ", ");
        if (x.kind == SpecialKind::kCustomGradient && x.rule == nullptr) {
          return absl::StrCat("stop_gradient(", List(x.operands), ")");
        }
        return absl::StrCat(Name(x.kind), "(", List(x.operands), params.empty() ? "" : "; ", params,
                            ")");
      });
}

}  // namespace

std::string ToString(const Program& program) {
  std::string text = absl::StrCat("program ", program.name, "\n");
  for (size_t i = 0; i < program.values.size(); ++i) {
    const Value& value = program.values[i];
    absl::StrAppend(&text, "  ", Reference(static_cast<ValueId>(i)), value.name.empty() ? "" : " ",
                    value.name, ": ", value.shape.ToString(), " = ", OpText(value.op), "\n");
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    absl::StrAppend(&text, "  output ", program.output_names[i], " = ",
                    Reference(program.outputs[i]), "\n");
  }
  return text;
}

}  // namespace tartan::ir
