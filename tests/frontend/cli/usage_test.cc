// SPDX-License-Identifier: Apache-2.0
// Tests of user input: option values, names, and unsuitable files.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "frontend/cli/file_io.h"
#include "proto/report.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::cli::usage_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Digits() { return SourcePath("examples/digits/digits.onnx"); }

void ExpectUsage(const std::vector<std::string>& arguments, const std::string& message) {
  const ProgramResult result = RunTartan(arguments);
  EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments) << result.err;
  EXPECT_THAT(result.err, AllOf(StartsWith("tartan: "), HasSubstr(message)));
  EXPECT_THAT(result.out, IsEmpty());
}

// Provides a file that is removed after the test.
class Usage : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Write(const std::string& name, const std::string& contents) const {
    EXPECT_TRUE(WriteFile(Path(name), contents).ok());
    return Path(name);
  }

 private:
  const TemporaryDirectory folder_;
};

TEST_F(Usage, NumbersOfOptionsAreChecked) {
  const std::vector<std::vector<std::string>> whole = {
      {"bench", Digits(), "--warmup"},
      {"bench", Digits(), "--count"},
      {"bench", Digits(), "--batch"},
      {"bench", Digits(), "--threads"},
      {"tune", Digits(), "--batch"},
      {"tune", Digits(), "--top"},
      {"tune", Digits(), "--count"},
      {"run", Digits(), "--topk"},
      {"verify", "/nothing", "--jobs"},
      {"bench", "op", "matmul:m8n8k8", "--count"},
      {"bench", "op", "matmul:m8n8k8", "--threads"}};
  const std::vector<std::vector<std::string>> real = {{"bench", Digits(), "--time"},
                                                      {"tune", Digits(), "--time"},
                                                      {"verify", "/nothing", "--rtol"},
                                                      {"verify", "/nothing", "--atol"},
                                                      {"tile", "/nothing", "--rtol"},
                                                      {"tile", "/nothing", "--atol"},
                                                      {"bench", "op", "matmul:m8n8k8", "--time"},
                                                      {"cache", "prune", "--limit"}};
  const auto refuses = [](std::vector<std::string> arguments, const std::string& value) {
    const std::string option = arguments.back();
    arguments.push_back(value);
    ExpectUsage(arguments, absl::StrCat(option, ": '", value, "' is not a "));
  };
  for (const auto& arguments : whole) {
    for (const char* value : {"nan", "-1", "1.5", "1x", "99999999999999999999"}) {
      refuses(arguments, value);
    }
  }
  for (const auto& arguments : real) {
    for (const char* value : {"nan", "inf", "-1", "1x", "1e999"}) refuses(arguments, value);
  }
}

TEST_F(Usage, ListsHaveNoEmptyParts) {
  for (const char* list : {"1,,2", "1,", ",1", "1, 2", "1,nan"}) {
    ExpectUsage({"bench", Digits(), "--batch", list}, "--batch");
  }
  ExpectUsage({"bench", "op", "matmul:m8n8k8", "--against", "copy,"}, "'copy,' has an empty part");
  ExpectUsage({"bench", "op", "matmul:m8n8k8", "--against", "cpoy"}, "'cpoy' is not an engine");
}

TEST_F(Usage, AWordAfterACommandIsNoCommand) {
  ProgramOptions own;
  own.environment = {"TARTAN_CACHE_DIR=" + Path("cache")};
  for (const std::string action : {"show", "verify", "prune", "clear"}) {
    const auto result = RunTartan({"cache", action, "--format", "json"}, own);
    EXPECT_EQ(result.exit_code, 0) << action << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"entries\":"));
  }
  EXPECT_EQ(RunTartan({"run", "bench"}).exit_code, 6);
  EXPECT_EQ(RunTartan({"verify", "tile"}).exit_code, 6);
  ExpectUsage({"run", Digits(), "bench"}, "bench");
  ExpectUsage({"cache", "clear", "--limit", "1"}, "--limit belongs to prune");
}

TEST_F(Usage, PruningByNoNumberLeavesTheCacheAlone) {
  ProgramOptions own;
  own.environment = {"TARTAN_CACHE_DIR=" + Path("cache")};
  ASSERT_EQ(RunTartan({"run", Digits(), "--random", "--tier", "exact"}, own).exit_code, 0);
  const std::string before = RunTartan({"cache", "--format", "json"}, own).out;
  EXPECT_EQ(RunTartan({"cache", "prune", "--limit", "nan"}, own).exit_code, 2);
  EXPECT_EQ(RunTartan({"cache", "--format", "json"}, own).out, before);
  EXPECT_THAT(before, Not(HasSubstr("\"entries\": 0")));
}

TEST_F(Usage, OpenSizesAreOneForEveryCommandAndToldSo) {
  const std::string note =
      "open sizes are taken as 1: x: float32[1, 1, 28, 28]; give other sizes with --shape, for "
      "example --shape x=1x1x28x28\n";
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", Digits(), "--random"},
                                             {"inspect", Digits()},
                                             {"bench", Digits(), "--count", "1"}}) {
    const auto result = RunTartan(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, note);
  }
  EXPECT_THAT(RunTartan({"run", Digits(), "--random", "--quiet"}).err, IsEmpty());
  EXPECT_THAT(RunTartan({"run", Digits(), "--random", "--shape", "x=2x1x28x28"}).err, IsEmpty());
}

TEST_F(Usage, AWordThatIsNoCommandListsTheCommands) {
  ExpectUsage({"frobnicate"},
              "there is no command 'frobnicate'; the commands are devices, inspect,");
  ExpectUsage({"frobnicate", "--random", "3"},
              "generate, quantize, grad-check, plan-cluster, cache");
  ExpectUsage({"model.onnx"}, "as in tartan run model.onnx");
  EXPECT_THAT(RunTartan({"frobnicate"}).err, Not(HasSubstr("compile-kernels")));
  ExpectUsage({"--frobnicate", "3"}, "--frobnicate");
}

// x[batch, 1, height, width]: a window of 3 does not fit a size that defaults to 1.
TEST_F(Usage, SizesThatWereTakenAs1AreToldWhereAWindowDoesNotFit) {
  const std::string model = Write(
      "pool.onnx",
      onnx::ModelBytes(absl::StrCat(
          "graph { name: 'pool' ", onnx::ValueText("input", "x", 1, "batch 1 height width"),
          onnx::ValueText("output", "y", 1, "batch 1 h w"),
          " node { op_type: 'MaxPool' input: 'x' output: 'y' attribute { name: 'kernel_shape' "
          "type: INTS ints: 3 ints: 3 } } }")));
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", model, "--random"}, {"bench", model}}) {
    const ProgramResult result = RunTartan(command);
    EXPECT_EQ(result.exit_code, 3) << result.err;
    const size_t error = result.err.find("tartan: ");
    ASSERT_NE(error, std::string::npos);
    EXPECT_THAT(result.err.substr(error),
                AllOf(HasSubstr("taken as 1"), HasSubstr("--shape x=1x1x64x64")));
  }
  const ProgramResult given = RunTartan({"run", model, "--random", "--shape", "height=5", "--shape",
                                         "width=7", "--shape", "batch=2", "--format", "json"});
  ASSERT_EQ(given.exit_code, 0) << given.err;
  EXPECT_THAT(given.err, IsEmpty());
  proto::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(given.out, &report).ok());
  EXPECT_THAT(report.outputs(0).shape(), ::testing::ElementsAre(2, 1, 3, 5));
  for (const char* command : {"bench", "inspect"}) {
    const ProgramResult named =
        RunTartan({command, model, "--shape", "height=5", "--shape", "width=7"});
    EXPECT_EQ(named.exit_code, 0) << named.err;
  }
  ExpectUsage({"run", model, "--random", "--shape", "depth=5"}, "there is no input or open size");
  ExpectUsage({"run", model, "--random", "--shape", "height=5x2"},
              "'height' names a size: give one number");
  ExpectUsage({"run", model, "--random", "--shape", "x=1x1x5x5", "--shape", "height=6"},
              "--shape height=6 contradicts");
}

TEST_F(Usage, OutputsAreComparedWithExpectedOnes) {
  const auto write = [&](const std::string& name, const HostTensor& tensor) {
    EXPECT_TRUE(WriteTensor(Path(name), "y", tensor).ok());
    return "scores=@" + Path(name);
  };
  const std::vector<std::string> run = {"run", Digits(), "--input",
                                        "x=@" + SourcePath("examples/digits/seven.png")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return RunTartan(more);
  };
  ASSERT_EQ(with({"--output", "scores=" + Path("scores.npy")}).exit_code, 0);
  const auto scores = ReadTensor(Path("scores.npy"));
  ASSERT_TRUE(scores.ok());
  std::vector<double> values = scores->ToDoubles();
  const TensorShape wide = {DataType::kFloat64, scores->shape().dims};
  const std::string same = write("same.npy", HostTensor::FromVector(wide, values));
  values[3] += 0.5;
  const std::string other = write("other.pb", HostTensor::FromVector(wide, values));
  const std::string shorter = write("short.npy", HostTensor::Zeros({DataType::kFloat32, {1, 9}}));

  const ProgramResult equal = with({"--expect", same});
  EXPECT_EQ(equal.exit_code, 0) << equal.err;
  EXPECT_THAT(equal.out, HasSubstr("pass"));
  EXPECT_THAT(equal.out, HasSubstr("compared as float64"));
  const ProgramResult differs = with({"--expect", other, "--format", "json"});
  EXPECT_EQ(differs.exit_code, 1) << differs.err;
  proto::RunReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(differs.out, &report).ok());
  ASSERT_EQ(report.comparisons_size(), 1);
  EXPECT_EQ(report.comparisons(0).output(), "scores");
  EXPECT_EQ(report.comparisons(0).status(), "fail");
  EXPECT_THAT(report.comparisons(0).message(),
              HasSubstr("1 of 10 elements differ, first at [0, 3]"));
  EXPECT_NEAR(report.comparisons(0).max_abs_error(), 0.5, 1e-6);
  EXPECT_EQ(with({"--expect", other, "--atol", "0.6"}).exit_code, 0);
  EXPECT_EQ(with({"--expect", other, "--rtol", "0", "--atol", "0.4"}).exit_code, 1);
  EXPECT_THAT(with({"--expect", shorter}).out, HasSubstr("is float32[1, 10], expected"));
  EXPECT_EQ(with({"--expect", shorter}).exit_code, 1);
  EXPECT_EQ(with({"--expect", "y=@" + Path("same.npy")}).exit_code, 2);
  EXPECT_EQ(with({"--expect", same, "--expect", other}).exit_code, 2);
  EXPECT_EQ(with({"--rtol", "1"}).exit_code, 2);
  EXPECT_EQ(with({"--expect", "scores=@/missing.npy"}).exit_code, 6);
}

TEST_F(Usage, OneOutputMayBeWrittenToSeveralFilesButNotSeveralToOne) {
  const auto result = RunTartan({"run", Digits(), "--random", "--output", "scores=" + Path("a.npy"),
                                 "--output", "scores=" + Path("b.pb")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto a = ReadTensor(Path("a.npy"));
  const auto b = ReadTensor(Path("b.pb"));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->bytes(), b->bytes());
  ExpectUsage({"run", Digits(), "--random", "--output", "scores=" + Path("a.npy"), "--output",
               "scores=" + Path("./a.npy")},
              "is the file of another --output");
}

TEST_F(Usage, ResultsThatCannotBeWrittenEndWith6) {
  ProgramOptions full;
  full.stdout_path = "/dev/full";
  const std::string tile = Write("one.tile", "function (A[N]) -> (B) { B = A + A; }");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"},
           {"--version"},
           {"run", "--help"},
           {"bench", "op", "--help"},
           {"devices"},
           {"devices", "--format", "json"},
           {"inspect", Digits(), "--quiet"},
           {"run", Digits(), "--random", "--quiet"},
           {"run", Digits(), "--random", "--quiet", "--format", "json"},
           {"bench", Digits(), "--count", "1", "--quiet"},
           {"tile", tile, "--input", "A=1", "--shape", "A=3"},
           {"cache"}}) {
    const auto result = RunTartan(arguments, full);
    EXPECT_EQ(result.exit_code, 6) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("tartan: standard output cannot be written"));
  }
}

TEST_F(Usage, FilesThatNeverEndAreRefused) {
  for (const char* file : {"/dev/zero", "/dev/urandom"}) {
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"tile", file},
             {"run", file},
             {"inspect", file},
             {"run", Digits(), "--random", "--labels", file, "--topk", "1"}}) {
      const auto result = RunTartan(arguments);
      EXPECT_EQ(result.exit_code, 6) << ::testing::PrintToString(arguments) << result.err;
      EXPECT_THAT(result.err, HasSubstr(file));
    }
  }
}

TEST_F(Usage, TileTextMayComeFromAPipe) {
  Write("one.tile", "function (A[N]) -> (B) { B = A + 1; }");
  const std::string tartan = std::string(std::getenv("TARTAN_BINARY_DIR")) + "/tartan";
  const std::string command = absl::StrCat("cat ", Path("one.tile"), " | ", tartan,
                                           " tile - --input A=2 --shape A=3 --naive");
  const auto result = RunProgram({"/bin/sh", "-c", command});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("B: float32[3]\n  3 3 3\n"));
}

TEST_F(Usage, AFileOpenedLaterDoesNotTakeThePlaceOfAClosedStdout) {
  const std::string tartan = std::string(std::getenv("TARTAN_BINARY_DIR")) + "/tartan";
  const auto result = RunProgram({"/bin/sh", "-c", tartan + " devices >&-"});
  EXPECT_EQ(result.exit_code, 6);
}

// The model y = -x, whose result names contain terminal escape codes, and one contains '='.
std::string HostileModel() {
  return onnx::ModelBytes(
      absl::StrCat(R"(graph { name: "g")", onnx::ValueText("input", R"(x\033[2J\n=a)", 1, "2"),
                   onnx::ValueText("output", R"(y\033]0;title\007=b)", 1, "2"),
                   R"(node { name: "n\033[31m\nerror" op_type: "Neg" input: "x\033[2J\n=a"
         output: "y\033]0;title\007=b" } })"));
}

TEST_F(Usage, NamesDoNotReachTheTerminalAsControlSequences) {
  const std::string model = Write("model.onnx", HostileModel());
  const std::string labels = Write("labels\x1b[31m.txt", "a\x1b[2J\nb\n");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"run", model, "--random"},
           {"run", model, "--random", "--topk", "1", "--labels", labels},
           {"run", model},
           {"run", model, "--input", "y\x1b[2J=1"},
           {"run", model, "--shape", "x\x1b[2J\n=a=3"},
           {"run", Path("no\x1b[2J.onnx")},
           {"run", "--frob\x1b[2J"},
           {"inspect", model},
           {"bench", model, "--count", "1", "--profile"},
           {"tile", model},
           {"--device", "\x1b[2J", "run", model, "--random"},
           {"-v", "run", model, "--random", "--no-cache"}}) {
    const auto result = RunTartan(arguments);
    EXPECT_EQ(result.out.find('\x1b'), std::string::npos) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.err.find('\x1b'), std::string::npos) << ::testing::PrintToString(arguments);
    EXPECT_EQ(result.out.find('\a'), std::string::npos);
    EXPECT_EQ(result.out.find("\nerror"), std::string::npos);
  }
}

TEST_F(Usage, ATensorThatIsTooLargeIsNamed) {
  const std::string model =
      Write("model.onnx",
            onnx::ModelBytes(absl::StrCat(
                R"(graph { name: "g")", onnx::ValueText("input", "x", 1, "1"),
                onnx::ValueText("output", "y", 1, "n m"),
                R"(initializer { name: "s" dims: 2 data_type: 7 int64_data: [4194304, 4194304] }
             node { name: "Grow" op_type: "Expand" input: "x" input: "s" output: "y" } })")));
  const auto result = RunTartan({"run", model, "--random"});
  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("Grow"), HasSubstr("float32[4194304, 4194304]")));
}

TEST_F(Usage, NamesWithEqualSignsAreFound) {
  const std::string model =
      Write("model.onnx",
            onnx::ModelBytes(absl::StrCat(
                R"(graph { name: "g")", onnx::ValueText("input", "x", 1, "2"),
                onnx::ValueText("input", "x=1", 1, "2"), onnx::ValueText("output", "y=z", 1, "2"),
                R"(node { op_type: "Sub" input: "x" input: "x=1" output: "y=z" } })")));
  const auto result = RunTartan(
      {"run", model, "--input", "x=5", "--input", "x=1=2", "--output", "y=z=" + Path("y.npy")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto y = ReadTensor(Path("y.npy"));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->GetDouble(0), 3);
}

TEST_F(Usage, BytesThatAreNoUtf8MakeNoBrokenJson) {
  const std::string model = Write("caf\xe9.onnx", HostileModel());
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", model, "--random", "--format", "json"},
                                             {"inspect", model, "--format", "json"}}) {
    const auto result = RunTartan(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, IsEmpty());
    EXPECT_THAT(result.out, HasSubstr("caf\\\\xe9.onnx"));
  }
}

TEST_F(Usage, TheFirstAnswerIsTimedAsAClockOnTheWallDoes) {
  ProgramOptions own;
  own.environment = {"TARTAN_CACHE_DIR=" + Path("cache"), "POCL_CACHE_DIR=" + Path("pocl")};
  std::filesystem::create_directory(Path("pocl"));
  RunTartan({"devices"}, own);
  for (const bool is_cold : {true, false}) {
    const auto start = std::chrono::steady_clock::now();
    const auto result =
        RunTartan({"run", Digits(), "--random", "--quiet", "--format", "json"}, own);
    const double wall_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    proto::RunReport report;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(result.out, &report).ok());
    EXPECT_LE(report.first_answer_ms(), wall_ms);
    EXPECT_GE(report.first_answer_ms(), report.load_ms() + report.bind_ms() + report.compile_ms() +
                                            report.setup_ms() + report.first_ms());
    // The wall time also includes the second run and the start and end of the process.
    if (is_cold) {
      EXPECT_GE(report.first_answer_ms(), 0.5 * wall_ms);
    }
  }
}

}  // namespace
}  // namespace tartan::cli::usage_test
