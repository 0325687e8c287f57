// SPDX-License-Identifier: Apache-2.0
// Files that another user may have written are not used: folders and entries of the disk cache, and
// PoCL's compile folder. The tests run as root to change owners; other users are child processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/cache_file.h"
#include "backend_opencl/cache/cache_folder.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/cache/scratch_folder.h"
#include "backend_opencl/cache/trusted_file.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl::cache_owner_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr int64_t kNoLimit = int64_t{1} << 30;
constexpr uid_t kNobody = 65534;
constexpr uid_t kSomebody = 12345;

class CacheOwnerTest : public testing::Test {
 protected:
  CacheOwnerTest() {
    EXPECT_TRUE(DiskCache(root_, kNoLimit, false).Store("key", "payload"));
    chmod(directory_.path().c_str(), 0755);
  }

  std::optional<std::string> Load() { return DiskCache(root_, kNoLimit, false, true).Load("key"); }
  std::string PathOf(const std::string& key) { return kernels_ + "/" + CacheFileName(key); }
  // Expects that the cache finds nothing, stores nothing, and that commands name the remedy.
  void ExpectRefused(const std::string& remedy) {
    EXPECT_EQ(Load(), std::nullopt);
    DiskCache cache(root_, kNoLimit, false, true);
    EXPECT_FALSE(cache.Store("other", "payload"));
    EXPECT_FALSE(cache.Update("other", [](std::optional<std::string>) { return "payload"; }));
    for (const absl::Status& status :
         {CheckCacheFolder(root_), InspectCache(root_).status(), VerifyCache(root_).status(),
          PruneCache(root_, 0).status(), ClearCache(root_).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(root_), HasSubstr(remedy)));
    }
    EXPECT_TRUE(fs::exists(PathOf("key")));
    EXPECT_FALSE(fs::exists(PathOf("other")));
  }
  void Chown(uid_t user) {
    for (const std::string& path : {root_, kernels_, PathOf("key")}) {
      EXPECT_EQ(chown(path.c_str(), user, user), 0);
    }
  }
  // Runs `work` in a child process of `user` and returns its result.
  template <class Work>
  int As(uid_t user, Work work) {
    const pid_t child = fork();
    if (child == 0) _exit(setgid(user) == 0 && setuid(user) == 0 ? work() : 99);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryDirectory directory_;
  std::string root_ = directory_.path() + "/cache";
  std::string kernels_ = root_ + "/kernels";
};

TEST_F(CacheOwnerTest, AFolderThatOthersMayWriteIsRefused) {
  for (const std::string& folder : {root_, kernels_}) {
    SCOPED_TRACE(folder);
    for (const mode_t mode : {0777, 0757, 0702}) {
      ASSERT_EQ(chmod(folder.c_str(), mode), 0);
      ExpectRefused(absl::StrCat("remove that right with chmod -R go-w ", folder));
    }
    ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
    EXPECT_EQ(Load(), "payload");
  }
}

TEST_F(CacheOwnerTest, AStickyFolderProtectsTheCacheInItButNoEntries) {
  ASSERT_EQ(chmod(root_.c_str(), 01777), 0);
  EXPECT_EQ(Load(), "payload");
  ASSERT_EQ(chmod(kernels_.c_str(), 01777), 0);
  ExpectRefused("mode 1777");
}

TEST_F(CacheOwnerTest, AGroupMayWriteOnlyIfItIsTheUsersOwn) {
  ASSERT_EQ(chmod(root_.c_str(), 0775), 0);
  struct stat info;
  ASSERT_EQ(stat(root_.c_str(), &info), 0);
  if (getuid() != 0) GTEST_SKIP() << "only root gives files to other groups";
  EXPECT_EQ(Load(), "payload") << "the group root has no other members";
  ASSERT_EQ(chown(root_.c_str(), 0, kSomebody), 0);
  ExpectRefused("mode 0775");
}

TEST_F(CacheOwnerTest, AnotherUsersFolderIsRefusedWhateverItsMode) {
  if (getuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const mode_t mode : {0777, 0755, 0700}) {
    ASSERT_EQ(chmod(root_.c_str(), mode), 0);
    ASSERT_EQ(chown(root_.c_str(), kNobody, kNobody), 0);
    ExpectRefused("(uid 65534)");
    ASSERT_EQ(chown(root_.c_str(), 0, 0), 0);
  }
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  ASSERT_EQ(chown(kernels_.c_str(), kSomebody, kSomebody), 0);
  ExpectRefused("uid 12345");
}

TEST_F(CacheOwnerTest, AnEntryOfAnotherUserIsToldOnceAndReplaced) {
  const auto expect_replaced = [&] {
    DiskCache cache(root_, kNoLimit, /*verbose=*/false);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cache.Load("key"), std::nullopt);
    EXPECT_EQ(cache.Load("key"), std::nullopt);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, AllOf(HasSubstr(PathOf("key")), HasSubstr("continuing without")));
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_TRUE(cache.Store("key", "mine"));
    EXPECT_EQ(cache.Load("key"), "mine");
  };
  ASSERT_EQ(chmod(PathOf("key").c_str(), 0606), 0);
  expect_replaced();
  if (getuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chown(PathOf("key").c_str(), kNobody, kNobody), 0);
  expect_replaced();
  ASSERT_EQ(chown(PathOf("key").c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(*VerifyCache(root_), 1);
  EXPECT_FALSE(fs::exists(PathOf("key")));
}

TEST_F(CacheOwnerTest, AnEntryIsNoLink) {
  fs::rename(PathOf("key"), directory_.path() + "/elsewhere");
  fs::create_symlink(directory_.path() + "/elsewhere", PathOf("key"));
  EXPECT_EQ(Load(), std::nullopt);
  EXPECT_TRUE(fs::exists(directory_.path() + "/elsewhere"));
}

TEST_F(CacheOwnerTest, ALinkToAFolderCountsAsTheFolder) {
  fs::rename(root_, directory_.path() + "/elsewhere");
  fs::create_symlink(directory_.path() + "/elsewhere", root_);
  EXPECT_EQ(Load(), "payload");
  ASSERT_EQ(chmod((directory_.path() + "/elsewhere").c_str(), 0777), 0);
  EXPECT_EQ(Load(), std::nullopt);
}

TEST_F(CacheOwnerTest, AUserTrustsRootAndHimselfAlone) {
  if (getuid() != 0) GTEST_SKIP() << "only root becomes another user";
  const auto finds = [&] { return Load().has_value() ? 1 : 0; };
  for (const std::string& path : {root_, kernels_}) ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  ASSERT_EQ(chmod(PathOf("key").c_str(), 0644), 0);
  EXPECT_EQ(As(kNobody, finds), 1) << "a cache that root has filled for all";
  ASSERT_EQ(chmod(kernels_.c_str(), 0777), 0);
  EXPECT_EQ(As(kNobody, finds), 0);
  ASSERT_EQ(chmod(kernels_.c_str(), 0755), 0);
  Chown(kNobody);
  EXPECT_EQ(As(kNobody, finds), 1);
  EXPECT_EQ(As(kSomebody, finds), 0);
  Chown(kSomebody);
  EXPECT_EQ(As(kNobody, finds), 0);
}

TEST_F(CacheOwnerTest, VerifyLeavesWhatItCannotReadAndTellsIt) {
  if (getuid() != 0) GTEST_SKIP() << "only root becomes another user";
  DiskCache cache(root_, kNoLimit, false);
  cache.Store("unreadable", "payload");
  cache.Store("damaged", "payload");
  std::ofstream(PathOf("damaged")) << "nonsense";
  Chown(kNobody);
  EXPECT_EQ(chown(PathOf("damaged").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chmod(PathOf("unreadable").c_str(), 0600), 0);  // owned by root
  EXPECT_EQ(As(kNobody,
               [&] {
                 const auto damaged = VerifyCache(root_);
                 const std::string message(damaged.status().message());
                 const bool tells = message.find(PathOf("unreadable")) != std::string::npos &&
                                    message.find("Permission denied") != std::string::npos;
                 return tells ? 0 : 1;
               }),
            0);
  EXPECT_TRUE(fs::exists(PathOf("unreadable")));
  EXPECT_FALSE(fs::exists(PathOf("damaged"))) << "it was read";
}

TEST_F(CacheOwnerTest, PoclCompilesWhereNobodyCanExchangeItsFolder) {
  const std::string place = directory_.path() + "/place";
  const std::string outer = directory_.path() + "/outer";
  fs::create_directories(place);
  fs::create_directories(outer + "/inner");
  const auto expect_passed_over = [&](const std::string& path, const std::string& reason) {
    const auto folder = ScratchFolder::Make({{path}, {place}}, 1);
    ASSERT_TRUE(folder.ok()) << folder.status();
    EXPECT_EQ(fs::path((*folder)->path()).parent_path(), place);
    const auto refused = ScratchFolder::Make({{path}}, 1);
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(reason));
  };
  ASSERT_EQ(chmod(outer.c_str(), 0777), 0);
  expect_passed_over(outer, "chmod -R go-w");
  expect_passed_over(outer + "/inner", "remove that right with chmod -R go-w " + outer);
  ASSERT_EQ(chmod(outer.c_str(), 01777), 0);
  EXPECT_TRUE(ScratchFolder::Make({{outer + "/inner"}}, 1).ok());
  if (getuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(chmod(outer.c_str(), 0755), 0);
  ASSERT_EQ(chown(outer.c_str(), kSomebody, kSomebody), 0);
  expect_passed_over(outer + "/inner", "uid 12345");
  EXPECT_EQ(As(kSomebody, [&] { return ScratchFolder::Make({{outer}}, 1).ok() ? 1 : 0; }), 1);
}

}  // namespace
}  // namespace tartan::opencl::cache_owner_test
