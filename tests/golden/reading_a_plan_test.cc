// SPDX-License-Identifier: Apache-2.0
// Compares the plans that docs/READING_A_PLAN.md quotes, costs included, with the compiler's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/golden/machines.h"
#include "tests/golden/program_list.h"
#include "tests/golden/report.h"

namespace tartan::golden {
namespace {

using ::testing::IsEmpty;

std::string SourceFolder() {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  return root == nullptr ? "." : root;
}

// A text with one space between its words, whatever its lines.
std::string OneLine(absl::string_view text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

// Indented lines, and the program and machine that the text before them names.
struct Quotation {
  std::string program;
  std::string machine;
  std::string text;
};

std::vector<Quotation> QuotationsOf(const std::string& path) {
  std::ifstream stream(path);
  std::vector<Quotation> quotations;
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" `"));
    const auto option = std::find(words.begin(), words.end(), "--show");
    if (words.end() - option > 2 && option[1] != "PROGRAM") {
      quotations.push_back({option[1], option[2], ""});
    }
    if (absl::StartsWith(line, "    ") && !quotations.empty()) {
      absl::StrAppend(&quotations.back().text, line, "\n");
    }
  }
  return quotations;
}

std::string TextOf(const std::vector<GoldenProgram>& programs, const Quotation& quotation) {
  for (const GoldenProgram& program : programs) {
    if (program.path() != quotation.program) continue;
    const auto bound = Bind(program);
    for (const Machine& machine : Machines()) {
      if (machine.name != quotation.machine || !bound.ok()) continue;
      const auto output = CompileFor(*bound, program, machine);
      if (output.ok()) return FullText(*output, Costs::kShown);
    }
  }
  return "";
}

TEST(ReadingAPlan, QuotesPlansAndCostsAsTheyAre) {
  const auto programs = ReadPrograms(SourceFolder() + "/tests/golden/programs");
  ASSERT_TRUE(programs.ok()) << programs.status();
  std::vector<std::string> missing;
  int found = 0;
  for (const Quotation& quotation : QuotationsOf(SourceFolder() + "/docs/READING_A_PLAN.md")) {
    const std::string text = OneLine(TextOf(*programs, quotation));
    for (const absl::string_view part : absl::StrSplit(quotation.text, "…")) {
      ++found;
      if (absl::StrContains(text, OneLine(part))) continue;
      missing.push_back(absl::StrCat(quotation.program, ": ", OneLine(part)));
    }
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GE(found, 6);
}

}  // namespace
}  // namespace tartan::golden
