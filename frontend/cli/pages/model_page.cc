// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/pages/model_page.h"

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {
namespace {

using evaluator::CompiledProgram;

// Larger graphs are listed, not drawn.
constexpr size_t kMaxDrawnNodes = 600;

constexpr char kStyle[] = R"(
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
table { border-collapse: collapse; } td, th { padding: .15em .8em .15em 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; } tr:nth-child(even) { background: #8881; }
code { font: 12px ui-monospace, monospace; white-space: pre-wrap; }
.scroll { overflow: auto; max-height: 40em; border: 1px solid #8886; } .bad { color: #b00; }
svg text { font: 11px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } svg text { fill: #ddd; } }
)";

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// A table; columns from `first_number` on hold numbers.
class HtmlTable {
 public:
  HtmlTable(const std::vector<std::string>& heads, size_t first_number)
      : first_number_(first_number) {
    Row(heads, "th");
  }
  void Add(const std::vector<std::string>& cells) { Row(cells, "td"); }
  std::string ToString() const { return absl::StrCat("<table>", rows_, "</table>\n"); }

 private:
  // Cells are HTML already.
  void Row(const std::vector<std::string>& cells, absl::string_view tag) {
    absl::StrAppend(&rows_, "<tr>");
    for (size_t i = 0; i < cells.size(); ++i) {
      absl::StrAppend(&rows_, "<", tag, i >= first_number_ ? " class=n>" : ">", cells[i], "</", tag,
                      ">");
    }
    absl::StrAppend(&rows_, "</tr>\n");
  }

  const size_t first_number_;
  std::string rows_;
};

std::string Summary(const onnx::OnnxModel& model, const proto::InspectReport& report) {
  HtmlTable table({"", ""}, 2);
  for (const api::TensorSpec& spec : model.inputs()) {
    table.Add({"input", Escaped(spec.ToString())});
  }
  for (const api::TensorSpec& spec : model.outputs()) {
    table.Add({"output", Escaped(spec.ToString())});
  }
  if (!report.producer().empty()) table.Add({"producer", Escaped(report.producer())});
  table.Add(
      {"operator sets", Escaped(absl::StrJoin(model.opsets(), ", ", absl::PairFormatter(" ")))});
  table.Add({"parameters", FormatCount(report.parameters())});
  if (report.problem().empty()) {
    table.Add({"kernels", absl::StrCat(report.kernels())});
    table.Add({"work", absl::StrCat(FormatCount(report.flops()), "FLOP a run")});
    table.Add({"device memory", FormatBytes(report.peak_bytes())});
    table.Add({"device", Escaped(report.device())});
  } else {
    table.Add({"problem", absl::StrCat("<span class=bad>", Escaped(report.problem()), "</span>")});
  }
  return table.ToString();
}

std::string Operators(const proto::InspectReport& report) {
  HtmlTable table({"operator", "", "version", "nodes"}, 2);
  for (const auto& row : report.operators()) {
    const std::string name =
        row.domain() == "ai.onnx" ? row.name() : absl::StrCat(row.domain(), ".", row.name());
    table.Add({Escaped(name), row.supported() ? "" : "<span class=bad>not supported</span>",
               absl::StrCat(row.version()), absl::StrCat(row.count())});
  }
  return absl::StrCat("<h2>Operators</h2>\n", table.ToString());
}

// Nodes in rows: each below everything it reads.
struct Layout {
  std::vector<int> row;
  std::vector<int> column;
  int rows = 0;
  int columns = 0;
};

Layout PlaceNodes(const std::vector<onnx::NodeSummary>& nodes,
                  const std::map<std::string, size_t>& producers) {
  Layout layout;
  std::map<int, int> used;  // columns by row
  for (const onnx::NodeSummary& node : nodes) {
    int row = 0;
    for (const std::string& input : node.inputs) {
      const auto producer = producers.find(input);
      const bool is_before = producer != producers.end() && producer->second < layout.row.size();
      if (is_before) row = std::max(row, layout.row[producer->second] + 1);
    }
    layout.row.push_back(row);
    layout.column.push_back(used[row]++);
    layout.rows = std::max(layout.rows, row + 1);
    layout.columns = std::max(layout.columns, used[row]);
  }
  return layout;
}

std::string Drawing(const std::vector<onnx::NodeSummary>& nodes) {
  constexpr int kWidth = 130;
  constexpr int kHeight = 44;
  std::map<std::string, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) producers.emplace(output, i);
  }
  const Layout layout = PlaceNodes(nodes, producers);
  const auto x = [&](size_t i) { return layout.column[i] * kWidth + 10; };
  const auto y = [&](size_t i) { return layout.row[i] * kHeight + 10; };
  std::string edges;
  std::string boxes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].inputs) {
      const auto from = producers.find(input);
      if (from == producers.end()) continue;
      absl::StrAppend(&edges, "<line x1=", x(from->second) + 55, " y1=", y(from->second) + 24,
                      " x2=", x(i) + 55, " y2=", y(i), " stroke=\"#888\"/>\n");
    }
    absl::StrAppend(
        &boxes, "<g><title>", Escaped(nodes[i].label), "\n",
        Escaped(absl::StrJoin(nodes[i].inputs, ", ")), " → ",
        Escaped(absl::StrJoin(nodes[i].outputs, ", ")), "</title><rect x=", x(i), " y=", y(i),
        " width=110 height=24 rx=4 fill=\"#4a90d933\" stroke=\"#4a90d9\"/>", "<text x=", x(i) + 55,
        " y=", y(i) + 16, " text-anchor=middle>", Escaped(nodes[i].op), "</text></g>\n");
  }
  return absl::StrCat("<div class=scroll><svg width=", layout.columns * kWidth + 20,
                      " height=", layout.rows * kHeight + 20, ">\n", edges, boxes,
                      "</svg></div>\n");
}

std::string Graph(const std::vector<onnx::NodeSummary>& nodes) {
  const std::string head = absl::StrCat("<h2>Graph: ", nodes.size(), " nodes</h2>\n");
  if (nodes.size() <= kMaxDrawnNodes) return head + Drawing(nodes);
  HtmlTable table({"node", "operator", "reads", "makes"}, 4);
  for (const onnx::NodeSummary& node : nodes) {
    table.Add({Escaped(node.label), Escaped(node.op), Escaped(absl::StrJoin(node.inputs, ", ")),
               Escaped(absl::StrJoin(node.outputs, ", "))});
  }
  return absl::StrCat(head, "<div class=scroll>", table.ToString(), "</div>\n");
}

std::string Kernels(const CompiledProgram& program) {
  HtmlTable table({"kernel", "computes", "work-items", "group", "FLOP", "bytes"}, 2);
  for (const compiler::Step& step : program.list().steps) {
    const auto* launch = std::get_if<compiler::LaunchStep>(&step);
    if (launch == nullptr) continue;
    const loop::Kernel& kernel = program.list().kernels[static_cast<size_t>(launch->kernel)];
    table.Add({Escaped(kernel.name),
               absl::StrCat("<code>", Escaped(launch->description), "</code>"),
               absl::StrJoin(kernel.global_size, "×"), absl::StrJoin(kernel.local_size, "×"),
               FormatCount(launch->flops), FormatBytes(launch->bytes)});
  }
  return absl::StrCat("<h2>Kernels, in the order in which they run</h2>\n<div class=scroll>",
                      table.ToString(), "</div>\n");
}

std::vector<int> BuffersOf(const compiler::Step& step) {
  if (const auto* launch = std::get_if<compiler::LaunchStep>(&step)) return launch->buffers;
  if (const auto* fill = std::get_if<compiler::FillStep>(&step)) return {fill->buffer};
  const auto& copy = std::get<compiler::CopyStep>(step);
  return {copy.from, copy.to};
}

// Buffers of a run as boxes: from the first to the last step that touches them, at their place in
// the arena.
std::string Memory(const CompiledProgram& program) {
  const compiler::KernelList& list = program.list();
  const CompiledProgram::Region& frame = program.frame();
  const int64_t total = std::max<int64_t>(1, frame.plan.total_bytes());
  const double width = 900.0 / static_cast<double>(std::max<size_t>(1, list.steps.size()));
  constexpr double kHeight = 360;
  std::vector<int64_t> arena_begin = {0};
  for (int64_t bytes : frame.plan.arena_bytes) arena_begin.push_back(arena_begin.back() + bytes);
  std::map<int, std::pair<int, int>> lives;
  for (size_t s = 0; s < list.steps.size(); ++s) {
    for (int buffer : BuffersOf(list.steps[s])) {
      const auto life = lives.emplace(buffer, std::pair(static_cast<int>(s), 0)).first;
      life->second.second = static_cast<int>(s);
    }
  }
  std::string boxes;
  for (const auto& [buffer, life] : lives) {
    const size_t b = static_cast<size_t>(buffer);
    if (frame.slot[b] < 0) continue;
    const evaluator::Placement& place = frame.plan.placements[static_cast<size_t>(frame.slot[b])];
    const double scale = kHeight / static_cast<double>(total);
    const double top =
        static_cast<double>(arena_begin[static_cast<size_t>(place.arena)] + place.offset) * scale;
    absl::StrAppend(&boxes, "<rect x=", life.first * width, " y=", top,
                    " width=", (life.second - life.first + 1) * width,
                    " height=", std::max(1.0, static_cast<double>(place.bytes) * scale),
                    " fill=\"hsl(", buffer * 47 % 360, " 60% 60% / .7)\" stroke=\"#333\"><title>",
                    Escaped(list.buffers[b].name), ": ", list.buffers[b].shape.ToString(), ", ",
                    FormatBytes(static_cast<double>(place.bytes)), "</title></rect>\n");
  }
  return absl::StrCat("<h2>Memory of a run: ", FormatBytes(static_cast<double>(total)),
                      ", steps from left to right</h2>\n<svg width=900 height=", kHeight, ">",
                      boxes, "</svg>\n<p>Weights and what is computed from them alone: ",
                      FormatBytes(static_cast<double>(program.resident_bytes())), ".</p>\n");
}

}  // namespace

std::string ModelPage(const onnx::OnnxModel& model, const proto::InspectReport& report,
                      const CompiledProgram* program) {
  std::string page = absl::StrCat(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>", Escaped(model.name()),
      "</title><style>", kStyle, "</style></head><body>\n<h1>", Escaped(model.name()), "</h1>\n",
      Summary(model, report), Operators(report), Graph(model.Nodes()));
  if (program != nullptr) absl::StrAppend(&page, Kernels(*program), Memory(*program));
  return absl::StrCat(page, "</body></html>\n");
}

}  // namespace tartan::cli
