// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/explain/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tartan::api {
namespace {

constexpr char kPageStyle[] = R"(
:root { color-scheme: light dark; }
body { margin: 2em auto; max-width: 80em; padding: 0 1em; }
)";

// Colours that are legible on light and dark backgrounds, because a notebook has its own.
constexpr char kStyle[] = R"(
.tartan { font: 14px/1.45 system-ui, sans-serif; }
.tartan h1 { font-size: 1.5em; } .tartan h2 { font-size: 1.15em; margin-top: 2em; }
.tartan table { border-collapse: collapse; }
.tartan td, .tartan th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
.tartan th[data-s] { cursor: pointer; } .tartan th[data-s]:hover { text-decoration: underline; }
.tartan td.n, .tartan th.n { text-align: right; white-space: nowrap; }
.tartan tbody tr:nth-child(even) { background: #8881; }
.tartan code { font: 12px ui-monospace, monospace; white-space: pre-wrap; background: none; color: inherit; }
.tartan pre { font: 12px/1.3 ui-monospace, monospace; overflow: auto; max-height: 40em; border-left: 3px solid #8886; padding-left: 1em; }
.tartan summary { cursor: pointer; }
.tartan .scroll { overflow: auto; max-height: 40em; border: 1px solid #8886; } .tartan .bad { color: #e03030; }
.tartan svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
)";

// Sorts by data-v if a cell has it; numbers descending at first.
constexpr char kScript[] = R"(
document.querySelectorAll(".tartan th[data-s]").forEach(th => { th.onclick = () => {
  const body = th.closest("table").tBodies[0], i = th.cellIndex, up = th.dataset.s == "down";
  const key = row => { const c = row.cells[i]; return c.dataset.v === undefined ? c.textContent : Number(c.dataset.v); };
  const rows = [...body.rows].sort((a, b) => { const x = key(a), y = key(b);
    return (typeof x == "number" ? y - x : x.localeCompare(y)) * (up ? -1 : 1); });
  th.dataset.s = up ? "up" : "down"; body.append(...rows); }; });
)";

}  // namespace

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

HtmlCell NumberCell(double value, std::string text) {
  return value < 0 ? HtmlCell{"–", -1} : HtmlCell{std::move(text), value};
}

HtmlTable::HtmlTable(const std::vector<std::string>& heads, size_t first_number)
    : first_number_(first_number) {
  for (size_t i = 0; i < heads.size(); ++i) {
    absl::StrAppend(&head_, "<th", i >= first_number_ ? " class=n" : "",
                    heads[i].empty() ? "" : " data-s=\"\"", ">", heads[i], "</th>");
  }
}

void HtmlTable::Add(const std::vector<HtmlCell>& cells) {
  absl::StrAppend(&rows_, "<tr>");
  for (size_t i = 0; i < cells.size(); ++i) {
    const bool is_number = i >= first_number_;
    absl::StrAppend(&rows_, "<td", is_number ? " class=n" : "");
    if (is_number) absl::StrAppend(&rows_, " data-v=\"", cells[i].value, "\"");
    absl::StrAppend(&rows_, ">", cells[i].html, "</td>");
  }
  absl::StrAppend(&rows_, "</tr>\n");
}

std::string HtmlTable::ToString() const {
  return absl::StrCat("<table><thead><tr>", head_, "</tr></thead><tbody>\n", rows_,
                      "</tbody></table>\n");
}

std::string HtmlPart(absl::string_view body) {
  return absl::StrCat("<div class=tartan><style>", kStyle, "</style>\n", body, "<script>{", kScript,
                      "}</script></div>\n");
}

std::string HtmlPage(absl::string_view title, absl::string_view body) {
  return absl::StrCat("<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>",
                      Escaped(title), "</title><style>", kPageStyle, "</style></head><body>\n",
                      HtmlPart(absl::StrCat("<h1>", Escaped(title), "</h1>\n", body)),
                      "</body></html>\n");
}

}  // namespace tartan::api
