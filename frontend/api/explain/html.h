// SPDX-License-Identifier: Apache-2.0
// Self-contained HTML pages, and parts of them that a notebook shows.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tartan::api {

// Escapes text for use between tags and in quoted attributes.
std::string Escaped(absl::string_view text);

struct HtmlCell {
  std::string html;
  // Sort key of a number with its unit; below 0: sort by the text.
  double value = -1;
};
// A cell with a number. Unknown numbers ("–") sort last.
HtmlCell NumberCell(double value, std::string text);

// A table whose columns sort by a click on their heads. Columns from `first_number` on contain
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

// A fragment with its own style and script, which affect nothing else on the page.
std::string HtmlPart(absl::string_view body);
// A whole page with `body`.
std::string HtmlPage(absl::string_view title, absl::string_view body);

}  // namespace tartan::api
