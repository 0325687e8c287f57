// SPDX-License-Identifier: Apache-2.0
// The files of this project, as tests of the tree itself see them.
#pragma once

#include <string>
#include <vector>

namespace tartan::repo {

// Every file under version control's folders, as a path from the root, sorted. Build folders and
// hidden files are not among them.
std::vector<std::string> SourceFiles();

std::vector<std::string> LinesOf(const std::string& path);

}  // namespace tartan::repo
