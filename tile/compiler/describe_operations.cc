// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/describe_operations.h"

#include <algorithm>
#include <unordered_set>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::compiler {
namespace {

using poly::ExprPtr;

// Collects operation names in evaluation order. Shared expressions are visited once.
class Operations {
 public:
  void Add(const ExprPtr& expr) {
    if (expr == nullptr || !seen_.insert(expr.get()).second) return;
    if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
      for (const ExprPtr& operand : apply->operands) Add(operand);
      if (apply->op != ScalarOp::kIdentity) AddName(Name(apply->op));
    } else if (const auto* read = std::get_if<poly::ReadAt>(&expr->node)) {
      for (const ExprPtr& coordinate : read->coordinates) Add(coordinate);
      AddName("gather");
    } else if (const auto* choice = std::get_if<poly::Choice>(&expr->node)) {
      for (const ExprPtr& value : choice->values) Add(value);
    }
  }
  std::string ToString() const { return absl::StrJoin(names_, ", "); }

 private:
  void AddName(absl::string_view name) {
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  }

  std::unordered_set<const poly::Expr*> seen_;
  std::vector<absl::string_view> names_;
};

}  // namespace

std::string DescribeOperations(const poly::FlatContraction& flat) {
  std::vector<std::string> parts;
  if (flat.is_reduction()) {
    Operations body;
    body.Add(flat.body);
    const ScalarOp op = poly::AggregationOp(flat.aggregation);
    const absl::string_view name = op == ScalarOp::kAdd   ? "sum"
                                   : op == ScalarOp::kMul ? "product"
                                                          : Name(op);
    const std::string inner = body.ToString();
    parts.push_back(inner.empty() ? std::string(name) : absl::StrCat(name, " of ", inner));
  }
  Operations after;
  for (const poly::Output& output : flat.outputs) after.Add(output.expr);
  if (std::string names = after.ToString(); !names.empty()) parts.push_back(std::move(names));
  return parts.empty() ? "copy" : absl::StrJoin(parts, "; ");
}

}  // namespace tartan::compiler
