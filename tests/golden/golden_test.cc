// SPDX-License-Identifier: Apache-2.0
// Compares the compiler's output for every golden program with the files in expected/. Options:
// `--renew` rewrites expected/, `--write FOLDER` writes full texts into a folder. See README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/golden/program_list.h"
#include "tests/golden/report.h"

namespace tartan::golden {
namespace {

namespace fs = std::filesystem;

constexpr char kRemedy[] =
    "If the change is meant: scripts/renew_golden.sh, and look at the difference in git.\n"
    "For the kernels that are hashes alone: build/tests/golden_test --write FOLDER, before and "
    "after.";

fs::path Folder() {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  return fs::path(root == nullptr ? "." : root) / "tests" / "golden";
}

const std::vector<GoldenProgram>& Programs() {
  static const auto& programs = *new std::vector<GoldenProgram>([] {
    auto read = ReadPrograms((Folder() / "programs").string());
    if (read.ok()) return *std::move(read);
    std::cerr << read.status() << "\n";
    std::exit(2);
  }());
  return programs;
}

fs::path FileOf(const fs::path& folder, const GoldenProgram& program) {
  return folder / program.family / (program.name + ".txt");
}

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

KernelText TextOf(const GoldenProgram& program) {
  return program.shows_kernels() ? KernelText::kShown : KernelText::kHash;
}

// Returns "" for equal texts, else the first lines that differ and the machine of their section.
std::string FirstDifference(const std::string& actual, const std::string& expected) {
  constexpr size_t kShown = 5;
  const std::vector<absl::string_view> is = absl::StrSplit(actual, '\n');
  const std::vector<absl::string_view> was = absl::StrSplit(expected, '\n');
  absl::string_view machine = "before all machines";
  for (size_t line = 0; line < std::max(is.size(), was.size()); ++line) {
    if (line < is.size() && line < was.size() && is[line] == was[line]) {
      if (absl::StartsWith(is[line], "==== ")) machine = is[line];
      continue;
    }
    std::string text = absl::StrCat(machine, ", line ", line + 1, "\n");
    for (size_t l = line; l < std::min(line + kShown, was.size()); ++l) {
      absl::StrAppend(&text, "  was  ", was[l], "\n");
    }
    for (size_t l = line; l < std::min(line + kShown, is.size()); ++l) {
      absl::StrAppend(&text, "  is   ", is[l], "\n");
    }
    return text;
  }
  return "";
}

class GoldenTest : public testing::TestWithParam<GoldenProgram> {};

TEST_P(GoldenTest, CompilesToTheKernelsThatStandInItsFile) {
  const GoldenProgram& program = GetParam();
  const auto actual = Report(program, TextOf(program));
  ASSERT_TRUE(actual.ok()) << program.path() << ": " << actual.status();
  const fs::path file = FileOf(Folder() / "expected", program);
  const std::string difference = FirstDifference(*actual, ReadFile(file));
  if (!difference.empty()) {
    ADD_FAILURE() << file.string() << ", " << difference << kRemedy;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, testing::ValuesIn(Programs()), [](const auto& info) {
  return absl::StrCat(info.param.family, "_", info.param.name);
});

TEST(GoldenFiles, EachBelongsToAProgram) {
  std::set<fs::path> files;
  for (const GoldenProgram& program : Programs()) {
    files.insert(FileOf(Folder() / "expected", program));
  }
  for (const auto& entry : fs::recursive_directory_iterator(Folder() / "expected")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(files.count(entry.path()), 1u) << entry.path() << " has no program\n" << kRemedy;
  }
}

// Writes the reports of all programs and returns the process's exit code.
int Write(const fs::path& folder, bool in_full) {
  int exit_code = 0;
  for (const GoldenProgram& program : Programs()) {
    const auto text = Report(program, in_full ? KernelText::kAll : TextOf(program));
    if (!text.ok()) {
      std::cerr << program.path() << ": " << text.status() << "\n";
      exit_code = 1;
      continue;
    }
    const fs::path path = FileOf(folder, program);
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << *text;
  }
  return exit_code;
}

int Renew() {
  fs::remove_all(Folder() / "expected");
  return Write(Folder() / "expected", false);
}

}  // namespace
}  // namespace tartan::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--renew"}) return tartan::golden::Renew();
  if (words.size() == 2 && words[0] == "--write") return tartan::golden::Write(words[1], true);
  if (!words.empty()) {
    std::cerr << "golden_test [--renew | --write FOLDER | options of GoogleTest]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
