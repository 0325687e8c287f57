// SPDX-License-Identifier: Apache-2.0
// Simplifies expressions for simplify.cc, knowing the value or range of variables in scope.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Inclusive bounds of an int32 or int64 scalar.
struct Range {
  int64_t least = INT64_MIN;
  int64_t greatest = INT64_MAX;
};

// The values the type can hold.
Range FullRange(DataType type);

// What is known of a variable in scope.
struct Binding {
  ExprPtr replacement;  // null: the variable stays
  bool is_mutable = false;
  Range range;  // of integer scalars that are not mutable
};

class ExprRewriter {
 public:
  // `kernel` outlives the rewriter; its sizes bound work indices.
  explicit ExprRewriter(const Kernel& kernel) : kernel_(kernel) {}

  // An equal expression; the same pointer where nothing changed. Linear in the number of distinct
  // nodes.
  ExprPtr Rewrite(const ExprPtr& expr);

  // The range of an expression that Rewrite returned, with the bindings of that time.
  Range RangeOf(const ExprPtr& expr);

  // Bindings by name; names are unique within a scope, so an inner binding hides nothing.
  void Bind(const std::string& name, Binding binding);
  void Unbind(const std::string& name) { bindings_.erase(name); }
  const Binding* Find(const std::string& name) const;

 private:
  ExprPtr RewriteNode(const ExprPtr& expr);
  ExprPtr RewriteInner(const ExprPtr& expr);
  ExprPtr RewriteApply(const ExprPtr& expr, const Apply& apply);
  ExprPtr Improve(const ExprPtr& expr);
  ExprPtr ImproveByRange(const ExprPtr& expr, const Apply& apply);
  ExprPtr ImproveDivision(const ExprPtr& expr, const Apply& apply);
  Range ComputeRange(const ExprPtr& expr);
  Range ComputeApplyRange(const Apply& apply, const Type& type);
  void ForgetRoot();

  const Kernel& kernel_;
  std::unordered_map<std::string, Binding> bindings_;
  // Of the expression at hand, by node; `alive_` keeps the keys from being used again.
  std::unordered_map<const Expr*, ExprPtr> rewritten_;
  std::unordered_map<const Expr*, Range> ranges_;
  std::vector<ExprPtr> alive_;
};

}  // namespace tartan::loop
