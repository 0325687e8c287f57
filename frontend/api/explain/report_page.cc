// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/explain/report_page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/api/explain/html.h"
#include "frontend/api/explain/units.h"

namespace tartan::api {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 360;
// Maximum number of buffers in the drawing and the table, the largest first, and maximum number of
// overlapping buffers listed by name.
constexpr size_t kMaxBuffers = 400;
constexpr size_t kMaxOverlappingBuffers = 6;

// "8×4 of 16": work-groups, and work-items per group.
std::string Sizes(const std::array<int64_t, 3>& sizes) {
  size_t count = 3;
  while (count > 1 && sizes[count - 1] == 1) --count;
  return absl::StrJoin(sizes.begin(), sizes.begin() + count, "×");
}

std::string Code(absl::string_view text) {
  return absl::StrCat("<code>", Escaped(text), "</code>");
}

std::string Details(absl::string_view summary, absl::string_view text) {
  if (text.empty()) return "";
  return absl::StrCat("<details><summary>", summary, "</summary><pre>", Escaped(text),
                      "</pre></details>");
}

double KeyOf(const KernelReport& kernel) {
  return kernel.measured_us >= 0 ? kernel.measured_us : kernel.predicted_us;
}

double MeasuredUs(const ProgramReport& report) {
  double sum = -1;
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.measured_us >= 0) sum = std::max(0.0, sum) + kernel.measured_us;
  }
  return sum;
}

absl::string_view KindOf(compiler::BufferKind kind) {
  switch (kind) {
    case compiler::BufferKind::kInput:
      return "input";
    case compiler::BufferKind::kConstant:
      return "constant";
    case compiler::BufferKind::kPersistent:
      return "computed from constants";
    case compiler::BufferKind::kOutput:
      return "output";
    case compiler::BufferKind::kState:
      return "variable";
    case compiler::BufferKind::kTemporary:
      break;
  }
  return "temporary";
}

// The largest buffers, in report order.
std::vector<size_t> ShownBuffers(const ProgramReport& report) {
  std::vector<size_t> shown;
  for (size_t b = 0; b < report.buffers.size(); ++b) shown.push_back(b);
  if (shown.size() > kMaxBuffers) {
    std::stable_sort(shown.begin(), shown.end(), [&](size_t a, size_t b) {
      return report.buffers[a].bytes > report.buffers[b].bytes;
    });
    shown.resize(kMaxBuffers);
    std::sort(shown.begin(), shown.end());
  }
  return shown;
}

// Draws each buffer as a box from the first to the last step that needs it, at its offset in
// memory.
std::string Drawing(const ProgramReport& report, const std::vector<size_t>& shown) {
  const double across = kWidth / std::max(1, report.steps);
  const double down = kHeight / static_cast<double>(std::max<int64_t>(1, report.scratch));
  std::string boxes;
  for (const size_t b : shown) {
    const BufferReport& buffer = report.buffers[b];
    if (buffer.offset < 0) continue;
    absl::StrAppendFormat(
        &boxes,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"hsl(%d 60%% 60%% / "
        ".7)\" stroke=\"#888\"><title>%s: %s, %s</title></rect>\n",
        buffer.first_step * across, static_cast<double>(buffer.offset) * down,
        (buffer.last_step - buffer.first_step + 1) * across,
        std::max(1.0, static_cast<double>(buffer.placed_bytes) * down), b * 47 % 360,
        Escaped(buffer.name), buffer.shape.ToString(),
        FormatBytes(static_cast<double>(buffer.placed_bytes)));
  }
  return absl::StrFormat("<div class=scroll><svg width=\"%.0f\" height=\"%.0f\">%s</svg></div>\n",
                         kWidth, kHeight, boxes);
}

std::string OverlappingBuffers(const ProgramReport& report, const BufferReport& buffer) {
  std::vector<std::string> names;
  for (const int other : buffer.shares_with) {
    if (names.size() == kMaxOverlappingBuffers) break;
    names.push_back(Escaped(report.buffers[static_cast<size_t>(other)].name));
  }
  if (buffer.shares_with.size() > names.size()) {
    names.push_back(absl::StrCat(buffer.shares_with.size() - names.size(), " more"));
  }
  return absl::StrJoin(names, ", ");
}

std::string BufferTable(const ProgramReport& report, const std::vector<size_t>& shown) {
  HtmlTable table({"value", "is", "shape", "shares memory with", "size", "place", "steps"}, 4);
  for (const size_t b : shown) {
    const BufferReport& buffer = report.buffers[b];
    const bool is_placed = buffer.offset >= 0;
    table.Add({{Escaped(buffer.name)},
               {std::string(KindOf(buffer.kind))},
               {Escaped(buffer.shape.ToString())},
               {OverlappingBuffers(report, buffer)},
               NumberCell(static_cast<double>(buffer.bytes),
                          FormatBytes(static_cast<double>(buffer.bytes))),
               NumberCell(is_placed ? static_cast<double>(buffer.offset) : -1,
                          absl::StrCat("byte ", buffer.offset)),
               NumberCell(is_placed ? buffer.first_step : -1,
                          absl::StrCat(buffer.first_step, " to ", buffer.last_step))});
  }
  return table.ToString();
}

std::string Summary(const ProgramReport& report) {
  double flops = 0;
  double predicted = -1;
  for (const KernelReport& kernel : report.kernels) {
    flops += kernel.flops;
    if (kernel.predicted_us >= 0) predicted = std::max(0.0, predicted) + kernel.predicted_us;
  }
  const double measured = MeasuredUs(report);
  HtmlTable table({"", ""}, 2);
  const auto row = [&](const char* name, std::string text) { table.Add({{name}, {text}}); };
  row("tier", report.tier == "host" ? "computed by the host, without kernels" : report.tier);
  row("device", Escaped(report.device));
  if (report.tier == "host") return table.ToString();
  std::vector<std::string> inputs;
  for (const BufferReport& buffer : report.buffers) {
    if (buffer.kind == compiler::BufferKind::kInput) inputs.push_back(buffer.shape.ToString());
  }
  if (!inputs.empty()) row("inputs", Escaped(absl::StrJoin(inputs, ", ")));
  row("kernels", absl::StrCat(report.kernels.size(), ", launched ", report.launches.size(),
                              " times in a run of ", report.steps, " steps"));
  row("work", absl::StrCat(FormatFlops(flops), " per run"));
  if (measured >= 0) row("measured", absl::StrCat(FormatMicroseconds(measured), " in kernels"));
  if (predicted >= 0) row("predicted", absl::StrCat(FormatMicroseconds(predicted), " in kernels"));
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  row("memory",
      absl::StrCat("constants ", bytes(report.constants), ", variables ", bytes(report.states),
                   ", per run ", bytes(report.scratch), " (", bytes(report.unshared),
                   " without sharing), at most ", bytes(report.peak), " live at once"));
  return table.ToString();
}

}  // namespace

std::string KernelsHtml(const ProgramReport& report) {
  std::vector<const KernelReport*> kernels;
  for (const KernelReport& kernel : report.kernels) kernels.push_back(&kernel);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto* a, const auto* b) { return KeyOf(*a) > KeyOf(*b); });
  const double total = MeasuredUs(report);
  HtmlTable table({"kernel", "computes", "operations", "launches", "work-groups", "work", "bytes",
                   "predicted", "measured", "share"},
                  3);
  for (const KernelReport* kernel : kernels) {
    const double share = kernel->measured_us >= 0 && total > 0 ? kernel->measured_us / total : -1;
    table.Add(
        {{absl::StrCat(Code(kernel->name), Details("plan", absl::StrJoin(kernel->plans, "\n\n")),
                       Details("source", kernel->source))},
         {Code(absl::StrJoin(kernel->computes, "\n"))},
         {Code(absl::StrJoin(kernel->operations, "\n"))},
         {kernel->setup_launches > 0
              ? absl::StrCat(kernel->launches, " and ", kernel->setup_launches, " at load")
              : absl::StrCat(kernel->launches),
          static_cast<double>(kernel->launches)},
         {absl::StrCat(Sizes(kernel->groups), " of ", Sizes(kernel->local_size)),
          static_cast<double>(kernel->groups[0] * kernel->groups[1] * kernel->groups[2])},
         {FormatFlops(kernel->flops), kernel->flops},
         {FormatBytes(kernel->bytes), kernel->bytes},
         NumberCell(kernel->predicted_us, FormatMicroseconds(kernel->predicted_us)),
         NumberCell(kernel->measured_us, FormatMicroseconds(kernel->measured_us)),
         NumberCell(share, absl::StrFormat("%.1f %%", 100 * share))});
  }
  return table.ToString();
}

std::string MemoryHtml(const ProgramReport& report) {
  const std::vector<size_t> shown = ShownBuffers(report);
  const std::string left_out =
      shown.size() == report.buffers.size()
          ? ""
          : absl::StrCat("<p>The ", shown.size(), " largest of ", report.buffers.size(), ".</p>\n");
  return absl::StrCat(Drawing(report, shown), left_out, "<details><summary>", shown.size(),
                      " values</summary><div class=scroll>", BufferTable(report, shown),
                      "</div></details>\n");
}

std::string ReportsHtml(absl::Span<const ProgramReport> reports) {
  std::string html;
  for (const ProgramReport& report : reports) {
    absl::StrAppend(&html, "<h2>", Escaped(report.name), "</h2>\n", Summary(report));
    if (report.tier == "host") continue;
    absl::StrAppend(&html, "<h3>Kernels, longest time first</h3>\n", KernelsHtml(report),
                    "<h3>Launches, with accepted (+) and refused (-) fusions</h3>\n",
                    Details("launches", compiler::FusionText(report.fusion)),
                    "<h3>Memory of a run: ", FormatBytes(static_cast<double>(report.scratch)),
                    ", with steps from left to right</h3>\n", MemoryHtml(report));
  }
  return html;
}

}  // namespace tartan::api
