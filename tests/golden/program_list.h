// SPDX-License-Identifier: Apache-2.0
// The programs that golden kernels are made of. README.md of this folder describes their files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/program.h"

namespace tartan::golden {

struct GoldenProgram {
  std::string family;  // the name of the file it stands in
  std::string name;
  bool is_onnx = false;  // else Tile
  std::string text;
  std::map<std::string, std::string> headers;  // "// key: …", known ones only

  std::string path() const { return family + "/" + name; }
  bool shows_kernels() const { return headers.count("kernels") > 0; }
  // Plans of each kernel that tuning would measure; 0: none are shown.
  int candidates() const;
};

// Those of all files of tests/golden/programs, by file and in the order in which they stand there.
// InvalidArgument for a header that is none, and for a name that stands twice.
absl::StatusOr<std::vector<GoldenProgram>> ReadPrograms(const std::string& folder);

// With the sizes, constants and gradients that its headers tell.
absl::StatusOr<ir::Program> Bind(const GoldenProgram& program);

// The switches of its header "options".
absl::StatusOr<compiler::CompileOptions> OptionsOf(const GoldenProgram& program);

}  // namespace tartan::golden
