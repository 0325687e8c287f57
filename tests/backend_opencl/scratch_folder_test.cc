// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class ScratchFolderTest : public testing::Test {
 protected:
  int FilesIn(const std::string& directory) {
    int count = 0;
    for (const auto& file : fs::directory_iterator(directory)) count += fs::exists(file) ? 1 : 0;
    return count;
  }

  TemporaryDirectory directory_;
};

TEST_F(ScratchFolderTest, IsPrivateAndGoesInTheEnd) {
  std::string path;
  {
    const auto folder = ScratchFolder::Make({{directory_.path()}}, 1);
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = (*folder)->path();
    EXPECT_THAT(path, StartsWith(directory_.path()));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path + "/some/folders");
    std::ofstream(path + "/some/file") << "text";
  }
  EXPECT_EQ(FilesIn(directory_.path()), 0);
}

TEST_F(ScratchFolderTest, MakesOnlyThePlacesItMay) {
  const std::string missing = directory_.path() + "/missing/place";
  EXPECT_FALSE(ScratchFolder::Make({{missing}}, 1).ok());
  EXPECT_FALSE(fs::exists(missing));
  EXPECT_TRUE(ScratchFolder::Make({{missing, true}}, 1).ok());
  EXPECT_TRUE(fs::exists(missing));
}

TEST_F(ScratchFolderTest, TakesTheFirstPlaceThatCanHoldIt) {
  std::ofstream(directory_.path() + "/file") << "text";
  const auto folder = ScratchFolder::Make({{directory_.path() + "/missing"},
                                           {directory_.path() + "/file/below", true},
                                           {"/proc", true},
                                           {directory_.path()}},
                                          1);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::path((*folder)->path()).parent_path(), directory_.path());
}

TEST_F(ScratchFolderTest, TakesTheFirstOfThosePlacesWhereNoneHasTheRoom) {
  const auto folder = ScratchFolder::Make({{"/proc"}, {directory_.path()}}, int64_t{1} << 60);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(fs::path((*folder)->path()).parent_path(), directory_.path());
}

TEST_F(ScratchFolderTest, NamesEachPlaceAndItsReason) {
  std::ofstream(directory_.path() + "/file") << "text";
  const auto folder =
      ScratchFolder::Make({{directory_.path() + "/missing"}, {directory_.path() + "/file"}}, 1);
  ASSERT_EQ(folder.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(
      std::string(folder.status().message()),
      AllOf(HasSubstr("/missing: No such file or directory"), HasSubstr("/file: Not a directory")));
}

TEST_F(ScratchFolderTest, DeletesWhatAKilledProcessLeftAndNothingElse) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto folder = ScratchFolder::Make({{directory_.path()}}, 1);
    const char made = folder.ok() ? 'y' : 'n';
    if (write(pipe_ends[1], &made, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char made = 'n';
  ASSERT_EQ(read(pipe_ends[0], &made, 1), 1);
  ASSERT_EQ(made, 'y');
  fs::create_directory(directory_.path() + "/of another program");
  {
    const auto beside = ScratchFolder::Make({{directory_.path()}}, 1);
    ASSERT_TRUE(beside.ok());
    EXPECT_EQ(FilesIn(directory_.path()), 3) << "the folder of a living process is gone";
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    RemoveAbandonedFolders(directory_.path());
    EXPECT_EQ(FilesIn(directory_.path()), 2);
    EXPECT_TRUE(fs::exists((*beside)->path()));
  }
  EXPECT_EQ(FilesIn(directory_.path()), 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_F(ScratchFolderTest, OutlivesAForkThatEnds) {
  auto folder = ScratchFolder::Make({{directory_.path()}}, 1);
  ASSERT_TRUE(folder.ok()) << folder.status();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    folder->reset();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(fs::exists((*folder)->path()));
}

}  // namespace
}  // namespace tartan::opencl
