// SPDX-License-Identifier: Apache-2.0
// Tests that the program reports and ignores a cache that another user has filled or may write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli::foreign_cache_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uid_t kNobody = 65534;

class ForeignCache : public testing::Test {
 protected:
  // The first run fills the cache.
  ForeignCache() {
    const ProgramResult first = Run();
    EXPECT_EQ(first.exit_code, 0) << first.err;
    EXPECT_THAT(Run().out, HasSubstr(kHits));
  }

  ProgramResult Run(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {
        "run",      SourcePath("examples/digits/digits.onnx"),
        "--input",  "x=@" + SourcePath("examples/digits/seven.png"),
        "--format", "json",
        "--tier",   "ready"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunTartan(arguments, Own());
  }
  ProgramOptions Own() const {
    ProgramOptions own;
    own.environment = {"TARTAN_CACHE_DIR=" + cache_, "POCL_CACHE_DIR=" + pocl_};
    return own;
  }
  void ExpectRefused(const std::string& remedy) const {
    const ProgramResult result = Run();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr(kHits)));
    EXPECT_THAT(result.err, AllOf(HasSubstr("continuing without the disk cache: "),
                                  HasSubstr(cache_), HasSubstr(remedy)));
    EXPECT_THAT(Run({"--quiet"}).err, IsEmpty());
    const ProgramResult cleared = RunTartan({"cache", "clear"}, Own());
    EXPECT_EQ(cleared.exit_code, 6);
    EXPECT_THAT(cleared.err, HasSubstr(remedy));
  }
  void GiveTo(uid_t user) const {
    ASSERT_EQ(chown(cache_.c_str(), user, user), 0);
    for (const auto& file : fs::recursive_directory_iterator(cache_)) {
      ASSERT_EQ(chown(file.path().c_str(), user, user), 0);
    }
  }

  static constexpr char kHits[] = "\"misses\": 0";
  const TemporaryDirectory directory_;
  const std::string cache_ = directory_.path() + "/cache";
  const std::string pocl_ = directory_.path() + "/pocl";
};

TEST_F(ForeignCache, AFolderThatOthersMayWriteIsToldAndNotUsed) {
  ASSERT_EQ(chmod(cache_.c_str(), 0777), 0);
  ExpectRefused(absl::StrCat("chmod -R go-w ", cache_));
  ASSERT_EQ(chmod(cache_.c_str(), 0700), 0);
  const ProgramResult mended = Run();
  EXPECT_THAT(mended.out, HasSubstr(kHits));
  EXPECT_THAT(mended.err, Not(HasSubstr("continuing without")));
}

// The folder belongs to the user nobody, everybody may write it, and root must not run its
// contents.
TEST_F(ForeignCache, RootRunsNothingOfAnotherUsers) {
  if (getuid() != 0) GTEST_SKIP() << "only root gives files away";
  GiveTo(kNobody);
  ASSERT_EQ(chmod(cache_.c_str(), 0777), 0);
  ExpectRefused("(uid 65534)");
}

TEST_F(ForeignCache, AFolderOfPoclThatOthersMayExchangeIsToldAndNotUsed) {
  fs::create_directories(pocl_);
  ASSERT_EQ(chmod(pocl_.c_str(), 0777), 0);
  const ProgramResult result = Run();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  if (result.out.find("\"platform\": \"Portable") == std::string::npos &&
      result.err.find("POCL_CACHE_DIR") == std::string::npos) {
    EXPECT_TRUE(fs::is_empty(pocl_));
    return;
  }
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("continuing without POCL_CACHE_DIR: "), HasSubstr(pocl_)));
}

}  // namespace
}  // namespace tartan::cli::foreign_cache_test
