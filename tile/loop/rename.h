// SPDX-License-Identifier: Apache-2.0
// New names for the variables, arrays and parameters of a piece of a kernel, and kernels without
// names.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Old names to new ones; others stay.
using Renaming = std::unordered_map<std::string, std::string>;

// The statement with the names replaced wherever they are declared or used.
StmtPtr Rename(const StmtPtr& stmt, const Renaming& renaming);

// The kernel without its name, the texts of its comments and the values of its sizes: equal for
// kernels that differ in them alone.
Kernel WithoutNames(Kernel kernel);

// Everything that the statement declares, in inner scopes too: variables, arrays, loops.
std::set<std::string> DeclaredNames(const StmtPtr& stmt);

}  // namespace tartan::loop
