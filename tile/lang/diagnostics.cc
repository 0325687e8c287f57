// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tartan::lang {
namespace {

// Maximum length in characters; of longer lines a window around the caret is shown.
constexpr size_t kMaxLine = 160;

absl::string_view Line(absl::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

// Blanks with the width of `text` on a terminal: tabs are kept, other characters become blanks, and
// UTF-8 continuation bytes are dropped.
std::string Blanks(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    if ((c & 0xC0) == 0x80) continue;
    result.push_back(c == '\t' ? '\t' : ' ');
  }
  return result;
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}

}  // namespace

std::string FormatDiagnostic(const SourceText& source, Position position,
                             absl::string_view message) {
  if (position.line == 0) return absl::StrCat(source.file, ": ", message);
  std::string result =
      absl::StrCat(source.file, ":", position.line, ":", position.column, ": ", message);
  if (source.text.empty()) return result;
  absl::string_view line = Line(source.text, position.line);
  size_t column = std::min<size_t>(position.column - 1, line.size());
  if (line.size() > kMaxLine) {
    const size_t start = std::min(column - std::min(column, kMaxLine / 2), line.size() - kMaxLine);
    line = line.substr(start, kMaxLine);
    column -= start;
  }
  absl::StrAppend(&result, "\n    ", line, "\n    ", Blanks(line.substr(0, column)), "^");
  return result;
}

absl::Status ErrorAt(const SourceText& source, Position position, absl::string_view message) {
  return absl::InvalidArgumentError(FormatDiagnostic(source, position, message));
}

std::string NearestName(absl::string_view name, absl::Span<const absl::string_view> candidates) {
  constexpr size_t kLongestName = 64;  // bounds the work on a hostile text
  if (name.size() > kLongestName) return "";
  int best = static_cast<int>(name.size() + 2) / 3 + 1;
  absl::string_view nearest;
  for (const absl::string_view candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const int distance = EditDistance(name, candidate);
    if (distance < best && distance < static_cast<int>(name.size())) {
      best = distance;
      nearest = candidate;
    }
  }
  return std::string(nearest);
}

}  // namespace tartan::lang
