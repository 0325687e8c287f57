// SPDX-License-Identifier: Apache-2.0
#include "tile/base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <vector>

namespace tartan::mapped_file_test {
namespace {

constexpr size_t kBytes = size_t{1} << 22;

std::string WriteFile() {
  const std::string path = testing::TempDir() + "/mapped_file_test.bin";
  std::vector<char> bytes(kBytes);
  std::iota(bytes.begin(), bytes.end(), char{0});
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(kBytes));
  return path;
}

int64_t Sum(absl::Span<const uint8_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

// Returns the process's resident bytes that are pages of files.
int64_t FilePages() {
  int64_t size = 0;
  int64_t resident = 0;
  int64_t of_files = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> of_files;
  return of_files * sysconf(_SC_PAGESIZE);
}

TEST(MappedFile, LetsGoOfMemoryAndReadsTheFileAgain) {
  const std::string path = WriteFile();
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Span<const uint8_t> bytes = (*file)->bytes();
  const int64_t sum = Sum(bytes);
  const int64_t before = FilePages();
  MappedFile::ReleasePages(bytes.subspan(100));
  EXPECT_LT(FilePages(), before - static_cast<int64_t>(kBytes) / 2);
  EXPECT_EQ(Sum(bytes), sum);
  std::remove(path.c_str());
}

TEST(MappedFile, KnowsWhatFilesHold) {
  const std::string path = WriteFile();
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::Span<const uint8_t> bytes = (*file)->bytes();
  EXPECT_TRUE(MappedFile::Holds(bytes));
  EXPECT_TRUE(MappedFile::Holds(bytes.subspan(kBytes - 1)));
  EXPECT_FALSE(MappedFile::Holds({bytes.data() + 1, kBytes}));
  EXPECT_FALSE(MappedFile::Holds(std::vector<uint8_t>(10)));
  file->reset();
  EXPECT_FALSE(MappedFile::Holds(bytes));
  std::remove(path.c_str());
}

TEST(MappedFile, LeavesOtherMemoryAsItIs) {
  const std::string path = WriteFile();
  const auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<uint8_t> other(kBytes, 7);
  MappedFile::ReleasePages(other);
  EXPECT_EQ(Sum(other), static_cast<int64_t>(kBytes) * 7);
  // Anonymous memory loses its contents if madvise drops its pages.
  void* const anonymous =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(anonymous, MAP_FAILED);
  auto* const memory = static_cast<uint8_t*>(anonymous);
  std::fill_n(memory, kBytes, uint8_t{9});
  MappedFile::ReleasePages({memory, kBytes});
  EXPECT_EQ(Sum({memory, kBytes}), static_cast<int64_t>(kBytes) * 9);
  munmap(anonymous, kBytes);
  std::remove(path.c_str());
}

TEST(MappedFile, LetsGoOfNothingOnceItIsClosed) {
  const std::string path = WriteFile();
  auto file = MappedFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto* const place = const_cast<uint8_t*>((*file)->bytes().data());
  file->reset();
  void* const taken = mmap(place, kBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (taken != place) GTEST_SKIP() << "the place is in use";
  std::fill_n(place, kBytes, uint8_t{9});
  MappedFile::ReleasePages({place, kBytes});
  EXPECT_EQ(Sum({place, kBytes}), static_cast<int64_t>(kBytes) * 9);
  munmap(place, kBytes);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tartan::mapped_file_test
