// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/build_log.h"

#include <cstdint>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tartan::opencl {
namespace {

constexpr size_t kMaxLogBytes = 4096;
constexpr size_t kMaxShownLines = 20;
constexpr int64_t kContextLines = 1;

// Returns the line numbers in `log`: numbers between colons and numbers after "line ".
std::set<int64_t> MentionedLines(absl::string_view log) {
  std::set<int64_t> lines;
  for (size_t begin = 0; begin < log.size(); ++begin) {
    if (!absl::ascii_isdigit(log[begin])) continue;
    size_t end = begin;
    while (end < log.size() && absl::ascii_isdigit(log[end])) ++end;
    const absl::string_view before = log.substr(0, begin);
    const bool between_colons = absl::EndsWith(before, ":") && end < log.size() && log[end] == ':';
    // "file:12:5:" has two numbers between colons; the first one is the line.
    const bool after_number = before.size() >= 2 && absl::ascii_isdigit(before[before.size() - 2]);
    int64_t number = 0;
    if (((between_colons && !after_number) || absl::EndsWith(before, "line ")) &&
        absl::SimpleAtoi(log.substr(begin, end - begin), &number)) {
      lines.insert(number);
    }
    begin = end;
  }
  return lines;
}

}  // namespace

std::string ExplainBuildLog(absl::string_view log, absl::string_view source) {
  log = absl::StripAsciiWhitespace(log);
  std::string text(log.substr(0, kMaxLogBytes));
  if (log.size() > kMaxLogBytes) {
    absl::StrAppend(&text, "\n… ", log.size() - kMaxLogBytes, " more bytes of log");
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(source, '\n');
  const int64_t count = static_cast<int64_t>(lines.size());
  std::set<int64_t> shown;
  for (int64_t line : MentionedLines(log)) {
    for (int64_t near = line - kContextLines; near <= line + kContextLines; ++near) {
      if (near >= 1 && near <= count && shown.size() < kMaxShownLines) shown.insert(near);
    }
  }
  for (int64_t line : shown) absl::StrAppend(&text, "\n", line, ": ", lines[line - 1]);
  return text;
}

}  // namespace tartan::opencl
