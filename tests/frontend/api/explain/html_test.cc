// SPDX-License-Identifier: Apache-2.0
// Tests that text is escaped in HTML, and that numbers sort numerically.
#include "frontend/api/explain/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/api/explain/units.h"

namespace tartan::api::html_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Html, NamesAreText) {
  EXPECT_EQ(Escaped("<x> & \"y\""), "&lt;x&gt; &amp; &quot;y&quot;");
  EXPECT_THAT(HtmlPage("<script>", "body"),
              AllOf(HasSubstr("<title>&lt;script&gt;</title>"), HasSubstr("&lt;script&gt;</h1>")));
}

TEST(Html, APartIsNoPage) {
  EXPECT_THAT(HtmlPart("<p>x</p>"), AllOf(HasSubstr("<p>x</p>"), Not(HasSubstr("<html"))));
  EXPECT_THAT(HtmlPage("title", "<p>x</p>"),
              AllOf(HasSubstr("<!doctype html>"), HasSubstr("</html>"), Not(HasSubstr("http"))));
}

TEST(Html, ColumnsOfNumbersKnowTheirValues) {
  HtmlTable table({"name", "time"}, 1);
  table.Add({{"a"}, NumberCell(1500, FormatMicroseconds(1500))});
  table.Add({{"b"}, NumberCell(-1, FormatMicroseconds(-1))});
  EXPECT_THAT(table.ToString(), AllOf(HasSubstr("<td>a</td><td class=n data-v=\"1500\">1.50 ms"),
                                      HasSubstr("<td>b</td><td class=n data-v=\"-1\">–</td>")));
}

TEST(Units, AreThoseThatAreRead) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatFlops(999), "999 FLOP");
  EXPECT_EQ(FormatFlops(31200), "31.2 kFLOP");
  EXPECT_EQ(FormatMicroseconds(0.844), "0.84 µs");
  EXPECT_EQ(FormatMicroseconds(12.34), "12.3 µs");
  EXPECT_EQ(FormatMicroseconds(2500), "2.50 ms");
  EXPECT_EQ(FormatMs(1520), "1.52 s");
}

}  // namespace
}  // namespace tartan::api::html_test
