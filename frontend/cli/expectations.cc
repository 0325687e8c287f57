// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/expectations.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tartan::cli {
namespace {

constexpr absl::string_view kStatuses[] = {"pass", "fail", "unsupported", "error"};
constexpr char kAbsent[] = "absent";
constexpr size_t kMaxReason = 120;

// The first line of a message, truncated at a character boundary.
std::string Reason(absl::string_view message) {
  message = message.substr(0, message.find('\n'));
  if (message.size() > kMaxReason) {
    size_t end = kMaxReason;
    while (end > 0 && (message[end] & 0xc0) == 0x80) --end;
    message = message.substr(0, end);
  }
  return std::string(message);
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseExpectations(
    absl::Span<const std::string> lines) {
  std::map<std::string, std::string> expected;
  for (size_t i = 0; i < lines.size(); ++i) {
    absl::string_view line = lines[i];
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const absl::string_view name = absl::StripAsciiWhitespace(parts.second);
    if (std::count(std::begin(kStatuses), std::end(kStatuses), parts.first) == 0 || name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", i + 1, ": '", line,
                       "' is not a status (pass, fail, unsupported or error) followed by a name"));
    }
    if (!expected.emplace(std::string(name), std::string(parts.first)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", i + 1, ": ", name, " is listed twice"));
    }
  }
  return expected;
}

std::string FormatExpectations(std::vector<ActualStatus> cases) {
  std::sort(cases.begin(), cases.end(),
            [](const ActualStatus& a, const ActualStatus& b) { return a.name < b.name; });
  std::string text;
  for (const ActualStatus& actual : cases) {
    absl::StrAppend(&text, actual.status, " ", actual.name);
    if (!actual.message.empty()) absl::StrAppend(&text, "  # ", Reason(actual.message));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::vector<ExpectationDifference> FindDifferences(
    const std::map<std::string, std::string>& expected, absl::Span<const ActualStatus> cases) {
  std::map<std::string, std::string> missing = expected;
  std::vector<ExpectationDifference> differences;
  for (const ActualStatus& actual : cases) {
    const auto it = expected.find(actual.name);
    const std::string wanted = it == expected.end() ? kAbsent : it->second;
    if (wanted != actual.status) differences.push_back({actual.name, wanted, actual.status});
    missing.erase(actual.name);
  }
  for (const auto& [name, status] : missing) differences.push_back({name, status, kAbsent});
  std::sort(differences.begin(), differences.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return differences;
}

}  // namespace tartan::cli
