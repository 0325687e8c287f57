// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/inline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tile/base/match.h"

namespace tartan::api {
namespace {

// Maps the callee's names to the caller: sizes become numbers, tensors get new names. If a size and
// a tensor have the same name, the name means the size wherever a size is allowed.
class Renamer {
 public:
  void SetSize(const std::string& name, int64_t size) {
    sizes_[name] = MakeExpr(lang::IntLiteral{size});
  }
  void SetTensor(const std::string& name, const std::string& new_name) {
    values_[name] = MakeExpr(lang::Name{new_name});
    tensors_[name] = new_name;
  }

  bool HasTensor(const std::string& name) const { return tensors_.count(name) > 0; }
  // Requires SetSize for that name.
  const lang::ExprPtr& Size(const std::string& name) const { return sizes_.at(name); }

  const std::string& Tensor(const std::string& name) const {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? name : it->second;
  }

  lang::ExprPtr Rename(const lang::ExprPtr& expr) const { return Rename(expr, values_, sizes_); }

  lang::Contraction Rename(lang::Contraction contraction) const {
    contraction.output = Rename(contraction.output);
    contraction.output_dims = RenameSizes(contraction.output_dims);
    for (lang::TensorAccess& input : contraction.inputs) input = Rename(input);
    for (lang::Constraint& constraint : contraction.constraints) {
      constraint = {RenameSize(constraint.poly), RenameSize(constraint.range)};
    }
    if (!contraction.default_tensor.empty()) {
      contraction.default_tensor = Tensor(contraction.default_tensor);
    }
    return contraction;
  }

 private:
  using Names = std::map<std::string, lang::ExprPtr>;

  static lang::ExprPtr MakeExpr(decltype(lang::Expr::node) node) {
    return std::make_shared<const lang::Expr>(lang::Expr{{}, std::move(node)});
  }

  static lang::ExprPtr Rename(const lang::ExprPtr& expr, const Names& first, const Names& second) {
    return Match(
        expr->node,
        [&](const lang::Name& name) {
          for (const Names* names : {&first, &second}) {
            if (const auto it = names->find(name.name); it != names->end()) return it->second;
          }
          return expr;
        },
        [&](const lang::Call& call) {
          // Gradients are taken of each function before it is inlined, so gradient annotations are
          // dropped here.
          if (call.function == "stop_gradient" || call.function == "custom_gradient") {
            return Rename(call.arguments[0], first, second);
          }
          lang::Call renamed{call.function, {}};
          for (const lang::ExprPtr& argument : call.arguments) {
            renamed.arguments.push_back(Rename(argument, first, second));
          }
          return std::make_shared<const lang::Expr>(lang::Expr{expr->position, std::move(renamed)});
        },
        [&](const auto&) { return expr; });
  }

  lang::ExprPtr RenameSize(const lang::ExprPtr& expr) const {
    return Rename(expr, sizes_, values_);
  }

  std::vector<lang::ExprPtr> RenameSizes(const std::vector<lang::ExprPtr>& exprs) const {
    std::vector<lang::ExprPtr> renamed;
    for (const lang::ExprPtr& expr : exprs) renamed.push_back(RenameSize(expr));
    return renamed;
  }

  lang::TensorAccess Rename(const lang::TensorAccess& access) const {
    return {access.position, Tensor(access.tensor), RenameSizes(access.indices)};
  }

  Names values_;  // tensors, and numbers defined by statements
  Names sizes_;
  std::map<std::string, std::string> tensors_;
};

}  // namespace

std::string NameScope::Unique(absl::string_view wanted) {
  std::string name;
  for (char c : wanted) {
    name.push_back(absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_');
  }
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0])) || name[0] == '_') {
    name = absl::StrCat("T", name);
  }
  name[0] = absl::ascii_toupper(static_cast<unsigned char>(name[0]));
  // Continues counting where the last search ended, because a name may be requested very often.
  int& suffix = suffixes_[name];
  std::string unique = suffix == 0 ? name : absl::StrCat(name, "_", suffix);
  while (!taken_.insert(unique).second) unique = absl::StrCat(name, "_", ++suffix);
  return unique;
}

std::vector<std::string> InlineFunction(const lang::Function& callee,
                                        absl::Span<const std::string> arguments,
                                        absl::Span<const TensorShape> shapes,
                                        absl::string_view prefix, NameScope* scope,
                                        std::vector<lang::Statement>* statements) {
  Renamer renamer;
  for (size_t i = 0; i < callee.inputs.size(); ++i) {
    const lang::Parameter& parameter = callee.inputs[i];
    renamer.SetTensor(parameter.name, arguments[i]);
    for (size_t d = 0; d < parameter.dims.size(); ++d) {
      renamer.SetSize(parameter.dims[d], shapes[i].dims[d]);
    }
  }
  for (const lang::Statement& statement : callee.statements) {
    const std::string& target = lang::TargetOf(statement);
    const bool is_output =
        std::find(callee.outputs.begin(), callee.outputs.end(), target) != callee.outputs.end();
    const bool plain = prefix.empty() || (is_output && callee.outputs.size() == 1);
    const std::string wanted = prefix.empty() ? target
                               : plain        ? std::string(prefix)
                                              : absl::StrCat(prefix, "_", target);
    const std::string unique = scope->Unique(wanted);
    lang::Statement copy;
    copy.attributes = statement.attributes;
    // A statement cannot read its own target: within it, the name still means a size.
    copy.node = Match(
        statement.node,
        [&](const lang::Assignment& assignment) -> decltype(copy.node) {
          return lang::Assignment{unique, renamer.Rename(assignment.value)};
        },
        [&](const lang::Contraction& contraction) -> decltype(copy.node) {
          lang::Contraction renamed = renamer.Rename(contraction);
          renamed.output.tensor = unique;
          return renamed;
        });
    renamer.SetTensor(target, unique);
    statements->push_back(std::move(copy));
  }
  std::vector<std::string> outputs;
  for (const std::string& output : callee.outputs) {
    if (!renamer.HasTensor(output)) {  // a size
      const std::string unique = scope->Unique(prefix.empty() ? output : prefix);
      statements->push_back({{}, {}, lang::Assignment{unique, renamer.Size(output)}});
      renamer.SetTensor(output, unique);
    }
    outputs.push_back(renamer.Tensor(output));
  }
  return outputs;
}

}  // namespace tartan::api
