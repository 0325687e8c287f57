// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end and keeps what it wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tartan::cli {

struct ProgramResult {
  int exit_code = -1;  // 128 + N when signal N ended it
  std::string out;
  std::string err;
};

struct ProgramOptions {
  std::vector<std::string> environment;  // NAME=VALUE, beside the test's own
  std::string stdout_path;               // instead of a pipe
  bool close_stdout = false;             // the reader of its stdout is gone from the start
  int interrupt_signal = 0;              // sent once its stderr holds `interrupt_at`
  std::string interrupt_at;
};

ProgramResult RunProgram(const std::vector<std::string>& arguments,
                         const ProgramOptions& options = {});

// build/tartan with these arguments.
ProgramResult RunTartan(std::vector<std::string> arguments, const ProgramOptions& options = {});

// A file of the source tree.
std::string SourcePath(const std::string& relative);

}  // namespace tartan::cli
