// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/rename.h"

#include <algorithm>
#include <memory>

#include "tile/base/match.h"
#include "tile/loop/build.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

class Renamer {
 public:
  explicit Renamer(const Renaming& renaming) : renaming_(renaming) {}

  StmtPtr operator()(const StmtPtr& stmt) { return WithNewName(MapChildren(stmt, *this)); }

  ExprPtr operator()(const ExprPtr& expr) {
    ExprPtr& known = renamed_[expr.get()];
    if (known == nullptr) known = WithNewName(MapChildren(expr, *this));
    return known;
  }

 private:
  template <class Tree>
  std::shared_ptr<const Tree> WithNewName(const std::shared_ptr<const Tree>& tree) const {
    const std::string* name = NameOf(*tree);
    const auto found = name == nullptr ? renaming_.end() : renaming_.find(*name);
    if (found == renaming_.end()) return tree;
    Tree renamed = *tree;
    *NameOf(renamed) = found->second;
    return std::make_shared<const Tree>(std::move(renamed));
  }

  const Renaming& renaming_;
  std::unordered_map<const Expr*, ExprPtr> renamed_;
};

StmtPtr WithoutComments(const StmtPtr& stmt) {
  if (std::holds_alternative<Comment>(stmt->node)) return MakeComment("");
  return MapChildren(stmt, Overloaded{[](const StmtPtr& child) { return WithoutComments(child); },
                                      [](const ExprPtr& child) { return child; }});
}

void Collect(const Stmt& stmt, std::set<std::string>* names) {
  if (const std::string* name = DeclaredName(stmt)) names->insert(*name);
  ForEachChild(stmt, Overloaded{[&](const StmtPtr& child) { Collect(*child, names); },
                                [](const ExprPtr&) {}});
}

}  // namespace

StmtPtr Rename(const StmtPtr& stmt, const Renaming& renaming) {
  return stmt == nullptr ? nullptr : Renamer(renaming)(stmt);
}

Kernel WithoutNames(Kernel kernel) {
  kernel.name.clear();
  kernel.comments.clear();
  for (Size& size : kernel.sizes) size.value = 0;
  if (!kernel.sizes.empty()) std::fill_n(kernel.global_size, 3, int64_t{1});
  kernel.body = kernel.body == nullptr ? nullptr : WithoutComments(kernel.body);
  return kernel;
}

std::set<std::string> DeclaredNames(const StmtPtr& stmt) {
  std::set<std::string> names;
  if (stmt != nullptr) Collect(*stmt, &names);
  return names;
}

}  // namespace tartan::loop
