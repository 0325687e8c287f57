// SPDX-License-Identifier: Apache-2.0
// Simplifies expressions for simplify.cc, using the values or ranges of variables in scope.
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

// The range of values that the type can represent.
Range FullRange(DataType type);

// The known properties of a variable in scope.
struct Binding {
  ExprPtr replacement;  // null: keep the variable
  bool is_mutable = false;
  Range range;  // for immutable integer scalars
};

class ExprRewriter {
 public:
  // `kernel` outlives the rewriter; its sizes bound work indices.
  explicit ExprRewriter(const Kernel& kernel) : kernel_(kernel) {}

  // Returns an equivalent expression; the same pointer if nothing changed. Linear in the number of
  // distinct nodes.
  ExprPtr Rewrite(const ExprPtr& expr);

  // The range of an expression that Rewrite returned, under the bindings at that time.
  Range RangeOf(const ExprPtr& expr);

  // Bindings by name. Names are unique within a scope, so inner bindings do not hide outer ones.
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
  // Caches for the current expression, by node; `alive_` keeps node addresses from being reused.
  std::unordered_map<const Expr*, ExprPtr> rewritten_;
  std::unordered_map<const Expr*, Range> ranges_;
  std::vector<ExprPtr> alive_;
};

}  // namespace tartan::loop
