// SPDX-License-Identifier: Apache-2.0
// Checks that sources, functions and folders do not exceed the sizes in CONTRIBUTING.md. Larger
// ones are listed with their size, which may only shrink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/repo/source_tree.h"

namespace tartan::repo {
namespace {

using ::testing::IsEmpty;
using Sizes = std::map<std::string, int>;

constexpr int kHeaderLines = 250;
constexpr int kSourceLines = 400;
constexpr int kFunctionLines = 60;
constexpr int kFolderSources = 40;

const Sizes& LongSources() {
  static const auto& sources = *new Sizes{
      {"scripts/graph_recipes/nodes.py", 469}, {"scripts/operator_recipes/microsoft.py", 459},
      {"scripts/training_cases.py", 452},      {"tests/tile/compiler/programs.cc", 504},
      {"tile/loop/expr_rewriter.cc", 437},
  };
  return sources;
}

// Keys are the file and the first line of the function; most consist of one switch.
const Sizes& LongFunctions() {
  static const auto& functions = *new Sizes{
      {"backend_opencl/dialect/opencl_operations.cc: absl::string_view FloatFunction(ScalarOp op) "
       "{",
       62},
      {"tile/autodiff/elementwise_gradient.cc: "
       "ValueId UnaryGradient(Emitter& e, ScalarOp op, ValueId x, ValueId y, ValueId g) {",
       62},
  };
  return functions;
}

const Sizes& LargeFolders() {
  static const auto& folders = *new Sizes{
      {"frontend/api", 48},
      {"tests/frontend/onnx", 64},
  };
  return folders;
}

bool IsSource(const std::string& path) {
  return absl::EndsWith(path, ".h") || absl::EndsWith(path, ".cc");
}

bool IsPython(const std::string& path) { return absl::EndsWith(path, ".py"); }

// Returns entries that exceed their limit or exception, and exceptions that are no longer needed.
std::vector<std::string> Violations(const Sizes& sizes, const Sizes& exceptions,
                                    const std::map<std::string, int>& limits) {
  std::vector<std::string> offences;
  for (const auto& [name, size] : sizes) {
    const int limit = limits.at(name);
    const auto exception = exceptions.find(name);
    if (size > (exception == exceptions.end() ? limit : exception->second)) {
      offences.push_back(absl::StrCat(name, " has ", size, ", at most ", limit, " are wanted"));
    }
  }
  for (const auto& [name, size] : exceptions) {
    const auto it = sizes.find(name);
    if (it == sizes.end() || it->second <= limits.at(name)) {
      offences.push_back(absl::StrCat(name, " needs no exception"));
    }
  }
  return offences;
}

TEST(Limits, SourcesAreShortOrListed) {
  Sizes sizes;
  Sizes limits;
  for (const std::string& path : SourceFiles()) {
    if (!IsSource(path) && !IsPython(path)) continue;
    sizes[path] = static_cast<int>(LinesOf(path).size()) - 1;  // without the license line
    limits[path] = absl::EndsWith(path, ".h") ? kHeaderLines : kSourceLines;
  }
  ASSERT_GT(sizes.size(), 500u);
  EXPECT_THAT(Violations(sizes, LongSources(), limits), IsEmpty());
}

// scripts/license_headers.sh adds the line.
TEST(Limits, EverySourceNamesItsLicense) {
  std::vector<std::string> without;
  for (const std::string& path : SourceFiles()) {
    if (!IsSource(path) && !IsPython(path) && !absl::EndsWith(path, ".l") &&
        !absl::EndsWith(path, ".y"))
      continue;
    const std::vector<std::string> lines = LinesOf(path);
    const size_t first = !lines.empty() && absl::StartsWith(lines[0], "#!") ? 1 : 0;
    if (lines.size() <= first ||
        !absl::StrContains(lines[first], "SPDX-License-Identifier: Apache-2.0")) {
      without.push_back(path);
    }
  }
  EXPECT_THAT(without, IsEmpty());
}

TEST(Limits, FoldersAreSmallOrListed) {
  Sizes sizes;
  Sizes limits;
  for (const std::string& path : SourceFiles()) {
    if (!IsSource(path)) continue;
    const std::string folder = path.substr(0, path.rfind('/'));
    ++sizes[folder];
    limits[folder] = kFolderSources;
  }
  EXPECT_THAT(Violations(sizes, LargeFolders(), limits), IsEmpty());
}

bool BeginsWithWord(absl::string_view line, const std::set<std::string>& words) {
  size_t end = 0;
  while (end < line.size() && line[end] >= 'a' && line[end] <= 'z') ++end;
  return words.count(std::string(line.substr(0, end))) > 0;
}

// Returns the line that ends the function head beginning at `first` with "{"; nothing if it ends
// otherwise. Requires clang-format's style.
std::optional<size_t> EndOfHead(const std::vector<std::string>& lines, size_t first) {
  constexpr size_t kMaxLines = 12;
  for (size_t l = first; l < lines.size() && l < first + kMaxLines; ++l) {
    if (absl::EndsWith(lines[l], "{")) return l;
    if (absl::EndsWith(lines[l], ";") || absl::EndsWith(lines[l], "}")) return std::nullopt;
  }
  return std::nullopt;
}

// Adds the number of lines of functions whose heads are indented by `indent`, keyed by their first
// line. Types and tables are skipped.
void AddFunctions(const std::string& path, const std::vector<std::string>& lines,
                  const std::string& indent, Sizes* functions) {
  const std::set<std::string> others = {"namespace", "class", "struct", "enum",   "union",
                                        "if",        "for",   "while",  "switch", "return",
                                        "case",      "do",    "else",   "extern"};
  for (size_t first = 0; first < lines.size(); ++first) {
    absl::string_view line = lines[first];
    if (!absl::ConsumePrefix(&line, indent) || line.empty()) continue;
    if (absl::StrContains(" }#/)", line.substr(0, 1)) || BeginsWithWord(line, others)) continue;
    const std::optional<size_t> head = EndOfHead(lines, first);
    if (!head) continue;
    bool is_function = !absl::EndsWith(lines[*head], "= {");
    bool has_parameters = false;
    for (size_t l = first; l <= *head; ++l) {
      has_parameters = has_parameters || absl::StrContains(lines[l], "(");
    }
    is_function = is_function && has_parameters;
    if (!is_function) continue;
    size_t last = *head + 1;
    while (last < lines.size() && !absl::StartsWith(lines[last], indent + "}")) ++last;
    const std::string name = absl::StrCat(path, ": ", line);
    (*functions)[name] = static_cast<int>(last - first) + 1;
    first = last;
  }
}

// Adds Python functions. A function ends before the next line with the same or smaller indentation.
void AddPythonFunctions(const std::string& path, const std::vector<std::string>& lines,
                        Sizes* functions) {
  for (size_t first = 0; first < lines.size(); ++first) {
    const size_t indent = lines[first].find_first_not_of(' ');
    if (indent == std::string::npos ||
        !absl::StartsWith(absl::string_view(lines[first]).substr(indent), "def ")) {
      continue;
    }
    size_t last = first;  // last non-empty line
    for (size_t l = first + 1; l < lines.size(); ++l) {
      const size_t column = lines[l].find_first_not_of(' ');
      if (column == std::string::npos) continue;
      if (column <= indent && lines[l][column] != ')') break;
      last = l;
    }
    const absl::string_view head = absl::string_view(lines[first]).substr(indent);
    (*functions)[absl::StrCat(path, ": ", head)] = static_cast<int>(last - first) + 1;
  }
}

TEST(Limits, FunctionsAreShortOrListed) {
  Sizes sizes;
  Sizes limits;
  for (const std::string& path : SourceFiles()) {
    if (!IsSource(path) || absl::StartsWith(path, "tests/")) continue;
    for (const char* indent : {"", "  "}) AddFunctions(path, LinesOf(path), indent, &sizes);
  }
  for (const std::string& path : SourceFiles()) {
    if (IsPython(path)) AddPythonFunctions(path, LinesOf(path), &sizes);
  }
  ASSERT_GT(sizes.size(), 2000u);
  for (const auto& [name, size] : sizes) limits[name] = kFunctionLines;
  for (const auto& [name, size] : LongFunctions()) limits[name] = kFunctionLines;
  EXPECT_THAT(Violations(sizes, LongFunctions(), limits), IsEmpty());
}

}  // namespace
}  // namespace tartan::repo
