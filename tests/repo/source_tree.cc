// SPDX-License-Identifier: Apache-2.0
#include "tests/repo/source_tree.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"

namespace tartan::repo {
namespace {

namespace fs = std::filesystem;

fs::path Root() {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  return root != nullptr ? root : ".";
}

// The folders listed in tests/repo/top_level.cmake.
constexpr const char* kFolders[] = {"backend_opencl", "bench",    "cmake", "distributed", "docs",
                                    "examples",       "frontend", "hal",   "proto",       "python",
                                    "scripts",        "tests",    "tile"};

}  // namespace

std::vector<std::string> SourceFiles() {
  std::vector<std::string> files;
  const auto add = [&files](const fs::path& path) {
    const std::string name = path.filename();
    if (absl::StartsWith(name, ".") || absl::EndsWith(name, ".pyc") ||
        absl::EndsWith(name, ".so")) {
      return;
    }
    files.push_back(fs::relative(path, Root()).generic_string());
  };
  for (const auto& entry : fs::directory_iterator(Root())) {
    if (entry.is_regular_file()) add(entry.path());
  }
  for (const char* folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(Root() / folder)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream stream(Root() / path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace tartan::repo
