// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/zip_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data::zip_archive_test {
namespace {

using ::testing::HasSubstr;

std::string Text(absl::Span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// Reads and unpacks all members and verifies their checksums.
absl::StatusOr<std::vector<std::string>> ReadAll(const std::string& archive) {
  auto members = ReadZip(BytesOf(archive));
  if (!members.ok()) return members.status();
  std::vector<std::string> texts;
  for (const ZipMember& member : *members) {
    const absl::Status status = VerifyStored(member);
    if (!status.ok()) return status;
    const auto unpacked = Unpack(member, nullptr);
    if (!unpacked.ok()) return unpacked.status();
    texts.push_back(Text(unpacked->bytes));
  }
  return texts;
}

std::string MessageOf(const std::string& archive) {
  return std::string(ReadAll(archive).status().message());
}

const std::string& Long() {
  static const auto& text = *new std::string(100000, 'a');
  return text;
}

std::string Whole() { return Zip({{"a", "some text"}, {"b/c", Long(), true}, {"d", "", true}}); }

TEST(ZipArchive, GivesStoredAndDeflatedMembers) {
  const std::string archive = Whole();
  const auto members = ReadZip(BytesOf(archive));
  ASSERT_TRUE(members.ok()) << members.status();
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[1].name, "b/c");
  EXPECT_TRUE((*members)[1].is_deflated);
  EXPECT_LT((*members)[1].packed.size(), 1000u);
  const auto stored = Unpack((*members)[0], nullptr);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->bytes.data(), (*members)[0].packed.data());
  const auto texts = ReadAll(archive);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, ::testing::ElementsAre("some text", Long(), ""));
}

TEST(ZipArchive, MayBeEmptyAndHaveAComment) {
  std::string archive = Zip({});
  archive[archive.size() - 2] = 5;
  archive += "hello";
  const auto members = ReadZip(BytesOf(archive));
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_TRUE(members->empty());
}

TEST(ZipArchive, NamesTheMemberWhoseBytesAreDamaged) {
  std::string stored = Whole();
  stored[stored.find("some text")] = 'S';
  EXPECT_THAT(MessageOf(stored), HasSubstr("member \"a\" is damaged: its checksum is"));
  std::string deflated = Zip({{"a", Long(), true}});
  const size_t start = 30 + 1 + 20;
  for (size_t i = start; i < start + 40; ++i) {
    std::string damaged = deflated;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    EXPECT_THAT(MessageOf(damaged), HasSubstr("member \"a\" is damaged"));
  }
}

TEST(ZipArchive, RefusesWhatItCannotUnpack) {
  std::string archive = Zip({{"a", "text", true}});
  const size_t entry = archive.find("PK\x01\x02");
  std::string encrypted = archive;
  encrypted[entry + 8] = 1;
  EXPECT_THAT(MessageOf(encrypted), HasSubstr("member \"a\" is encrypted"));
  std::string other = archive;
  other[entry + 10] = 14;
  EXPECT_THAT(MessageOf(other), HasSubstr("method 14"));
  std::string large = archive;  // would request 4 GiB
  large.replace(entry + 24, 4, "\xf0\xff\xff\xff");
  EXPECT_THAT(MessageOf(large), HasSubstr("do not unpack to 4294967280"));
  EXPECT_THAT(MessageOf("no archive"), HasSubstr("no directory at its end"));
  EXPECT_THAT(MessageOf(""), HasSubstr("no directory at its end"));
}

TEST(ZipArchive, SurvivesDamageAnywhere) {
  const std::string whole = Whole();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ReadAll(whole.substr(0, length)).ok()) << length;
  }
  std::mt19937 random(3);
  SCOPED_TRACE("seed 3");
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    const int count = 1 + static_cast<int>(random() % 3);
    for (int n = 0; n < count; ++n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto texts = ReadAll(damaged);
    if (!texts.ok()) continue;
    // Names, times and versions are not covered by a checksum.
    for (const std::string& text : *texts) EXPECT_LE(text.size(), Long().size());
  }
}

}  // namespace
}  // namespace tartan::data::zip_archive_test
