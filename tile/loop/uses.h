// SPDX-License-Identifier: Apache-2.0
// Use analysis for simplify.cc: which declarations of a kernel are read, and where.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Uses of a declared variable or array. `reads` counts reads in the printed kernel, at most 2.
struct Use {
  int reads = 0;
  // The read is nested in more loops than the declaration.
  bool in_inner_loop = false;
};

struct KernelUses {
  // Uses of each Declare or DeclareArray statement; a statement object that occurs twice has the
  // sum of both.
  std::unordered_map<const Stmt*, Use> of;
  // The number of declarations of each name as a variable, array, loop or parameter.
  std::unordered_map<std::string, int> declarations;
};

KernelUses FindUses(const Kernel& kernel);

// Returns whether the value can be computed anywhere in its variables' scope: it has no loads and
// reads no variable of `mutable_names`.
bool IsMovable(const ExprPtr& expr, const std::unordered_set<std::string>& mutable_names);

// Renames declarations in `stmt`'s own scope (not inner ones) whose names are declared elsewhere,
// too. Returns the statement with all uses renamed, and updates `declarations`.
StmtPtr RenameShared(const StmtPtr& stmt, std::unordered_map<std::string, int>* declarations);

}  // namespace tartan::loop
