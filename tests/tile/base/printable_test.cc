// SPDX-License-Identifier: Apache-2.0
#include "tile/base/printable.h"

#include <gtest/gtest.h>

#include <random>

namespace tartan {
namespace {

TEST(Printable, LeavesOrdinaryTextAlone) {
  for (const char* text : {"", "conv1/Relu:0", "größe × 数 😀", "a\\nb", "\"quoted\""}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(PrintableLines(text), text);
  }
}

TEST(Printable, WritesControlCharactersOut) {
  EXPECT_EQ(Printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(Printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Printable("\x7f"), "\\x7f");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(Printable(absl::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, WritesOutWhatTurnsTheDirection) {
  EXPECT_EQ(Printable("\u202e"
                      "abc"),
            "\\u202eabc");
  EXPECT_EQ(Printable("\u2066"
                      "abc"),
            "\\u2066abc");
}

TEST(Printable, WritesOutBytesThatAreNoUtf8) {
  EXPECT_EQ(Printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(Printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(Printable("\xc0\x80"), "\\xc0\\x80");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");
}

TEST(Printable, KeepsTheLinesOfATextOfSeveral) {
  EXPECT_EQ(PrintableLines("a\n\tb\x1b\r\n"), "a\n\tb\\x1b\\r\n");
}

TEST(Printable, ADocumentKeepsItsControlCharacters) {
  EXPECT_EQ(ValidUtf8("a\x1b\n\u202e"
                      "caf\xe9"),
            "a\x1b\n\u202e"
            "caf\\xe9");
}

TEST(Printable, OfRandomBytesIsPrintable) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string once = Printable(text);
    EXPECT_EQ(Printable(once), once);
    for (const char c : once) EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f);
  }
}

}  // namespace
}  // namespace tartan
