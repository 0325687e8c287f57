// SPDX-License-Identifier: Apache-2.0
// Reads the golden programs from their files. README.md describes the file format.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/program.h"

namespace tartan::golden {

struct GoldenProgram {
  std::string family;  // name of the file that contains the program
  std::string name;
  bool is_onnx = false;  // false: a Tile function
  std::string text;
  std::map<std::string, std::string> headers;  // known headers of the form "// key: …"

  std::string path() const { return family + "/" + name; }
  bool shows_kernels() const { return headers.count("kernels") > 0; }
  // The machine with more than a summary in the program's file.
  std::string full_machine() const;
  // Number of tuning candidates reported for each kernel; 0: none.
  int candidates() const;
};

// Reads all files of a folder, sorted by file name; programs keep their order in the file. Returns
// InvalidArgument for an unknown header or a repeated name.
absl::StatusOr<std::vector<GoldenProgram>> ReadPrograms(const std::string& folder);

// Binds the program with the input sizes, constants and gradients that its headers give.
absl::StatusOr<ir::Program> Bind(const GoldenProgram& program);

// Returns the compile options that the header "options" gives.
absl::StatusOr<compiler::CompileOptions> OptionsOf(const GoldenProgram& program);

}  // namespace tartan::golden
