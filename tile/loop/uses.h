// SPDX-License-Identifier: Apache-2.0
// Which declarations of a kernel are used, and how: analysis for simplify.cc.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// How a declared variable or array is used. Reads are those the printed kernel has: two or more
// count as 2.
struct Use {
  int reads = 0;
  // The only read is in more loops than the declaration.
  bool in_inner_loop = false;
};

struct KernelUses {
  // By Declare or DeclareArray statement; a statement object that occurs twice has the sum.
  std::unordered_map<const Stmt*, Use> of;
  // How often each name is declared, as a variable, an array, a loop or a parameter.
  std::unordered_map<std::string, int> declarations;
};

KernelUses FindUses(const Kernel& kernel);

// Whether the value can be computed anywhere in its variables' scope: it loads nothing and reads
// no variable of `mutable_names`.
bool IsMovable(const ExprPtr& expr, const std::unordered_set<std::string>& mutable_names);

// Gives the names that `stmt` declares in its own scope (not in inner ones) new names where others
// declare them too; returns the statement with every use renamed. Counts in `declarations` follow.
StmtPtr RenameShared(const StmtPtr& stmt, std::unordered_map<std::string, int>* declarations);

}  // namespace tartan::loop
