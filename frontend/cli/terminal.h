// SPDX-License-Identifier: Apache-2.0
// Text for a person at a terminal: tables, colour, a progress bar.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "frontend/api/explain/units.h"

namespace tartan::cli {

// Whether text written to the file descriptor may be coloured: a terminal, and no NO_COLOR.
bool HasColor(int file_descriptor);

// Around words that stand out, where HasColor: the only control sequences that WriteOutput lets
// through.
inline constexpr char kBold[] = "\x1b[1m";
inline constexpr char kPlain[] = "\x1b[0m";

// Writes to stdout and flushes it, with what a terminal would obey written out (tile/base/
// printable.h). An error is marked as one of a file (exit_code.h). Ends the program at once, as
// SIGPIPE would, where the reader of stdout has gone away.
absl::Status WriteOutput(absl::string_view text);
// The same for a document that programs read: as it is.
absl::Status WriteDocument(absl::string_view document);

// A line on stderr, likewise made fit to be shown. Ends the program where the reader of stderr has
// gone away, as SIGPIPE would.
void WriteError(absl::string_view line);

// Columns aligned by their widest cell; the last is not padded.
class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // A cell is one line: its line ends and control characters are written out.
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

// A bar with the time left on stderr, where that is a terminal; nothing elsewhere. Used by one
// thread at a time.
class Progress {
 public:
  Progress(bool enabled, int64_t total);
  ~Progress();  // leaves an empty line
  void Show(int64_t done, absl::string_view what);

 private:
  bool enabled_;
  int64_t total_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
};

}  // namespace tartan::cli
