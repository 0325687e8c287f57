// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end and collects its output.
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
  std::vector<std::string> environment;  // NAME=VALUE, added to the environment of the test
  std::string stdout_path;               // instead of a pipe
  bool close_stdout = false;             // starts it with the read end of its stdout closed
  int interrupt_signal = 0;              // sent once its stderr contains `interrupt_at`
  std::string interrupt_at;
};

ProgramResult RunProgram(const std::vector<std::string>& arguments,
                         const ProgramOptions& options = {});

// Runs build/tartan with these arguments.
ProgramResult RunTartan(std::vector<std::string> arguments, const ProgramOptions& options = {});

// The absolute path of a file of the source tree.
std::string SourcePath(const std::string& relative);

}  // namespace tartan::cli
