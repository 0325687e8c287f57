// SPDX-License-Identifier: Apache-2.0
// Tests of `tartan generate`: its output and its messages.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli::generate_command_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kPrompt[] = "3,14,15,9,2,6";

std::string Model(const std::string& name) {
  return SourcePath(absl::StrCat("tests/frontend/generate/data/", name, ".onnx"));
}

ProgramResult Generate(const std::string& model, std::vector<std::string> more,
                       const ProgramOptions& options = {}) {
  std::vector<std::string> arguments = {"generate", Model(model), "--tier", "ready"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunTartan(arguments, options);
}

proto::GenerateReport Report(const ProgramResult& result) {
  proto::GenerateReport report;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  return report;
}

// Provides a tokenizer of 61 one-character tokens, the last of which ends a text.
class GenerateCommand : public ::testing::Test {
 protected:
  // Its normalizer expands one letter to 2^40 letters.
  std::string Growing() const {
    const std::string twice = R"({"type": "Replace", "pattern": {"String": "A"}, "content": "AA"})";
    std::string steps = twice;
    for (int i = 1; i < 40; ++i) absl::StrAppend(&steps, ", ", twice);
    return Write("growing.json",
                 absl::StrCat(R"({"normalizer": {"type": "Sequence", "normalizers": [)", steps,
                              R"(]}, "model": {"type": "BPE", "vocab": {"A": 0}, "merges": []}})"));
  }
  std::string Tokenizer() const {
    std::string vocabulary;
    for (int i = 0; i < 60; ++i) {
      absl::StrAppend(&vocabulary, "\"",
                      std::string(1, static_cast<char>('A' + i == '\\' ? '!' : 'A' + i)), "\": ", i,
                      ", ");
    }
    return Write(
        "tokenizer.json",
        absl::StrCat(R"({"decoder": {"type": "Fuse"}, "added_tokens": [{"id": 60, "content":
                 "</s>", "special": true, "normalized": false}], "model": {"type": "BPE", "vocab": {)",
                     vocabulary.substr(0, vocabulary.size() - 2), R"(}, "merges": []}})"));
  }
  std::string Write(const std::string& name, const std::string& contents) const {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(WriteFile(path, contents).ok());
    return path;
  }

 private:
  const TemporaryDirectory folder_;
};

TEST_F(GenerateCommand, PrintsTokens) {
  const ProgramResult text = Generate("masked", {"--tokens", kPrompt, "--max", "5"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "21 52 2 36 7\n");
  EXPECT_THAT(text.err, AllOf(HasSubstr("6 tokens read"), HasSubstr("on the device")));
  const proto::GenerateReport report =
      Report(Generate("masked", {"--tokens", kPrompt, "--max", "5", "--format", "json"}));
  EXPECT_THAT(report.tokens(), ElementsAre(21, 52, 2, 36, 7));
  EXPECT_THAT(report.prompt_tokens(), SizeIs(6));
  EXPECT_EQ(report.finish(), "length");
  EXPECT_EQ(report.cache(), "in place");
  EXPECT_EQ(report.text(), "");
  EXPECT_GT(report.prefill_ms(), 0);
  EXPECT_GT(report.token_ms(), 0);
  EXPECT_GT(report.tokens_per_second(), 0);
}

TEST_F(GenerateCommand, PrintsTextUntilATokenEndsIt) {
  // Token i is the i-th letter after A. The 24th generated token ends the text.
  const proto::GenerateReport report =
      Report(Generate("masked", {"--tokenizer", Tokenizer(), "--prompt", "DOPJCG", "--max", "40",
                                 "--format", "json"}));
  EXPECT_THAT(report.prompt_tokens(), ElementsAre(3, 14, 15, 9, 2, 6));
  EXPECT_THAT(report.tokens(), SizeIs(23));
  EXPECT_THAT(report.text(), AllOf(StartsWith("VuCeH"), SizeIs(23)));
  EXPECT_EQ(report.finish(), "stop");
}

TEST_F(GenerateCommand, DrawsTheSameWithTheSameSeed) {
  const auto draw = [&](const std::string& seed) {
    return Generate("plain", {"--tokens", kPrompt, "--max", "12", "--temperature", "2", "--top-k",
                              "20", "--top-p", "0.95", "--seed", seed})
        .out;
  };
  const std::string first = draw("7");
  EXPECT_EQ(first, draw("7"));
  EXPECT_NE(first, draw("8"));
}

TEST_F(GenerateCommand, EveryKindOfModelGenerates) {
  EXPECT_EQ(Generate("joint", {"--tokens", kPrompt, "--max", "4"}).out, "30 48 58 44\n");
  EXPECT_EQ(Generate("whole", {"--tokens", kPrompt, "--max", "4"}).out, "42 27 13 51\n");
  EXPECT_EQ(Generate("recurrent", {"--tokens", kPrompt, "--max", "4", "--state", "h_out=h_in"}).out,
            "36 56 12 36\n");
}

TEST_F(GenerateCommand, PositionsThatEndLoseNothing) {
  std::string prompt = "1";
  for (int i = 0; i < 93; ++i) prompt += ",1";
  const ProgramResult result =
      Generate("masked", {"--tokens", prompt, "--max", "20", "--format", "json"});
  const proto::GenerateReport report = Report(result);
  EXPECT_EQ(report.finish(), "positions");
  EXPECT_EQ(report.tokens_size(), 3);  // two are read, and the second yields the third
  EXPECT_THAT(result.err, HasSubstr("out of range"));
}

TEST_F(GenerateCommand, AnInterruptEndsWithWhatThereIs) {
  ProgramOptions options;
  options.interrupt_signal = SIGINT;
  options.interrupt_at = "not appended";
  const ProgramResult result =
      Generate("sliced", {"--tokens", kPrompt, "--max", "80", "-v", "--format", "json"}, options);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  proto::GenerateReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok()) << result.out;
  EXPECT_EQ(report.finish(), "interrupted");
}

TEST_F(GenerateCommand, AGoneReaderEndsItAtOnce) {
  ProgramOptions gone;
  gone.close_stdout = true;
  const ProgramResult result = Generate("masked", {"--tokens", kPrompt, "--max", "80"}, gone);
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the reader of standard output has gone away"));
  EXPECT_THAT(result.err, Not(HasSubstr("generated")));
}

// The first process runs ready (dynamic-shape) kernels. A later one reads prompts in chunks with
// exact (shape-specialised) kernels, once these are compiled and verified.
TEST_F(GenerateCommand, PromptsComeToBeReadInChunks) {
  const TemporaryDirectory cache;
  ProgramOptions own;
  own.environment = {"TARTAN_CACHE_DIR=" + cache.path()};
  std::string prompt = "3";
  for (int i = 1; i < 20; ++i) absl::StrAppend(&prompt, ",", i * i % 61);
  const auto run = [&] {
    return RunTartan({"generate", Model("rotary"), "--tokens", prompt, "--max", "80", "-v"}, own);
  };
  const ProgramResult first = run();
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, Not(HasSubstr("in chunks")));
  constexpr int kMaxRuns = 5;  // a run may end before the background starts
  ProgramResult last;
  for (int i = 0; i < kMaxRuns && !absl::StrContains(last.err, "in chunks"); ++i) {
    last = run();
    EXPECT_EQ(last.out, first.out);
  }
  EXPECT_THAT(last.err, HasSubstr("19 tokens of the prompt were read in chunks"));
}

TEST_F(GenerateCommand, SaysWhatIsWrong) {
  struct Bad {
    std::vector<std::string> arguments;
    int code;
    std::string message;
  };
  const std::string broken = Write("broken.json", "{\"model\": ");
  const std::string unigram = Write("unigram.json", R"({"model": {"type": "Unigram"}})");
  const std::vector<Bad> cases = {
      {{}, 2, "--prompt"},
      {{"--prompt", "A"}, 2, "--tokenizer"},
      {{"--tokens", "1", "--prompt", "A"}, 2, "either"},
      {{"--tokens", "1,61"}, 2, "token 61 of the prompt is outside the model's vocabulary of 61"},
      {{"--tokens", "1,-1"}, 2, "-1"},
      {{"--tokens", "1", "--top-p", "1.5"}, 2, "--top-p"},
      {{"--tokens", "1", "--max", "0"}, 2, "--max"},
      {{"--tokens", "1", "--state", "a=past_key_values.0.key"}, 2, "present.0.key"},
      {{"--tokens", "1", "--state", "present.0.key=b"}, 2, "past_key_values.0.key"},
      {{"--tokens", "1", "--state", "present.0.key"}, 2, "PRESENT=PAST"},
      {{"--tokens", "1", "--tokenizer", "/nothing.json"}, 6, "/nothing.json"},
      {{"--tokens", "1", "--tokenizer", broken}, 3, "line 1, column 11"},
      {{"--tokens", "1", "--tokenizer", unigram}, 3, "Unigram"},
      {{"--prompt", "\xFF", "--tokenizer", Tokenizer()}, 2, "UTF-8"},
      {{"--prompt", "AB", "--tokenizer", Growing()}, 3, "bytes from a text of 2"},
  };
  for (const Bad& bad : cases) {
    const ProgramResult result = Generate("masked", bad.arguments);
    EXPECT_EQ(result.exit_code, bad.code) << ::testing::PrintToString(bad.arguments);
    EXPECT_THAT(result.err, HasSubstr(bad.message));
    EXPECT_EQ(result.out, "");
  }
  std::string many = "1";
  for (int i = 0; i < 96; ++i) many += ",1";
  const ProgramResult longer = Generate("masked", {"--tokens", many});
  EXPECT_EQ(longer.exit_code, 3);
  EXPECT_THAT(longer.err, HasSubstr("index 96 is out of range"));
}

}  // namespace
}  // namespace tartan::cli::generate_command_test
