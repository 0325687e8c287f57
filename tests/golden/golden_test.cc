// SPDX-License-Identifier: Apache-2.0
// Compares the compiler's output for every golden program with the files in expected/. Options:
// `--renew` rewrites expected/, `--write FOLDER` writes full texts into a folder, `--show PROGRAM
// MACHINE` prints one. See README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/golden/machines.h"
#include "tests/golden/program_list.h"
#include "tests/golden/report.h"
#include "tile/base/status_macros.h"

namespace tartan::golden {
namespace {

namespace fs = std::filesystem;

constexpr char kRemedy[] =
    "If the change is meant: scripts/renew_golden.sh, and look at the difference in git.\n";

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

// Full text of a program for one machine, in a folder of such texts.
fs::path FullTextFile(const fs::path& folder, const GoldenProgram& program,
                      const std::string& machine) {
  return folder / program.family / program.name / (machine + ".txt");
}

// Folder of full texts beside the build: "passed" for those of the last run that passed, or
// "failed".
fs::path BuildFolder(const std::string& result) {
  const char* root = std::getenv("TARTAN_BINARY_DIR");
  return fs::path(root == nullptr ? "build" : root) / "golden" / result;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void WriteFile(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

// Compiles the program for all machines.
absl::StatusOr<std::vector<Output>> Compile(const GoldenProgram& program) {
  TARTAN_ASSIGN_OR_RETURN(const ir::Program bound, Bind(program));
  std::vector<Output> outputs;
  for (const Machine& machine : Machines()) {
    TARTAN_ASSIGN_OR_RETURN(Output output, CompileFor(bound, program, machine));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::string ExpectedText(const GoldenProgram& program, const std::vector<Output>& outputs) {
  std::string text = absl::StrCat(program.path(), "\n");
  for (const Output& output : outputs) absl::StrAppend(&text, "\n", Section(output, program));
  return text;
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

// Keeps the full texts of a program that passes, so that a later failure can show the difference.
void KeepPassed(const GoldenProgram& program, const std::vector<Output>& outputs) {
  for (const Output& output : outputs) {
    const fs::path file = FullTextFile(BuildFolder("passed"), program, output.machine);
    const std::string text = FullText(output, Costs::kHidden);
    if (ReadFile(file) != text) WriteFile(file, text);
    fs::remove(FullTextFile(BuildFolder("failed"), program, output.machine));
  }
}

// Writes the full text of a machine whose digest is not in the expected text. Returns where it is,
// and its first difference from the expected one if an earlier run has left that.
std::string ExplainFailure(const GoldenProgram& program, const Output& output,
                           const std::string& expected) {
  const std::string text = FullText(output, Costs::kHidden);
  if (absl::StrContains(expected, Digest(text))) return "";
  const fs::path failed = FullTextFile(BuildFolder("failed"), program, output.machine);
  const fs::path passed = FullTextFile(BuildFolder("passed"), program, output.machine);
  WriteFile(failed, text);
  const std::string earlier = ReadFile(passed);
  if (!absl::StrContains(expected, Digest(earlier))) {
    return absl::StrCat(output.machine, " in full: ", failed.string(),
                        "; for the text before the change, run golden_test without it first\n");
  }
  return absl::StrCat(output.machine, " in full: diff ", passed.string(), " ", failed.string(),
                      "\n", FirstDifference(text, earlier));
}

class GoldenTest : public testing::TestWithParam<GoldenProgram> {};

TEST_P(GoldenTest, CompilesToTheKernelsThatStandInItsFile) {
  const GoldenProgram& program = GetParam();
  const auto outputs = Compile(program);
  ASSERT_TRUE(outputs.ok()) << program.path() << ": " << outputs.status();
  const fs::path file = FileOf(Folder() / "expected", program);
  const std::string expected = ReadFile(file);
  const std::string difference = FirstDifference(ExpectedText(program, *outputs), expected);
  if (difference.empty()) return KeepPassed(program, *outputs);
  std::string explanation;
  for (const Output& output : *outputs) {
    absl::StrAppend(&explanation, ExplainFailure(program, output, expected));
  }
  ADD_FAILURE() << file.string() << ", " << difference << explanation << kRemedy;
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

// Calls `write` with each program and its outputs. Returns the process's exit code.
int ForEachProgram(
    const std::function<void(const GoldenProgram&, const std::vector<Output>&)>& write) {
  int exit_code = 0;
  for (const GoldenProgram& program : Programs()) {
    const auto outputs = Compile(program);
    if (outputs.ok()) {
      write(program, *outputs);
    } else {
      std::cerr << program.path() << ": " << outputs.status() << "\n";
      exit_code = 1;
    }
  }
  return exit_code;
}

int Renew() {
  const fs::path folder = Folder() / "expected";
  fs::remove_all(folder);
  return ForEachProgram([&](const GoldenProgram& program, const std::vector<Output>& outputs) {
    WriteFile(FileOf(folder, program), ExpectedText(program, outputs));
    KeepPassed(program, outputs);
  });
}

int Write(const fs::path& folder) {
  return ForEachProgram([&](const GoldenProgram& program, const std::vector<Output>& outputs) {
    for (const Output& output : outputs) {
      WriteFile(FullTextFile(folder, program, output.machine), FullText(output, Costs::kHidden));
    }
  });
}

int Show(const std::string& path, const std::string& machine) {
  for (const GoldenProgram& program : Programs()) {
    if (program.path() != path) continue;
    const auto outputs = Compile(program);
    if (!outputs.ok()) {
      std::cerr << path << ": " << outputs.status() << "\n";
      return 1;
    }
    for (const Output& output : *outputs) {
      if (output.machine != machine) continue;
      std::cout << FullText(output, Costs::kShown);
      return 0;
    }
  }
  std::cerr << "golden_test: no program " << path << " for a machine " << machine << "\n";
  return 2;
}

}  // namespace
}  // namespace tartan::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--renew"}) return tartan::golden::Renew();
  if (words.size() == 2 && words[0] == "--write") return tartan::golden::Write(words[1]);
  if (words.size() == 3 && words[0] == "--show") return tartan::golden::Show(words[1], words[2]);
  if (!words.empty()) {
    std::cerr << "golden_test [--renew | --write FOLDER | --show PROGRAM MACHINE | options of "
                 "GoogleTest]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
