// SPDX-License-Identifier: Apache-2.0
// Einsum, whose equation is a contraction.
#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// A dimension's name: a letter, or a dimension of the ellipsis counted from its end. 0 is the last
// one, because ellipses broadcast from the end.
struct Label {
  char letter = 0;  // 0: of the ellipsis
  int64_t from_end = 0;

  auto operator<=>(const Label&) const = default;
};
using Labels = std::vector<Label>;

std::string IndexName(const Label& label) {
  return label.letter == 0 ? absl::StrCat("e", label.from_end)
                           : absl::StrCat("x", static_cast<int>(label.letter));
}

// Parses "ab...c" for a tensor of `rank`; the ellipsis covers the dimensions without letters.
absl::StatusOr<Labels> ParseTerm(absl::string_view term, int64_t rank) {
  const size_t dots = term.find("...");
  const int64_t letters =
      static_cast<int64_t>(term.size()) - (dots == absl::string_view::npos ? 0 : 3);
  const int64_t hidden = dots == absl::string_view::npos ? 0 : rank - letters;
  if (hidden < 0 || letters + hidden != rank) {
    return Invalid("term '", term, "' does not fit a tensor of rank ", rank);
  }
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int64_t d = hidden; d-- > 0;) labels.push_back({0, d});
      i += 2;
    } else if (absl::ascii_isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back({term[i], 0});
    } else {
      return Invalid("term '", term, "' has the character '", std::string(1, term[i]), "'");
    }
  }
  return labels;
}

struct Equation {
  std::vector<Labels> terms;
  Labels output;
  std::map<Label, int64_t> sizes;
};

absl::Status ReadSizes(const NodeContext& context, Equation* equation) {
  for (size_t t = 0; t < equation->terms.size(); ++t) {
    const std::vector<int64_t>& dims = context.input(static_cast<int>(t)).dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t& size = equation->sizes.emplace(equation->terms[t][d], 1).first->second;
      if (size != 1 && dims[d] != 1 && size != dims[d]) {
        return Invalid("operand ", t, " has size ", dims[d], " where another operand has ", size);
      }
      if (dims[d] != 1) size = dims[d];
    }
  }
  return absl::OkStatus();
}

// Without "->" the output is the ellipsis, then every letter that occurs once, in alphabetical
// order.
Labels ImplicitOutput(const Equation& equation) {
  std::map<Label, int> counts;
  for (const Labels& term : equation.terms) {
    for (const Label& label : term) ++counts[label];
  }
  Labels ellipsis;
  Labels letters;
  for (const auto& [label, count] : counts) {
    if (label.letter == 0) ellipsis.insert(ellipsis.begin(), label);
    if (label.letter != 0 && count == 1) letters.push_back(label);
  }
  ellipsis.insert(ellipsis.end(), letters.begin(), letters.end());
  return ellipsis;
}

absl::StatusOr<Equation> ReadEquation(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::string text, context.String("equation"));
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() > 2 || static_cast<int>(terms.size()) != context.input_count()) {
    return Invalid("equation '", text, "' does not have the form for ", context.input_count(),
                   " operands");
  }
  Equation equation;
  for (int i = 0; i < context.input_count(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(Labels labels,
                            ParseTerm(terms[static_cast<size_t>(i)], context.input(i).rank()));
    equation.terms.push_back(std::move(labels));
  }
  TARTAN_RETURN_IF_ERROR(ReadSizes(context, &equation));
  if (sides.size() == 1) {
    equation.output = ImplicitOutput(equation);
    return equation;
  }
  int64_t hidden = 0;
  for (const auto& [label, size] : equation.sizes) hidden += label.letter == 0 ? 1 : 0;
  const bool has_dots = sides[1].find("...") != std::string::npos;
  const int64_t letters = static_cast<int64_t>(sides[1].size()) - (has_dots ? 3 : 0);
  TARTAN_ASSIGN_OR_RETURN(equation.output, ParseTerm(sides[1], letters + (has_dots ? hidden : 0)));
  for (size_t i = 0; i < equation.output.size(); ++i) {
    const Label& label = equation.output[i];
    const auto begin = equation.output.begin();
    if (equation.sizes.count(label) == 0 || std::count(begin, equation.output.end(), label) > 1) {
      return Invalid("equation '", text,
                     "': the output names a dimension that is unknown, or twice");
    }
  }
  return equation;
}

// A tensor inside the chain of contractions.
struct Operand {
  std::string name;
  Labels labels;
  std::vector<int64_t> dims;

  // True if the operand varies along the label; a size of 1 may broadcast instead.
  bool Has(const Label& label, const Equation& equation) const {
    for (size_t d = 0; d < labels.size(); ++d) {
      if (labels[d] == label && dims[d] == equation.sizes.at(label)) return true;
    }
    return false;
  }
  std::string ReadText(const Equation& equation) const {
    std::vector<std::string> indices;
    for (size_t d = 0; d < labels.size(); ++d) {
      const bool broadcasts = dims[d] != equation.sizes.at(labels[d]);
      indices.push_back(broadcasts ? std::string(1, '0') : IndexName(labels[d]));
    }
    return Read(name, indices);
  }
};

// One contraction of `inputs` (one or two) to the labels of `output`.
std::string Contract(const Equation& equation, absl::Span<const Operand> inputs,
                     const Operand& output) {
  std::vector<std::string> indices;
  for (const Label& label : output.labels) indices.push_back(IndexName(label));
  std::string value = inputs[0].ReadText(equation);
  if (inputs.size() == 2) absl::StrAppend(&value, " * ", inputs[1].ReadText(equation));
  return absl::StrCat(Write(output.name, indices, output.dims), " = +(", value, ")");
}

Operand MakeResult(const Equation& equation, std::string name, Labels labels) {
  Operand result{std::move(name), std::move(labels), {}};
  for (const Label& label : result.labels) result.dims.push_back(equation.sizes.at(label));
  return result;
}

// Multiplies the operands from left to right. A label is summed as soon as no later operand and no
// output needs it.
Outputs Einsum(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(context));
  std::vector<Operand> operands;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    operands.push_back(
        {absl::StrCat("X", i), equation.terms[i], context.input(static_cast<int>(i)).dims()});
  }
  std::vector<std::string> statements;
  Operand left = operands[0];
  for (size_t i = 1; i + 1 < operands.size(); ++i) {
    const Operand pair[] = {left, operands[i]};
    Labels kept;
    for (const auto& [label, size] : equation.sizes) {
      const auto& output = equation.output;
      bool is_needed = std::find(output.begin(), output.end(), label) != output.end();
      for (size_t later = i + 1; later < operands.size(); ++later) {
        is_needed |= operands[later].Has(label, equation);
      }
      if (is_needed && (left.Has(label, equation) || operands[i].Has(label, equation))) {
        kept.push_back(label);
      }
    }
    left = MakeResult(equation, absl::StrCat("T", i), kept);
    statements.push_back(Contract(equation, pair, left));
  }
  const Operand result = MakeResult(equation, "Y", equation.output);
  if (operands.size() == 1) {
    statements.push_back(Contract(equation, {left}, result));
  } else {
    statements.push_back(Contract(equation, {left, operands.back()}, result));
  }
  return context.Apply(TileFunction(NameList("X", context.input_count()), "Y", statements));
}

constexpr OperatorRow kOperators[] = {
    {"Einsum", 12, {1, kAnyNumber}, Einsum},
};

}  // namespace

absl::Span<const OperatorRow> EinsumOperators() { return kOperators; }

}  // namespace tartan::onnx
