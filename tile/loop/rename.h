// SPDX-License-Identifier: Apache-2.0
// Renames the variables, arrays and parameters of a part of a kernel, for kernels composed of
// several.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// Maps old names to new ones; other names are kept.
using Renaming = std::unordered_map<std::string, std::string>;

// Renames all declarations and uses.
StmtPtr Rename(const StmtPtr& stmt, const Renaming& renaming);

// The kernel without its name, comment texts and size values, so that kernels that differ only in
// these are equal.
Kernel WithoutNames(Kernel kernel);

// All names that the statement declares, also in inner scopes: variables, arrays, loops.
std::set<std::string> DeclaredNames(const StmtPtr& stmt);

}  // namespace tartan::loop
