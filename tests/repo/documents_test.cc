// SPDX-License-Identifier: Apache-2.0
// Checks that files and functions named in documents and comments exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/repo/source_tree.h"

namespace tartan::repo {
namespace {

using ::testing::IsEmpty;

// Names of files outside the repository, and placeholders.
const std::set<std::string>& ExternalNames() {
  static const auto& names = *new std::set<std::string>{
      "0002-custom-gradients.txt",
      "DIRECTORY/0001-program.txt",
      "FILE.tile",
      "MODEL.onnx",
      "ai.onnx",
      "expected/FAMILY/NAME.txt",
      "model.onnx",
      "net.tile",
      "picture.png",
      "train.py",
      "tuned.onnx",
      "x.bin",
      "x.png",
  };
  return names;
}

bool NamesFile(absl::string_view word) {
  static const auto& extensions = *new std::set<std::string>{
      "h",    "cc",    "l",  "y",  "cmake", "md",   "txt",
      "tile", "nodes", "sh", "py", "proto", "onnx", "png",
  };
  const size_t dot = word.rfind('.');
  return dot != absl::string_view::npos && dot > 0 &&
         extensions.count(std::string(word.substr(dot + 1))) > 0;
}

// Characters of a path, and of a suffix after a colon.
bool IsPathCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         absl::StrContains("_./-:*{},$<>", absl::string_view(&c, 1));
}

std::vector<std::string> PathWords(absl::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && IsPathCharacter(line[i])) {
      word.push_back(line[i]);
    } else {
      absl::string_view stripped = word;
      while (!stripped.empty() && absl::StrContains(".,:", stripped.substr(stripped.size() - 1))) {
        stripped.remove_suffix(1);
      }
      if (!stripped.empty()) words.emplace_back(stripped);
      word.clear();
    }
  }
  return words;
}

// Returns the file that a word names, without prefixes and suffixes; empty for other words and for
// patterns.
std::string NamedFile(absl::string_view word) {
  if (absl::StrContains(word, "://") || word.find_first_of("*{},$<>") != word.npos) return "";
  word = word.substr(0, word.find(':'));
  while (absl::ConsumePrefix(&word, "../") || absl::ConsumePrefix(&word, "./") ||
         absl::ConsumePrefix(&word, "/")) {
  }
  return NamesFile(word) ? std::string(word) : "";
}

// Returns the part of a line that may name files: a whole line of a document, the comment of a
// source line.
absl::string_view CheckedPart(const std::string& path, absl::string_view line) {
  if (absl::EndsWith(path, ".md")) return line;
  const size_t comment = line.find("//");
  return comment == line.npos ? absl::string_view() : line.substr(comment);
}

bool MayNameFiles(const std::string& path) {
  return absl::EndsWith(path, ".md") || absl::EndsWith(path, ".h") || absl::EndsWith(path, ".cc");
}

// Returns every suffix of a file's path that begins at a folder; documents use such suffixes.
std::set<std::string> EndsOfPaths() {
  std::set<std::string> ends;
  for (const std::string& path : SourceFiles()) {
    for (size_t begin = 0; begin != std::string::npos;) {
      ends.insert(path.substr(begin));
      const size_t slash = path.find('/', begin);
      begin = slash == std::string::npos ? slash : slash + 1;
    }
  }
  return ends;
}

TEST(Documents, NameFilesThatAreThere) {
  const std::set<std::string> ends = EndsOfPaths();
  ASSERT_GT(ends.size(), 500u);
  std::vector<std::string> missing;
  int found = 0;
  for (const std::string& path : SourceFiles()) {
    if (!MayNameFiles(path)) continue;
    const std::vector<std::string> lines = LinesOf(path);
    for (size_t l = 0; l < lines.size(); ++l) {
      for (const std::string& word : PathWords(CheckedPart(path, lines[l]))) {
        const std::string file = NamedFile(word);
        if (file.empty() || ExternalNames().count(file) > 0) continue;
        ++found;
        if (ends.count(file) == 0) missing.push_back(absl::StrCat(path, ":", l + 1, ": ", file));
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GT(found, 300);
}

TEST(Documents, NameFunctionsThatAreInTheirFiles) {
  const std::vector<std::string> files = SourceFiles();
  std::vector<std::string> missing;
  int found = 0;
  for (const std::string& path : files) {
    if (!absl::EndsWith(path, ".md")) continue;
    for (const std::string& line : LinesOf(path)) {
      for (const std::string& word : PathWords(line)) {
        const std::pair<std::string, std::string> parts =
            absl::StrSplit(word, absl::MaxSplits(':', 1));
        if (NamedFile(word) != parts.first || parts.second.empty()) continue;
        if (std::find(files.begin(), files.end(), parts.first) == files.end()) continue;
        if (absl::ascii_isdigit(static_cast<unsigned char>(parts.second.front()))) continue;
        ++found;
        const std::string name = parts.second.substr(parts.second.rfind(':') + 1);
        const std::vector<std::string> lines = LinesOf(parts.first);
        if (std::none_of(lines.begin(), lines.end(), [&name](const std::string& text) {
              return absl::StrContains(text, name);
            })) {
          missing.push_back(absl::StrCat(path, ": ", word));
        }
      }
    }
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GT(found, 30);
}

}  // namespace
}  // namespace tartan::repo
