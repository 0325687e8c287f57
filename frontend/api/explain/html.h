// SPDX-License-Identifier: Apache-2.0
// Pages of HTML that need nothing beside them, and parts of them that a notebook shows.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tartan::api {

// As text between tags and in quoted attributes.
std::string Escaped(absl::string_view text);

struct HtmlCell {
  std::string html;
  // What a column of numbers is sorted by, where the text is a number with its unit; below 0: the
  // text.
  double value = -1;
};
// A number that is not known, "–", sorts after all others.
HtmlCell NumberCell(double value, std::string text);

// A table whose columns are sorted by a click on their heads. Columns from `first_number` on hold
// numbers.
class HtmlTable {
 public:
  HtmlTable(const std::vector<std::string>& heads, size_t first_number);
  void Add(const std::vector<HtmlCell>& cells);
  std::string ToString() const;

 private:
  const size_t first_number_;
  std::string head_;
  std::string rows_;
};

// A part with its style and its script, which touch nothing around it.
std::string HtmlPart(absl::string_view body);
// A whole page of the same.
std::string HtmlPage(absl::string_view title, absl::string_view body);

}  // namespace tartan::api
