// onnx_node_cases [REGEX [LIST]]: runs the cases whose "group/name" contains a match, prints one
// line each and a summary. With LIST, writes the names of those that pass to that file.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/frontend/onnx/node_case.h"

int main(int argc, char** argv) {
  const std::regex wanted(argc > 1 ? argv[1] : "");
  std::ofstream list;
  if (argc > 2) list.open(argv[2]);
  int passed = 0;
  int failed = 0;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const std::string& folder : tartan::onnx::ListCases(group)) {
      const std::string name =
          std::string(group) + "/" + std::filesystem::path(folder).filename().string();
      if (!std::regex_search(name, wanted)) continue;
      const absl::Status status = tartan::onnx::RunNodeCase(folder);
      (status.ok() ? passed : failed) += 1;
      std::printf("%s %s%s\n", status.ok() ? "pass" : "FAIL", name.c_str(),
                  status.ok() ? "" : (": " + status.ToString()).c_str());
      std::fflush(stdout);
      if (status.ok() && list.is_open()) list << name << "\n";
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
