// onnx_node_cases [REGEX [LIST]]: runs the cases whose "group/name" contains a match, prints one
// line each and a summary. With LIST, writes the names of those that pass to that file.
// onnx_node_cases FOLDER [REGEX [LIST]]: the same for the cases in a folder, by "name"; each once
// with its inputs known while the graph is imported and once with inputs that it has to ask for.
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

}  // namespace

int main(int argc, char** argv) {
  std::vector<Case> cases;
  const bool is_folder = argc > 1 && std::filesystem::is_directory(argv[1]);
  if (is_folder) {
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
    absl::Status status = tartan::onnx::RunNodeCase(folder);
    if (status.ok() && is_folder) {
      status = tartan::onnx::RunNodeCase(folder, tartan::onnx::Inputs::kUnknown);
      if (!status.ok()) {
        status =
            absl::Status(status.code(), absl::StrCat("with unknown inputs: ", status.message()));
      }
    }
    (status.ok() ? passed : failed) += 1;
    std::printf("%s %s%s\n", status.ok() ? "pass" : "FAIL", name.c_str(),
                status.ok() ? "" : (": " + status.ToString()).c_str());
    std::fflush(stdout);
    if (status.ok() && list.is_open()) list << name << "\n";
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
