// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <functional>
#include <type_traits>
#include <variant>

#include "tile/base/match.h"
#include "tile/loop/loop_ir.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

class Hasher {
 public:
  template <class Tree>
  void Add(const Tree& tree) {
    Mix(tree.node.index());
    if constexpr (std::is_same_v<Tree, Expr>) {
      Mix(static_cast<uint64_t>(tree.type.element));
      Mix(static_cast<uint64_t>(tree.type.lanes));
    }
    if (const std::string* name = NameOf(tree)) Mix(std::hash<std::string>()(*name));
    Match(tree.node, [&](const auto& node) { AddOwn(node); });
    ForEachChild(tree, [&](const auto& child) { Add(*child); });
  }

  uint64_t hash() const { return hash_; }

 private:
  void Mix(uint64_t value) {
    hash_ = std::rotl((hash_ ^ value) * uint64_t{0x9E3779B97F4A7C15}, 29);
  }

  // These overloads add the members of a node beside its name and its children.
  void AddOwn(const IntLiteral& literal) { Mix(static_cast<uint64_t>(literal.value)); }
  void AddOwn(const FloatLiteral& literal) { Mix(std::bit_cast<uint64_t>(literal.value)); }
  void AddOwn(const Apply& apply) {
    Mix(static_cast<uint64_t>(apply.op));
    Mix(apply.operands.size());
  }
  void AddOwn(const Block& block) { Mix(block.statements.size()); }
  void AddOwn(const For& loop) { Mix(static_cast<uint64_t>(loop.step)); }
  template <class Node>
  void AddOwn(const Node&) {}

  uint64_t hash_ = 0;
};

}  // namespace

uint64_t HashOf(const Stmt& stmt) {
  Hasher hasher;
  hasher.Add(stmt);
  return hasher.hash();
}

}  // namespace tartan::loop
