// SPDX-License-Identifier: Apache-2.0
// Tests of resource limits: messages name a limit of the shell (ulimit), and limits of the command
// line are enforced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/frontend/cli/run_program.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::cli::process_limits_test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Program() {
  const char* build = std::getenv("TARTAN_BINARY_DIR");
  return absl::StrCat(build == nullptr ? "build" : build, "/tartan");
}

std::string Digits() { return SourcePath("examples/digits/digits.onnx"); }
std::string Seven() { return "x=@" + SourcePath("examples/digits/seven.png"); }

// Runs the program with `arguments` after the shell command `limit`.
ProgramResult With(const std::string& limit, const std::string& arguments) {
  return RunProgram({"/usr/bin/timeout", "-s", "KILL", "300", "bash", "-c",
                     absl::StrCat("ulimit -c 0; ", limit, "; exec ", Program(), " ", arguments)});
}

TEST(ProcessLimits, TooFewOpenFilesAreNamed) {
  for (const int files : {5, 8, 12}) {
    SCOPED_TRACE(files);
    const ProgramResult result = With(absl::StrCat("ulimit -n ", files), "devices");
    EXPECT_EQ(result.exit_code, 6);
    EXPECT_THAT(result.err,
                AllOf(HasSubstr(absl::StrCat(files, " may be open at once (ulimit -n)")),
                      HasSubstr("12 that are needed")));
  }
}

TEST(ProcessLimits, ALimitOnAddressesIsNamedWhereMemoryEnds) {
  const data::TestFolder folder;
  const std::string text =
      folder.Write("outer.tile", "function (A[N]) -> (B) { B[i, j: N, N] = =(A[i] * A[j]); }");
  // The result has 1,024,000,000 bytes.
  const ProgramResult result =
      With("ulimit -v 1000000",
           absl::StrCat("tile ", text, " --shape A=16000 --input A=ones --no-cache"));
  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("the address space is limited to 1024000000 bytes (ulimit -v)"));
  EXPECT_THAT(result.err, Not(HasSubstr("are free")));
}

TEST(ProcessLimits, ALimitOnFilesIsNamedWhereOneIsWritten) {
  const data::TestFolder folder;
  const std::string run = absl::StrCat("run ", Digits(), " --input ", Seven(), " --no-cache");
  for (const std::string tier : {"exact", "ready"}) {
    const ProgramResult result = With("ulimit -f 4", absl::StrCat(run, " --tier ", tier));
    EXPECT_EQ(result.exit_code, 6) << result.err;
    EXPECT_THAT(result.err, HasSubstr("no file may be larger than 4096 bytes (ulimit -f)"));
  }
  const std::string text = folder.Write("f.tile", "function (A[N]) -> (B) { B = A + 1; }");
  const ProgramResult written = With(
      "ulimit -f 1",
      absl::StrCat("tile ", text,
                   " --naive --input A=ones --shape A=1000 --output B=", folder.Path("b.npy")));
  EXPECT_EQ(written.exit_code, 6) << written.err;
  EXPECT_THAT(written.err, AllOf(HasSubstr("b.npy: cannot be written: no file may be larger than "
                                           "1024 bytes (ulimit -f)")));
}

// A stack of 64 KiB is sufficient for a run.
TEST(ProcessLimits, ASmallStackWillDo) {
  for (const int kib : {64, 256}) {
    const ProgramResult result =
        With(absl::StrCat("ulimit -s ", kib),
             absl::StrCat("run ", Digits(), " --input ", Seven(), " --no-cache --tier exact"));
    EXPECT_EQ(result.exit_code, 0) << kib << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr(" 0.999974 "));
  }
}

TEST(ProcessLimits, MaxTimeEndsWhatWouldTakeLonger) {
  const auto before = std::chrono::steady_clock::now();
  const ProgramResult result =
      RunTartan({"bench", Digits(), "--time", "3600", "--max-time", "0.5"});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("tartan: the time is up (--max-time 0.5)\n"));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(1));
  EXPECT_EQ(RunTartan({"cache", "--max-time", "600"}).exit_code, 0);
}

TEST(ProcessLimits, MaxMemoryBoundsTheProcess) {
  const data::TestFolder folder;
  const std::string text =
      folder.Write("outer.tile", "function (A[N]) -> (B) { B[i, j: N, N] = =(A[i] * A[j]); }");
  for (const auto& [size, code] : {std::pair("300M", 7), std::pair("2G", 0)}) {
    const ProgramResult result = RunTartan({"tile", text, "--shape", "A=8000", "--input", "A=ones",
                                            "--max-memory", size, "--tier", "ready"});
    EXPECT_EQ(result.exit_code, code) << result.err;
    if (code != 0) {
      EXPECT_THAT(result.err,
                  AnyOf(HasSubstr("256000000 bytes"), HasSubstr("limited to 314572800")));
    }
  }
  const ProgramResult little = RunTartan({"devices", "--max-memory", "50M"});
  EXPECT_EQ(little.exit_code, 7);
  EXPECT_THAT(little.err, HasSubstr("memory"));
}

TEST(ProcessLimits, MaxFileSizeBoundsWhatIsReadAndUnpacked) {
  const data::TestFolder folder;
  const auto zeros =
      data::Tensor<float>(DataType::kFloat32, {1, 1 << 24}, std::vector<float>(size_t{1} << 24));
  const std::string bomb =
      folder.Write("bomb.npz", data::Zip({{"x.npy", data::Npy(zeros), /*deflate=*/true}}));
  ASSERT_LT(std::filesystem::file_size(bomb), 1 << 20);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"inspect", Digits(), "--max-file-size", "1K"}, "digits.onnx: "},
      {{"run", Digits(), "--input", Seven(), "--max-file-size", "100"}, "digits.onnx: "},
      {{"train", Digits(), "--data", bomb, "--max-file-size", "10M"},
       "67108992 bytes are more than the 10485760"},
      {{"quantize", Digits(), "--weights", "int8", "-o", folder.Path("q.onnx"), "--calibrate", bomb,
        "--max-file-size", "10M"},
       "67108992 bytes are more than the 10485760"}};
  for (const auto& [arguments, message] : cases) {
    const ProgramResult result = RunTartan(arguments);
    EXPECT_EQ(result.exit_code, 6) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(message), HasSubstr("--max-file-size")));
    EXPECT_THAT(result.out, IsEmpty());
  }
  // The size of a pipe is unknown until it is read.
  const ProgramResult piped = With("true", "tile <(yes | head -c 100000) --max-file-size 1K");
  EXPECT_EQ(piped.exit_code, 6);
  EXPECT_THAT(piped.err, HasSubstr("--max-file-size"));
}

}  // namespace
}  // namespace tartan::cli::process_limits_test
