// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/log/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "proto/event.pb.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::train::event_file_test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The values of RFC 3720, appendix B.4, and the check value of CRC-32C.
TEST(Crc32c, HasTheValuesOfItsStandard) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43);
  EXPECT_EQ(Crc32c(""), 0u);
}

uint64_t Number(const std::string& bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t b = count; b-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + b]);
  return value;
}

// Removes the mask of a checksum.
uint32_t Unmasked(uint64_t masked) {
  const uint32_t rotated = static_cast<uint32_t>(masked) - 0xa282ead8;
  return rotated << 15 | rotated >> 17;
}

std::vector<proto::Event> EventsIn(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  const std::string bytes = text.str();
  std::vector<proto::Event> events;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = Number(bytes, at, 8);
    EXPECT_EQ(Unmasked(Number(bytes, at + 8, 4)), Crc32c(bytes.substr(at, 8)));
    const std::string data = bytes.substr(at + 12, length);
    EXPECT_EQ(Unmasked(Number(bytes, at + 12 + length, 4)), Crc32c(data));
    EXPECT_TRUE(events.emplace_back().ParseFromString(data));
    at += 16 + length;
  }
  return events;
}

TEST(EventFile, HasARecordForEachLine) {
  const TemporaryDirectory folder;
  const auto file = EventFile::Open(folder.path() + "/new/logs");
  ASSERT_TRUE(file.ok()) << file.status();
  LogLine line;
  line.step = 7;
  line.loss = 0.5;
  line.rate = 0.25;
  line.metrics = {{"accuracy", 0.75}, {"val_loss", 2}};
  ASSERT_EQ((*file)->Add(line), absl::OkStatus());
  line.step = 8;
  ASSERT_EQ((*file)->Add(line), absl::OkStatus());
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/new/logs"))
    paths.push_back(entry.path());
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_THAT(paths[0], HasSubstr("/events.out.tfevents."));
  const std::vector<proto::Event> events = EventsIn(paths[0]);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.6e9);
  EXPECT_EQ(events[2].step(), 8);
  std::map<std::string, float> values;
  for (const auto& value : events[1].summary().value()) values[value.tag()] = value.simple_value();
  EXPECT_EQ(values, (std::map<std::string, float>{{"train/loss", 0.5f},
                                                  {"train/rate", 0.25f},
                                                  {"train/step_ms", 0},
                                                  {"train/accuracy", 0.75f},
                                                  {"validation/loss", 2}}));
}

TEST(EventFile, NamesAFolderThatCannotBeMade) {
  EXPECT_THAT(EventFile::Open("/proc/nothing").status().message(), HasSubstr("/proc/nothing"));
}

}  // namespace
}  // namespace tartan::train::event_file_test
