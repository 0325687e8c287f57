// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/share_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/loop/build.h"
#include "tile/loop/rename.h"
#include "tile/loop/traverse.h"

namespace tartan::compiler {
namespace {

// Maximum number of buffers for replaced literals; each one is a kernel argument.
constexpr size_t kMaxNumbers = 24;

// A literal that a variable may replace.
struct Number {
  DataType type = DataType::kInvalid;
  double value = 0;
};

bool IsIndexType(DataType type) { return type == DataType::kInt32 || type == DataType::kInt64; }

// Returns nothing for literals that must stay constant or do not fit a 32-bit buffer.
std::optional<Number> NumberOf(const loop::Expr& literal) {
  if (const auto* whole = std::get_if<loop::IntLiteral>(&literal.node)) {
    const bool fits = std::abs(static_cast<double>(whole->value)) < (1 << 30);
    if (!IsIndexType(literal.type.element) || !fits) return std::nullopt;
    return Number{literal.type.element, static_cast<double>(whole->value)};
  }
  const double value = std::get<loop::FloatLiteral>(literal.node).value;
  if (literal.type.element != DataType::kFloat32 || !std::isfinite(value)) return std::nullopt;
  return Number{literal.type.element, value};
}

// Visits the replaceable literals in program order and replaces each by an expression.
class NumberReplacer {
 public:
  using Replace = std::function<loop::ExprPtr(const loop::ExprPtr& literal, const Number& number)>;

  explicit NumberReplacer(Replace replace) : replace_(std::move(replace)) {}

  loop::StmtPtr operator()(const loop::StmtPtr& stmt) {
    // Loop bounds stay constant, because code generation depends on them.
    if (std::holds_alternative<loop::For>(stmt->node)) {
      return MapChildren(stmt,
                         Overloaded{[](const loop::ExprPtr& bound) { return bound; },
                                    [&](const loop::StmtPtr& body) { return (*this)(body); }});
    }
    return MapChildren(stmt, *this);
  }

  loop::ExprPtr operator()(const loop::ExprPtr& expr) {
    if (std::holds_alternative<loop::IntLiteral>(expr->node) ||
        std::holds_alternative<loop::FloatLiteral>(expr->node)) {
      const std::optional<Number> number = NumberOf(*expr);
      return number.has_value() ? replace_(expr, *number) : expr;
    }
    const auto* apply = std::get_if<loop::Apply>(&expr->node);
    const bool divides =
        apply != nullptr && (apply->op == ScalarOp::kDiv || apply->op == ScalarOp::kMod);
    bool is_divisor = false;  // of the second operand, which stays constant
    return MapChildren(expr, [&](const loop::ExprPtr& child) {
      const bool stays = std::exchange(is_divisor, divides);
      return stays ? child : (*this)(child);
    });
  }

 private:
  const Replace replace_;
};

// A kernel's text without its literals, and the literals in program order.
struct Form {
  std::string text;
  std::vector<Number> numbers;
};

Form FormOf(const loop::Kernel& kernel) {
  Form form;
  NumberReplacer replacer([&](const loop::ExprPtr& literal, const Number& number) {
    form.numbers.push_back(number);
    return loop::Var(absl::StrCat("#", loop::ToString(literal->type)), literal->type);
  });
  loop::Kernel general = loop::WithoutNames(kernel);
  general.body = replacer(general.body);
  form.text = loop::ToString(general);
  return form;
}

// Replacement of a literal: variable number `base` plus `difference`.
struct Source {
  int base = -1;  // -1: the literal stays
  double difference = 0;
};

// The literals that a merged kernel takes as arguments.
// An integer that differs from another by a constant is computed from it. The minimum of such
// integers is the argument: with zeros, as in a kernel's trial run for compilation, no access is
// then before the start of a tensor.
struct Arguments {
  std::vector<size_t> positions;  // literal positions that are arguments
  std::vector<Source> sources;    // by literal position
};

// Returns the first argument that differs from this literal by a constant in all forms, or -1.
int FindBase(const std::vector<const Form*>& forms, const std::vector<size_t>& positions,
             size_t position) {
  const Number& first = forms[0]->numbers[position];
  for (size_t a = 0; a < positions.size(); ++a) {
    const Number& base = forms[0]->numbers[positions[a]];
    const double difference = first.value - base.value;
    if (base.type != first.type || (!IsIndexType(first.type) && difference != 0)) continue;
    const bool follows = std::all_of(forms.begin(), forms.end(), [&](const Form* form) {
      return form->numbers[position].value - form->numbers[positions[a]].value == difference;
    });
    if (follows) return static_cast<int>(a);
  }
  return -1;
}

Arguments FindArguments(const std::vector<const Form*>& forms) {
  Arguments arguments;
  const std::vector<Number>& first = forms[0]->numbers;
  arguments.sources.resize(first.size());
  for (size_t p = 0; p < first.size(); ++p) {
    const bool is_same = std::all_of(forms.begin(), forms.end(), [&](const Form* form) {
      return form->numbers[p].value == first[p].value &&
             std::signbit(form->numbers[p].value) == std::signbit(first[p].value);
    });
    if (is_same) continue;
    int base = FindBase(forms, arguments.positions, p);
    if (base < 0) {
      base = static_cast<int>(arguments.positions.size());
      arguments.positions.push_back(p);
    } else if (first[p].value < first[arguments.positions[base]].value) {
      arguments.positions[base] = p;
    }
    arguments.sources[p].base = base;
  }
  for (size_t p = 0; p < first.size(); ++p) {
    Source& source = arguments.sources[p];
    if (source.base < 0) continue;
    source.difference = first[p].value - first[arguments.positions[source.base]].value;
  }
  return arguments;
}

// Returns a prefix that begins no name of the kernel.
std::string FreePrefix(const loop::Kernel& kernel) {
  std::set<std::string> names = loop::DeclaredNames(kernel.body);
  for (const loop::Parameter& parameter : kernel.parameters) names.insert(parameter.name);
  std::string prefix = "number";
  const auto is_taken = [&](const std::string& name) { return name.rfind(prefix, 0) == 0; };
  while (std::any_of(names.begin(), names.end(), is_taken)) prefix += "_";
  return prefix;
}

DataType StoredType(DataType type) { return IsIndexType(type) ? DataType::kInt32 : type; }

// Number of leading statements that run once per launch sequence (loop::Once); launches of a
// sequence have different arguments.
size_t OnceCount(const std::vector<loop::StmtPtr>& statements) {
  const auto once = std::find_if(
      statements.begin(), statements.end(),
      [](const loop::StmtPtr& stmt) { return std::holds_alternative<loop::Once>(stmt->node); });
  return once == statements.end() ? 0 : static_cast<size_t>(once - statements.begin()) + 1;
}

// Returns the kernel with its arguments loaded from buffers after the statements that run once.
// Returns nothing if those statements contain replaced literals.
std::optional<loop::Kernel> WithArguments(const loop::Kernel& kernel, const Form& form,
                                          const Arguments& arguments) {
  const std::string prefix = FreePrefix(kernel);
  const auto name = [&](int argument) { return absl::StrCat(prefix, argument); };
  size_t position = 0;
  NumberReplacer replacer([&](const loop::ExprPtr& literal, const Number& number) -> loop::ExprPtr {
    const Source& source = arguments.sources[position++];
    if (source.base < 0) return literal;
    loop::ExprPtr value = loop::Var(name(source.base), {number.type, 1});
    if (source.difference != 0) {
      value = loop::Add(value, loop::Int(static_cast<int64_t>(source.difference), number.type));
    }
    return literal->type.lanes == 1 ? value : loop::Splat(value, literal->type.lanes);
  });
  loop::Kernel shared = kernel;
  std::vector<loop::StmtPtr> statements;
  for (size_t a = 0; a < arguments.positions.size(); ++a) {
    const DataType type = form.numbers[arguments.positions[a]].type;
    const std::string variable = name(static_cast<int>(a));
    const std::string buffer = absl::StrCat(variable, "_in");
    shared.parameters.push_back({buffer, StoredType(type)});
    loop::ExprPtr value = loop::LoadFrom(buffer, StoredType(type), loop::Int(0, kernel.index_type));
    if (value->type.element != type) value = loop::Cast(value, type);
    statements.push_back(loop::MakeDeclare({type, 1}, variable, value));
  }
  const auto* block = std::get_if<loop::Block>(&kernel.body->node);
  const std::vector<loop::StmtPtr> body =
      block == nullptr ? std::vector<loop::StmtPtr>{kernel.body} : block->statements;
  std::vector<loop::StmtPtr> replaced;
  for (const loop::StmtPtr& stmt : body) replaced.push_back(replacer(stmt));
  const size_t once = OnceCount(body);
  for (size_t i = 0; i < once; ++i) {
    if (!loop::Equal(body[i], replaced[i])) return std::nullopt;
  }
  replaced.insert(replaced.begin() + static_cast<int64_t>(once), statements.begin(),
                  statements.end());
  shared.body = loop::MakeBlock(std::move(replaced));
  shared.comments.emplace_back("shared: constants are arguments");
  return shared;
}

class Sharing {
 public:
  explicit Sharing(KernelList* list) : list_(*list) {
    for (const loop::Kernel& kernel : list->kernels) forms_.push_back(FormOf(kernel));
    for (size_t k = 0; k < forms_.size(); ++k) by_[k] = {static_cast<int>(k), {}};
  }

  void Run(int least) {
    std::map<std::string, std::vector<int>> alike;
    for (size_t k = 0; k < forms_.size(); ++k) alike[forms_[k].text].push_back(static_cast<int>(k));
    bool changed = false;
    for (const auto& [text, kernels] : alike) {
      if (static_cast<int>(kernels.size()) >= least) changed |= Share(kernels);
    }
    if (!changed) return;
    for (Step& step : list_.setup) Redirect(&step);
    for (Step& step : list_.steps) Redirect(&step);
    list_.setup.insert(list_.setup.begin(), fills_.begin(), fills_.end());
    DropUnusedKernels(&list_);
  }

 private:
  // Replacement of a kernel in its launches.
  struct Replacement {
    int kernel = 0;
    std::vector<int> buffers;  // additional arguments
  };

  bool Share(const std::vector<int>& kernels) {
    std::vector<const Form*> forms;
    for (int k : kernels) forms.push_back(&forms_[k]);
    const Arguments arguments = FindArguments(forms);
    if (arguments.positions.empty() || arguments.positions.size() > kMaxNumbers) return false;
    const int first = kernels.front();
    std::optional<loop::Kernel> shared =
        WithArguments(list_.kernels[first], forms_[first], arguments);
    if (!shared.has_value()) return false;
    list_.kernels[first] = *std::move(shared);
    for (int k : kernels) {
      by_[k].kernel = first;
      for (size_t position : arguments.positions) {
        by_[k].buffers.push_back(BufferOf(forms_[k].numbers[position]));
      }
    }
    return true;
  }

  int BufferOf(const Number& number) {
    const DataType stored = StoredType(number.type);
    const auto [it, is_new] =
        buffers_.insert({{stored, number.value, std::signbit(number.value)}, 0});
    if (!is_new) return it->second;
    it->second = static_cast<int>(list_.buffers.size());
    const TensorShape shape{stored, {}};
    list_.buffers.push_back({"number", BufferKind::kPersistent, shape, shape.byte_size()});
    fills_.push_back(FillStep{it->second, stored, number.value});
    return it->second;
  }

  void Redirect(Step* step) const {
    auto* launch = std::get_if<LaunchStep>(step);
    if (launch == nullptr) return;
    const Replacement& by = by_.at(launch->kernel);
    launch->kernel = by.kernel;
    launch->buffers.insert(launch->buffers.end(), by.buffers.begin(), by.buffers.end());
  }

  KernelList& list_;
  std::vector<Form> forms_;
  std::map<int, Replacement> by_;
  std::map<std::tuple<DataType, double, bool>, int> buffers_;
  std::vector<Step> fills_;
};

}  // namespace

void ShareKernels(KernelList* list, int least) {
  if (static_cast<int>(list->kernels.size()) >= least) Sharing(list).Run(least);
}

}  // namespace tartan::compiler
