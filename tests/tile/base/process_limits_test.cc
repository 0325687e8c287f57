// SPDX-License-Identifier: Apache-2.0
#include "tile/base/process_limits.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tartan::process_limits_test {
namespace {

using testing::HasSubstr;

// Sets a process limit for the lifetime of the object.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    getrlimit(resource, &before_);
    rlimit limit = before_;
    limit.rlim_cur = value;
    EXPECT_EQ(setrlimit(resource, &limit), 0);
  }
  ~Limit() { setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_ = {};
};

TEST(ProcessLimits, TheLimitThatLeavesLessMemoryIsNamedWithWhatIsInUse) {
  const Limit addresses(RLIMIT_AS, rlim_t{1} << 42);
  const auto of_addresses = FindMemoryLimit();
  ASSERT_TRUE(of_addresses.has_value());
  EXPECT_THAT(of_addresses->text, HasSubstr("4398046511104 bytes (ulimit -v)"));
  EXPECT_GT(of_addresses->left, int64_t{1} << 41);
  EXPECT_LT(of_addresses->left, int64_t{1} << 42);
  const Limit data(RLIMIT_DATA, rlim_t{1} << 41);
  EXPECT_THAT(FindMemoryLimit()->text, HasSubstr("2199023255552 bytes (ulimit -d)"));
}

TEST(ProcessLimits, FilesThatMayBeOpenedAreCounted) {
  EXPECT_EQ(FreeFileDescriptors(5), 5);
  const int next = open("/dev/null", O_RDONLY);
  ASSERT_GE(next, 0);
  const Limit files(RLIMIT_NOFILE, static_cast<rlim_t>(next) + 3);
  const int left = FreeFileDescriptors(100);
  EXPECT_GE(left, 2);
  int opened = 0;
  std::vector<int> others;
  while (true) {
    const int other = open("/dev/null", O_RDONLY);
    if (other < 0) break;
    others.push_back(other);
    ++opened;
  }
  EXPECT_EQ(opened, left);
  EXPECT_EQ(FreeFileDescriptors(100), 0);
  for (const int other : others) close(other);
  close(next);
}

TEST(ProcessLimits, AFileThatIsTooLargeToBeWrittenNamesTheLimit) {
  EXPECT_EQ(WriteErrorText(ENOSPC), "No space left on device");
  const Limit size(RLIMIT_FSIZE, 4096);
  EXPECT_EQ(FileSizeLimit(), 4096);
  EXPECT_EQ(WriteErrorText(EFBIG), "no file may be larger than 4096 bytes (ulimit -f)");
}

TEST(ProcessLimits, FilesThatAreReadAreBoundedByTheEnvironment) {
  EXPECT_TRUE(CheckFileSize("x.npz", INT64_MAX).ok());
  setenv(kMaxFileSizeVariable, "1000", 1);
  EXPECT_TRUE(CheckFileSize("x.npz", 1000).ok());
  const absl::Status refused = CheckFileSize("x.npz", 1001);
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("x.npz: 1001 bytes are more than the 1000"));
  setenv(kMaxFileSizeVariable, "lots", 1);
  EXPECT_EQ(CheckFileSize("x.npz", 1).code(), absl::StatusCode::kInvalidArgument);
  unsetenv(kMaxFileSizeVariable);
}

}  // namespace
}  // namespace tartan::process_limits_test
