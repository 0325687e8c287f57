// SPDX-License-Identifier: Apache-2.0
// onnx_operator_list FILE: writes the page of operators; run it in the root of the repository.
#include <cstdio>
#include <fstream>

#include "tests/frontend/onnx/operator_list.h"

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : tartan::onnx::kOperatorListFile;
  const absl::StatusOr<std::string> page = tartan::onnx::OperatorList();
  if (!page.ok()) {
    std::fprintf(stderr, "%s\n", page.status().ToString().c_str());
    return 1;
  }
  std::ofstream(path) << *page;
  return 0;
}
