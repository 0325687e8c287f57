// SPDX-License-Identifier: Apache-2.0
// Tests of the program without enough memory, without a home folder and without writable folders.
// Cases that take longer than seconds are in scripts/torture_cache.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Program() {
  const char* build = std::getenv("TARTAN_BINARY_DIR");
  return absl::StrCat(build == nullptr ? "build" : build, "/tartan");
}

std::string RunDigits() {
  return absl::StrCat(Program(), " run ", SourcePath("examples/digits/digits.onnx"), " --input x=@",
                      SourcePath("examples/digits/seven.png"));
}

// Runs a shell command; a timeout of two minutes turns a hang into a failure.
ProgramResult Shell(const std::string& command, const std::vector<std::string>& environment = {}) {
  ProgramOptions options;
  options.environment = environment;
  return RunProgram(
      {"/usr/bin/timeout", "-s", "KILL", "120", "sh", "-c", "ulimit -c 0; " + command}, options);
}

int FilesIn(const std::string& directory) {
  int count = 0;
  for (const auto& file : fs::directory_iterator(directory)) count += fs::exists(file) ? 1 : 0;
  return count;
}

// The driver may fail to load, find no device, abort, throw or fail an assertion. From 390 MB on,
// some drivers have enough memory.
TEST(HostileMachine, TooLittleMemoryEndsWith7) {
  for (const int mb : {60, 150, 230, 255, 280, 330, 360, 390, 420}) {
    SCOPED_TRACE(absl::StrCat(mb, " MB"));
    const ProgramResult result = Shell(
        absl::StrCat("ulimit -v ", mb * 1000, "; exec ", RunDigits(), " --no-cache --tier exact"));
    if (mb >= 390 && result.exit_code == 0) {
      EXPECT_THAT(result.out, HasSubstr(" 0.999869 "));
      continue;
    }
    EXPECT_EQ(result.exit_code, 7) << result.err;
    EXPECT_THAT(result.err, HasSubstr("memory"));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(HostileMachine, EveryHomeWillDo) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "text";
  for (const std::string home : {"-u HOME", "HOME=/proc", "HOME=/dev/null", "HOME=/no/home"}) {
    SCOPED_TRACE(home);
    const ProgramResult result =
        Shell(absl::StrCat("exec env -u TARTAN_CACHE_DIR -u XDG_CACHE_HOME -u POCL_CACHE_DIR ",
                           home, " TMPDIR=", directory.path(), " ", Program(), " devices"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  for (const std::string variable : {"TARTAN_CACHE_DIR", "POCL_CACHE_DIR", "TMPDIR"}) {
    SCOPED_TRACE(variable);
    const ProgramResult result =
        Shell(absl::StrCat("exec ", Program(), " devices"), {variable + "=" + file});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST(HostileMachine, NothingIsLeftOfARunWithoutACache) {
  const TemporaryDirectory directory;
  const ProgramResult result =
      Shell(absl::StrCat("exec env -u TARTAN_CACHE_DIR -u POCL_CACHE_DIR -u XDG_CACHE_HOME ",
                         Program(), " devices --no-cache"),
            {"TMPDIR=" + directory.path(), "HOME=" + directory.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  fs::remove_all(directory.path() + "/.nv");  // NVIDIA's driver stores its own cache there
  EXPECT_EQ(FilesIn(directory.path()), 0);
}

TEST(HostileMachine, ADriverThatCannotBeLoadedIsNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/some.icd") << "libnot-there.so.1\n";
  const ProgramResult result =
      Shell(absl::StrCat("exec ", Program(), " devices"), {"OCL_ICD_VENDORS=" + directory.path()});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("libnot-there.so.1 cannot be loaded"));
}

TEST(HostileMachine, CacheClearDeletesWhatAKilledRunLeft) {
  const TemporaryDirectory directory;
  const std::string left = directory.path() + "/tartan-scratch-abcdef";
  fs::create_directories(left + "/programs/AB");
  std::ofstream(left + "/lock") << "";
  std::ofstream(left + "/programs/AB/program.bc") << "text";
  const ProgramResult result = Shell(absl::StrCat("exec ", Program(), " cache clear"),
                                     {"TARTAN_CACHE_DIR=" + directory.path()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace tartan::cli
