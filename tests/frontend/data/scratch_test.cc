// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kLarge = (int64_t{64} << 20) + 5;

// Sets $TMPDIR during its lifetime.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& path) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryFolder() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

TEST(Scratch, HoldsSmallAndLargeBuffers) {
  const TestFolder folder;
  const TemporaryFolder temporary(folder.Path(""));
  for (const int64_t size : {int64_t{0}, int64_t{5}, kLarge}) {
    const auto scratch = Scratch::Create(size);
    ASSERT_TRUE(scratch.ok()) << scratch.status();
    const absl::Span<uint8_t> bytes = (*scratch)->bytes();
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), size);
    if (size == 0) continue;
    EXPECT_EQ(bytes[size - 1], 0);
    bytes[size - 1] = 7;
    EXPECT_EQ(bytes[size - 1], 7);
    EXPECT_TRUE(std::filesystem::is_empty(folder.Path(""))) << "its file has no name";
  }
}

TEST(Scratch, NamesTheFolderThatHasNoPlace) {
  const TestFolder folder;
  const TemporaryFolder temporary(folder.Path("none"));
  EXPECT_TRUE(Scratch::Create(5).ok());
  const auto scratch = Scratch::Create(kLarge);
  EXPECT_EQ(scratch.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(scratch.status().message()),
              HasSubstr("none: not enough space for 67108869 bytes of unpacked data"));
}

// More than any disk has: the allocation fails at once, not the later writes.
TEST(Scratch, TakesItsPlaceAtOnce) {
  const TestFolder folder;
  const TemporaryFolder temporary(folder.Path(""));
  const auto scratch = Scratch::Create(int64_t{1} << 60);
  EXPECT_EQ(scratch.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("")));
}

}  // namespace
}  // namespace tartan::data
