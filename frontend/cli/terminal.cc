// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/printable.h"
#include "tile/base/process_limits.h"

namespace tartan::cli {
namespace {

// Number of UTF-8 characters.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

// Applies `escape` to the text between our own control sequences, which are kept.
std::string Shown(absl::string_view text, std::string (*escape)(absl::string_view)) {
  std::string shown;
  while (!text.empty()) {
    const size_t next = std::min(text.find(kBold), text.find(kPlain));
    shown += escape(text.substr(0, next));
    if (next == absl::string_view::npos) break;
    const absl::string_view sequence = text.substr(next, sizeof(kBold) - 1);
    absl::StrAppend(&shown, sequence);
    text.remove_prefix(next + sequence.size());
  }
  return shown;
}

}  // namespace

bool HasColor(int file_descriptor) {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(file_descriptor) == 1 && (no_color == nullptr || no_color[0] == '\0');
}

absl::Status WriteOutput(absl::string_view text) {
  return WriteDocument(Shown(text, PrintableLines));
}

absl::Status WriteDocument(absl::string_view document) {
  const bool written =
      std::fwrite(document.data(), 1, document.size(), stdout) == document.size() &&
      std::fflush(stdout) == 0;
  if (written) return absl::OkStatus();
  const int error = errno;
  if (error == EPIPE) {
    WriteError("tartan: the reader of standard output has gone away");
    _exit(static_cast<int>(ExitCode::kFile));
  }
  return At(Stage::kFile, absl::UnavailableError(absl::StrCat("standard output cannot be written: ",
                                                              WriteErrorText(error))));
}

void WriteError(absl::string_view line) {
  const std::string shown = absl::StrCat(PrintableLines(line), "\n");
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stderr) == shown.size();
  if (!written && errno == EPIPE) _exit(static_cast<int>(ExitCode::kFile));
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = Shown(cell, Printable);
  rows_.push_back(std::move(cells));
}

std::string Table::ToString(absl::string_view indent) const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - Width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += columns_[c] == Align::kRight ? padding + row[c] : row[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string FormatSeconds(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return whole < 60 ? absl::StrFormat("%d s", whole)
                    : absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
}

Progress::Progress(bool enabled, int64_t total)
    : enabled_(enabled && isatty(STDERR_FILENO) == 1), total_(total) {}

Progress::~Progress() {
  if (enabled_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Show(int64_t done, absl::string_view what) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (done < total_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  constexpr int64_t kWidth = 24;
  const int64_t filled = total_ > 0 ? kWidth * done / total_ : kWidth;
  const std::string bar = std::string(filled, '=') + std::string(kWidth - filled, ' ');
  // An estimate is unreliable until some work is done.
  std::string left;
  const std::chrono::duration<double> elapsed = now - start_;
  if (done > 0 && done < total_ && elapsed.count() > 1) {
    const double share = static_cast<double>(total_ - done) / static_cast<double>(done);
    left = FormatSeconds(elapsed.count() * share) + " left ";
  }
  absl::FPrintF(stderr, "\r\x1b[K[%s] %d/%d %s%s", bar, done, total_, left,
                Printable(what.substr(0, 50)));
  std::fflush(stderr);
}

}  // namespace tartan::cli
