// SPDX-License-Identifier: Apache-2.0
// Text output for a terminal: tables, colour, a progress bar.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/api/explain/units.h"

namespace tartan::cli {

// True if text for the file descriptor may be coloured: it is a terminal, and NO_COLOR is not set.
bool HasColor(int file_descriptor);

// Control sequences around emphasised words, for use if HasColor. WriteOutput escapes all other
// control sequences.
inline constexpr char kBold[] = "\x1b[1m";
inline constexpr char kPlain[] = "\x1b[0m";

// Writes to stdout with control characters escaped (tile/base/printable.h), and flushes. An error
// is marked as a file error (exit_code.h). Ends the program immediately, like SIGPIPE, if the
// reader of stdout has gone away.
absl::Status WriteOutput(absl::string_view text);
// Writes a document for programs to stdout, unescaped.
absl::Status WriteDocument(absl::string_view document);

// Writes a line to stderr, escaped like WriteOutput. Ends the program, like SIGPIPE, if the reader
// of stderr has gone away.
void WriteError(absl::string_view line);

// A table with columns as wide as their widest cell; the last column is not padded.
class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // Each cell is one line: its line ends and control characters are escaped.
  void AddRow(std::vector<std::string> cells);
  // Every line begins with `indent`.
  std::string ToString(absl::string_view indent = "") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

using api::FormatBytes;
using api::FormatCount;
using api::FormatMs;
// "12 s", "3:05 min".
std::string FormatSeconds(double seconds);

// A progress bar with the time left, on stderr if that is a terminal; otherwise nothing. Used by
// one thread at a time.
class Progress {
 public:
  Progress(bool enabled, int64_t total);
  ~Progress();  // clears the line
  void Show(int64_t done, absl::string_view what);

 private:
  bool enabled_;
  int64_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

}  // namespace tartan::cli
