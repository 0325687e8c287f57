// SPDX-License-Identifier: Apache-2.0
// onnx_node_cases [REGEX [LIST]]: runs the cases whose "group/name" contains a match, prints one
// line each and a summary. With LIST, writes the names of those that pass to that file.
// onnx_node_cases FOLDER [REGEX [LIST]]: the same for the cases in a folder, by "name".
// onnx_node_cases --graphs FOLDER [REGEX [LIST]]: the same for random graphs: with inputs known
// while the graph is imported and with inputs it has to ask for, tolerances by type.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/node_case.h"

namespace {

struct Case {
  std::string name;
  std::string folder;
};

void Append(const std::string& root, const std::string& prefix, std::vector<Case>* cases) {
  for (const std::string& folder : tartan::onnx::ListCasesIn(root)) {
    cases->push_back(
        {absl::StrCat(prefix, std::filesystem::path(folder).filename().string()), folder});
  }
}

absl::Status RunGraph(const std::string& folder) {
  const absl::Status status = tartan::onnx::RunGraphCase(folder, tartan::onnx::Inputs::kKnown);
  if (!status.ok()) return status;
  const absl::Status asking = tartan::onnx::RunGraphCase(folder, tartan::onnx::Inputs::kUnknown);
  return absl::Status(asking.code(), asking.ok() ? std::string()
                                                 : absl::StrCat("with inputs that are asked for: ",
                                                                asking.message()));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  const bool are_graphs = argc > 1 && std::string(argv[1]) == "--graphs";
  if (are_graphs) {
    --argc;
    ++argv;
  }
  if (argc > 1 && std::filesystem::is_directory(argv[1])) {
    Append(argv[1], "", &cases);
    --argc;
    ++argv;
  } else {
    for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
      Append(absl::StrCat(tartan::onnx::kTestDataFolder, "/", group), absl::StrCat(group, "/"),
             &cases);
    }
  }
  const std::regex wanted(argc > 1 ? argv[1] : "");
  std::ofstream list;
  if (argc > 2) list.open(argv[2]);
  int passed = 0;
  int failed = 0;
  for (const auto& [name, folder] : cases) {
    if (!std::regex_search(name, wanted)) continue;
    const absl::Status status = are_graphs ? RunGraph(folder) : tartan::onnx::RunNodeCase(folder);
    (status.ok() ? passed : failed) += 1;
    std::printf("%s %s%s\n", status.ok() ? "pass" : "FAIL", name.c_str(),
                status.ok() ? "" : (": " + status.ToString()).c_str());
    std::fflush(stdout);
    if (status.ok() && list.is_open()) list << name << "\n";
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
