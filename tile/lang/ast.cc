// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/ast.h"

#include <algorithm>
#include <bit>

#include "tile/base/match.h"

namespace tartan::lang {
namespace {

bool Equal(const ExprPtr& a, const ExprPtr& b) { return Equal(*a, *b); }

bool Equal(const TensorAccess& a, const TensorAccess& b);
bool Equal(const Constraint& a, const Constraint& b) {
  return Equal(a.poly, b.poly) && Equal(a.range, b.range);
}
bool Equal(const Attribute& a, const Attribute& b) {
  return a.name == b.name && a.arguments == b.arguments;
}
bool Equal(const Parameter& a, const Parameter& b) {
  return a.name == b.name && a.has_dims == b.has_dims && a.dims == b.dims;
}
bool Equal(const Statement& a, const Statement& b);

template <class T>
bool EqualLists(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const T& x, const T& y) { return Equal(x, y); });
}

bool Equal(const TensorAccess& a, const TensorAccess& b) {
  return a.tensor == b.tensor && EqualLists(a.indices, b.indices);
}

bool Equal(const Assignment& a, const Assignment& b) {
  return a.target == b.target && Equal(a.value, b.value);
}

bool Equal(const Contraction& a, const Contraction& b) {
  return a.aggregation == b.aggregation && a.combination == b.combination &&
         Equal(a.output, b.output) && EqualLists(a.output_dims, b.output_dims) &&
         EqualLists(a.inputs, b.inputs) && EqualLists(a.constraints, b.constraints) &&
         a.default_tensor == b.default_tensor && a.no_defract == b.no_defract;
}

bool Equal(const Statement& a, const Statement& b) {
  if (a.node.index() != b.node.index() || !EqualLists(a.attributes, b.attributes)) return false;
  if (const auto* assignment = std::get_if<Assignment>(&a.node)) {
    return Equal(*assignment, std::get<Assignment>(b.node));
  }
  return Equal(std::get<Contraction>(a.node), std::get<Contraction>(b.node));
}

}  // namespace

bool Equal(const Expr& a, const Expr& b) {
  if (a.node.index() != b.node.index()) return false;
  return Match(
      a.node, [&](const IntLiteral& x) { return x.value == std::get<IntLiteral>(b.node).value; },
      [&](const FloatLiteral& x) {  // by bits: NaN equals itself, -0.0 differs from 0.0
        return std::bit_cast<uint64_t>(x.value) ==
               std::bit_cast<uint64_t>(std::get<FloatLiteral>(b.node).value);
      },
      [&](const Name& x) { return x.name == std::get<Name>(b.node).name; },
      [&](const Call& x) {
        const Call& y = std::get<Call>(b.node);
        return x.function == y.function && EqualLists(x.arguments, y.arguments);
      });
}

const std::string& TargetOf(const Statement& statement) {
  const auto* assignment = std::get_if<Assignment>(&statement.node);
  return assignment != nullptr ? assignment->target
                               : std::get<Contraction>(statement.node).output.tensor;
}

bool Equal(const Function& a, const Function& b) {
  return EqualLists(a.inputs, b.inputs) && a.outputs == b.outputs &&
         EqualLists(a.statements, b.statements) && a.name == b.name && EqualLists(a.rules, b.rules);
}

bool IsTensorName(absl::string_view name) {
  if (!name.empty() && name[0] == '#') return true;
  const size_t first = name.find_first_not_of('_');
  return first != absl::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

absl::string_view PlainName(absl::string_view name) {
  if (!name.empty() && (name[0] == '#' || name[0] == '$')) name.remove_prefix(1);
  return name;
}

}  // namespace tartan::lang
