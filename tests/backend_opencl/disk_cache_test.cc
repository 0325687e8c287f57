// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/cache_file.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = int64_t{1} << 30;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class DiskCacheTest : public testing::Test {
 protected:
  DiskCache Open(int64_t limit = kNoLimit) { return DiskCache(root_, limit, /*verbose=*/false); }
  fs::path PathOf(const std::string& key) const {
    return fs::path(root_) / "kernels" / CacheFileName(key);
  }
  // Sets the time of last use of an entry to `age` ago.
  void Age(const std::string& key, std::chrono::hours age) {
    fs::last_write_time(PathOf(key), fs::file_time_type::clock::now() - age);
  }

  TemporaryDirectory directory_;
  std::string root_ = directory_.path() + "/deep/cache";
};

TEST_F(DiskCacheTest, FindsNothingInACacheThatDoesNotExist) {
  EXPECT_EQ(Open().Load("key"), std::nullopt);
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(DiskCacheTest, LoadsWhatWasStored) {
  const std::string payload("bytes\0with a zero", 17);
  Open().Store("key", payload);
  EXPECT_EQ(Open().Load("key"), payload);
  EXPECT_EQ(Open().Load("other key"), std::nullopt);
}

TEST_F(DiskCacheTest, ReplacesAnEntry) {
  Open().Store("key", "old");
  Open().Store("key", "new");
  EXPECT_EQ(Open().Load("key"), "new");
  EXPECT_EQ(InspectCache(root_)->entries, 1);
}

TEST_F(DiskCacheTest, KeepsItsFilesFromOtherUsers) {
  Open().Store("key", "payload");
  struct stat info;
  ASSERT_EQ(stat((root_ + "/kernels").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(PathOf("key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0077, 0u);
}

TEST_F(DiskCacheTest, DeletesAnEntryWithAnyByteChanged) {
  Open().Store("key", "payload");
  const std::string good = ReadFile(PathOf("key"));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] ^= 0x10;
    WriteFile(PathOf("key"), damaged);
    EXPECT_EQ(Open().Load("key"), std::nullopt) << "byte " << i;
    EXPECT_FALSE(fs::exists(PathOf("key"))) << "byte " << i;
  }
}

TEST_F(DiskCacheTest, DeletesATruncatedOrLengthenedEntry) {
  Open().Store("key", "payload");
  const std::string good = ReadFile(PathOf("key"));
  for (size_t size = 0; size < good.size(); ++size) {
    WriteFile(PathOf("key"), good.substr(0, size));
    EXPECT_EQ(Open().Load("key"), std::nullopt) << size << " bytes";
    EXPECT_FALSE(fs::exists(PathOf("key")));
  }
  WriteFile(PathOf("key"), good + "x");
  EXPECT_EQ(Open().Load("key"), std::nullopt);
}

// A pipe without a writer, and other entries that are not files.
TEST_F(DiskCacheTest, GoesOnWhereAnEntryIsNoFile) {
  const fs::path path = PathOf("key");
  const std::vector<std::function<void()>> replacements = {
      [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
      [&] { fs::create_directories(path / "with/a directory in it"); },
      [&] { fs::create_symlink(path, path); }, [&] { fs::create_symlink("/dev/zero", path); },
      [&] {
        const int end = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        ASSERT_LT(path.native().size(), sizeof(address.sun_path));
        path.native().copy(address.sun_path, path.native().size());
        ASSERT_EQ(bind(end, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        close(end);
      }};
  for (size_t i = 0; i < replacements.size(); ++i) {
    SCOPED_TRACE(i);
    Open().Store("key", "payload");
    fs::remove(path);
    replacements[i]();
    EXPECT_EQ(Open().Load("key"), std::nullopt);
    EXPECT_TRUE(Open().Store("key", "payload"));
    EXPECT_EQ(Open().Load("key"), "payload");
    fs::remove(path);
    replacements[i]();
    EXPECT_EQ(InspectCache(root_)->entries, 1);
    EXPECT_EQ(*VerifyCache(root_), 1);
    EXPECT_FALSE(fs::exists(fs::symlink_status(path)));
  }
}

TEST_F(DiskCacheTest, VerifyDeletesALockThatIsNoFile) {
  Open().Store("key", "payload");
  fs::create_directories(root_ + "/kernels/update.lock");
  const auto change = [](std::optional<std::string>) { return std::string("changed"); };
  EXPECT_FALSE(Open().Update("key", change));
  EXPECT_EQ(*VerifyCache(root_), 1);
  EXPECT_TRUE(Open().Update("key", change));
  EXPECT_EQ(*VerifyCache(root_), 0);
}

TEST_F(DiskCacheTest, DoesNotTakeTheEntryOfAnotherKeyWithTheSameFileName) {
  Open().Store("key", "payload");
  // Simulates a hash collision.
  fs::copy_file(PathOf("key"), PathOf("colliding key"));
  EXPECT_EQ(Open().Load("colliding key"), std::nullopt);
  EXPECT_EQ(Open().Load("key"), "payload");
}

TEST_F(DiskCacheTest, StaysWithinItsLimitByDroppingWhatWasLeastRecentlyUsed) {
  const std::string payload(1000, 'x');
  DiskCache cache = Open(10'000);
  for (int i = 0; i < 8; ++i) {
    cache.Store(absl::StrCat("key", i), payload);
    Age(absl::StrCat("key", i), std::chrono::hours(100 - i));
  }
  EXPECT_TRUE(cache.Load("key0").has_value());  // marks key0 as recently used
  for (int i = 8; i < 12; ++i) cache.Store(absl::StrCat("key", i), payload);
  EXPECT_LE(InspectCache(root_)->bytes, 10'000);
  EXPECT_TRUE(cache.Load("key0").has_value());
  EXPECT_FALSE(cache.Load("key1").has_value());
  EXPECT_TRUE(cache.Load("key11").has_value());
}

TEST_F(DiskCacheTest, CountsWhatWasThereBefore) {
  for (int i = 0; i < 10; ++i) Open().Store(absl::StrCat("key", i), std::string(1000, 'x'));
  Open(5'000).Store("last", "payload");
  EXPECT_LE(InspectCache(root_)->bytes, 5'000);
  EXPECT_EQ(Open().Load("last"), "payload");
}

TEST_F(DiskCacheTest, DoesNotStoreWhatIsLargerThanTheLimit) {
  Open(5'000).Store("small", "payload");
  Open(5'000).Store("large", std::string(6'000, 'x'));
  EXPECT_EQ(InspectCache(root_)->entries, 1);
  EXPECT_TRUE(Open().Load("small").has_value());
}

TEST_F(DiskCacheTest, GoesOnWhereItCannotWrite) {
  WriteFile(directory_.path() + "/deep", "a file where a directory should be");
  testing::internal::CaptureStderr();
  Open().Store("key", "payload");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(Open().Load("key"), std::nullopt);
}

TEST_F(DiskCacheTest, TellsOnceWhyItCannotWriteWhereAsked) {
  WriteFile(directory_.path() + "/deep", "a file where a directory should be");
  DiskCache cache(root_, kNoLimit, /*verbose=*/true);
  testing::internal::CaptureStderr();
  cache.Store("key", "payload");
  cache.Store("key", "payload");
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find(root_), std::string::npos) << told;
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
}

TEST_F(DiskCacheTest, LoadsFromADirectoryItMayNotWrite) {
  Open().Store("key", "payload");
  fs::permissions(root_ + "/kernels", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(Open().Load("key"), "payload");
  Open().Store("other", "payload");  // refused, unless the test runs as root
  fs::permissions(root_ + "/kernels", fs::perms::owner_all);
  EXPECT_EQ(Open().Load("key"), "payload");
}

TEST_F(DiskCacheTest, IsSafeWithTwoProcessesThatWriteReadAndEvictAtOnce) {
  constexpr int kRounds = 400;
  constexpr int kKeys = 20;
  const auto payload_of = [](int key) {
    return std::string(500 + key, static_cast<char>('a' + key));
  };
  // Counts the loads that returned data of another key.
  const auto work = [&](unsigned seed) {
    DiskCache cache = Open(6'000);  // room for about half of the keys, to keep evicting
    int wrong = 0;
    for (int round = 0; round < kRounds; ++round) {
      seed = seed * 1664525u + 1013904223u;
      const int key = static_cast<int>((seed >> 16) % kKeys);
      const std::string name = absl::StrCat("key", key);
      const auto loaded = cache.Load(name);
      if (loaded.has_value() && *loaded != payload_of(key)) ++wrong;
      cache.Store(name, payload_of(key));
    }
    return wrong;
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(work(1) == 0 ? 0 : 1);
  EXPECT_EQ(work(2), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(*VerifyCache(root_), 0);
  for (const auto& file : fs::directory_iterator(root_ + "/kernels")) {
    EXPECT_EQ(file.path().extension().string(), kCacheFileSuffix) << "a temporary file was left";
  }
}

TEST_F(DiskCacheTest, LosesNoUpdateOfTwoProcesses) {
  constexpr int kUpdates = 100;
  const auto work = [&](char mark) {
    DiskCache cache = Open();
    bool written = true;
    for (int i = 0; i < kUpdates; ++i) {
      written &= cache.Update(
          "key", [&](std::optional<std::string> stored) { return stored.value_or("") + mark; });
    }
    return written;
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(work('a') ? 0 : 1);
  EXPECT_TRUE(work('b'));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::string marks = Open().Load("key").value_or("");
  EXPECT_EQ(std::count(marks.begin(), marks.end(), 'a'), kUpdates);
  EXPECT_EQ(std::count(marks.begin(), marks.end(), 'b'), kUpdates);
}

TEST_F(DiskCacheTest, UpdatesNothingWithoutADirectory) {
  bool asked = false;
  EXPECT_FALSE(DiskCache("", kNoLimit, false).Update("key", [&](std::optional<std::string>) {
    asked = true;
    return std::string("payload");
  }));
  EXPECT_FALSE(asked);
}

TEST_F(DiskCacheTest, RemovesAnEntry) {
  Open().Store("key", "payload");
  Open().Remove("key");
  EXPECT_EQ(Open().Load("key"), std::nullopt);
}

TEST_F(DiskCacheTest, VerifyDeletesWhatIsDamagedAndNothingElse) {
  for (const char* key : {"a", "b", "c"}) Open().Store(key, "payload");
  WriteFile(PathOf("b"), "nonsense");
  EXPECT_EQ(*VerifyCache(root_), 1);
  EXPECT_EQ(InspectCache(root_)->entries, 2);
  EXPECT_EQ(*VerifyCache(root_), 0);
}

// Runs `work` in a child process and returns its result.
template <class Work>
int InChildProcess(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DiskCacheTest, KeepsAnEntryWhereTooManyFilesAreOpen) {
  Open().Store("key", "payload");
  EXPECT_EQ(InChildProcess([&] {
              while (open("/dev/null", O_RDONLY) >= 0) {
              }
              return errno == EMFILE && !Open().Load("key").has_value() && !VerifyCache(root_).ok()
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_EQ(Open().Load("key"), "payload");
}

TEST_F(DiskCacheTest, PruneKeepsTheMostRecentlyUsed) {
  for (int i = 0; i < 3; ++i) {
    Open().Store(absl::StrCat("key", i), std::string(1000, 'x'));
    Age(absl::StrCat("key", i), std::chrono::hours(3 - i));
  }
  const auto kept = PruneCache(root_, 1'500);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->entries, 1);
  EXPECT_TRUE(Open().Load("key2").has_value());
  EXPECT_EQ(InspectCache(root_)->bytes, kept->bytes);
}

TEST_F(DiskCacheTest, PruneDeletesWhatInterruptedWritersLeft) {
  Open().Store("key", "payload");
  const fs::path old_one = fs::path(root_) / "kernels/writing-old";
  const fs::path new_one = fs::path(root_) / "kernels/writing-new";
  WriteFile(old_one, "half");
  WriteFile(new_one, "half");
  fs::last_write_time(old_one, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(PruneCache(root_, kNoLimit).ok());
  EXPECT_FALSE(fs::exists(old_one));
  EXPECT_TRUE(fs::exists(new_one));  // might still be in use by a writer
}

TEST_F(DiskCacheTest, ClearDeletesItsOwnFilesOnly) {
  Open().Store("a", "payload");
  Open().Store("b", "payload");
  WriteFile(root_ + "/kernels/notes.txt", "mine");
  EXPECT_EQ(*ClearCache(root_), 2);
  EXPECT_EQ(InspectCache(root_)->entries, 0);
  EXPECT_TRUE(fs::exists(root_ + "/kernels/notes.txt"));
}

TEST_F(DiskCacheTest, MaintenanceOfACacheThatDoesNotExistFindsNothing) {
  EXPECT_EQ(InspectCache(root_)->entries, 0);
  EXPECT_EQ(*VerifyCache(root_), 0);
  EXPECT_EQ(PruneCache(root_, 0)->bytes, 0);
  EXPECT_EQ(*ClearCache(root_), 0);
}

TEST_F(DiskCacheTest, MaintenanceTellsWhatItCannotRead) {
  fs::create_directories(root_);
  WriteFile(root_ + "/kernels", "a file where a directory should be");
  const auto contents = InspectCache(root_);
  ASSERT_FALSE(contents.ok());
  EXPECT_NE(contents.status().message().find(root_), absl::string_view::npos);
}

TEST(DefaultCacheDirectory, GoesByTheEnvironment) {
  const char* home = std::getenv("HOME");
  const std::string saved_home = home == nullptr ? "" : home;
  const char* own = std::getenv("TARTAN_CACHE_DIR");
  const std::string saved_own = own == nullptr ? "" : own;
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const std::string saved_xdg = xdg == nullptr ? "" : xdg;
  setenv("HOME", "/h", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  setenv("TARTAN_CACHE_DIR", "/t", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/t");
  setenv("TARTAN_CACHE_DIR", "", 1);
  EXPECT_EQ(DefaultCacheDirectory(), "/x/tartan");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(DefaultCacheDirectory(), "/h/.cache/tartan");
  unsetenv("HOME");
  EXPECT_EQ(DefaultCacheDirectory(), "");
  setenv("HOME", saved_home.c_str(), 1);
  setenv("TARTAN_CACHE_DIR", saved_own.c_str(), 1);
  if (xdg != nullptr) setenv("XDG_CACHE_HOME", saved_xdg.c_str(), 1);
}

}  // namespace
}  // namespace tartan::opencl
