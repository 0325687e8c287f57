// SPDX-License-Identifier: Apache-2.0
// Tests that a file is written completely or not at all.
#include "frontend/cli/file_io.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

namespace tartan::cli {
namespace {

// Limits the size of files of this process to `bytes` during its lifetime, which simulates a full
// disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_ = {};
};

TEST(WriteFile, KeepsTheOldFileWhenTheDiskIsFull) {
  const std::string folder = ::testing::TempDir() + "file_io_test/";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder + "scores.npy";
  ASSERT_TRUE(WriteFile(path, "old").ok());
  {
    const FileSizeLimit limit(4096);
    const absl::Status status = WriteFile(path, std::string(100000, 'x'));
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  }
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  const std::filesystem::directory_iterator files(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "a partial file is left";
}

TEST(CheckWritable, TellsBeforehandWhatWriteFileWould) {
  EXPECT_TRUE(CheckWritable(::testing::TempDir() + "file_io_test_new").ok());
  EXPECT_TRUE(CheckWritable("/dev/null").ok());
  for (const std::string& path : {std::string("/no/such/folder/y"), ::testing::TempDir()}) {
    const absl::Status status = CheckWritable(path);
    EXPECT_EQ(status, WriteFile(path, "")) << path;
    EXPECT_FALSE(status.ok()) << path;
  }
}

}  // namespace
}  // namespace tartan::cli
