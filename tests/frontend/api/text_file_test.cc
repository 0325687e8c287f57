// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

namespace tartan::api {
namespace {

using ::testing::HasSubstr;

struct TemporaryPath {
  explicit TemporaryPath(const std::string& name) : path(::testing::TempDir() + name) {
    std::remove(path.c_str());
  }
  ~TemporaryPath() { std::remove(path.c_str()); }
  const std::string path;
};

TEST(ReadTextFile, ReadsAWholeFile) {
  const TemporaryPath file("text_file_test.txt");
  const std::string text(200000, 'x');
  std::ofstream(file.path) << text;
  EXPECT_EQ(*ReadTextFile(file.path), text);
}

TEST(ReadTextFile, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([&] {
    for (const char c : {'a', 'b', 'c'}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(write(ends[1], &c, 1), 1);
    }
    close(ends[1]);
  });
  const auto text = ReadTextFile("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  close(ends[0]);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "abc");
}

TEST(ReadTextFile, DoesNotWaitForAPipeThatNobodyWritesTo) {
  const TemporaryPath fifo("text_file_test.fifo");
  ASSERT_EQ(mkfifo(fifo.path.c_str(), 0600), 0);
  EXPECT_EQ(*ReadTextFile(fifo.path), "");
}

TEST(ReadTextFile, RefusesWhatNeverEnds) {
  for (const std::string path : {"/dev/zero", "/dev/urandom"}) {
    const auto text = ReadTextFile(path);
    EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(text.status().message()), HasSubstr(path));
  }
}

TEST(ReadTextFile, RefusesWhatIsTooLong) {
  const TemporaryPath file("text_file_test_long.txt");
  std::ofstream(file.path) << "12345";
  EXPECT_EQ(*ReadTextFile(file.path, 5), "12345");
  EXPECT_THAT(std::string(ReadTextFile(file.path, 4).status().message()),
              HasSubstr("longer than 4 bytes"));
  // A sparse file of 1 TiB is refused before memory runs out.
  ASSERT_EQ(truncate(file.path.c_str(), off_t{1} << 40), 0);
  EXPECT_FALSE(ReadTextFile(file.path).ok());
}

TEST(ReadTextFile, SaysWhatIsWrongWithAPath) {
  EXPECT_EQ(ReadTextFile("/no/such/file").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadTextFile("/tmp").status().message()),
              HasSubstr("/tmp: Is a directory"));
}

}  // namespace
}  // namespace tartan::api
