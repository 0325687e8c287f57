// SPDX-License-Identifier: Apache-2.0
// Lists the files of this project, for tests of the source tree.
#pragma once

#include <string>
#include <vector>

namespace tartan::repo {

// Returns all files in folders under version control as sorted paths relative to the root, without
// build folders and hidden files.
std::vector<std::string> SourceFiles();

std::vector<std::string> LinesOf(const std::string& path);

}  // namespace tartan::repo
