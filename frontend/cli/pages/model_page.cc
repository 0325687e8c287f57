// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/pages/model_page.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/explain/html.h"
#include "frontend/api/explain/report_page.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {
namespace {

using api::Escaped;
using api::HtmlTable;

// Maximum number of nodes to draw; larger graphs are only listed.
constexpr size_t kMaxDrawnNodes = 600;

std::string Summary(const onnx::OnnxModel& model, const proto::InspectReport& report) {
  HtmlTable table({"", ""}, 2);
  for (const api::TensorSpec& spec : model.inputs()) {
    table.Add({{"input"}, {Escaped(spec.ToString())}});
  }
  for (const api::TensorSpec& spec : model.outputs()) {
    table.Add({{"output"}, {Escaped(spec.ToString())}});
  }
  if (!report.producer().empty()) table.Add({{"producer"}, {Escaped(report.producer())}});
  table.Add({{"operator sets"},
             {Escaped(absl::StrJoin(model.opsets(), ", ", absl::PairFormatter(" ")))}});
  table.Add({{"parameters"}, {FormatCount(report.parameters())}});
  if (report.problem().empty()) {
    table.Add({{"kernels"}, {absl::StrCat(report.kernels())}});
    table.Add({{"work"}, {absl::StrCat(FormatCount(report.flops()), "FLOP per run")}});
    table.Add({{"device memory"}, {FormatBytes(report.peak_bytes())}});
    table.Add({{"device"}, {Escaped(report.device())}});
  } else {
    table.Add(
        {{"problem"}, {absl::StrCat("<span class=bad>", Escaped(report.problem()), "</span>")}});
  }
  return table.ToString();
}

std::string Operators(const proto::InspectReport& report) {
  HtmlTable table({"operator", "", "version", "nodes"}, 2);
  for (const auto& row : report.operators()) {
    const std::string name =
        row.domain() == "ai.onnx" ? row.name() : absl::StrCat(row.domain(), ".", row.name());
    table.Add({{Escaped(name)},
               {row.supported() ? "" : "<span class=bad>not supported</span>"},
               {absl::StrCat(row.version()), static_cast<double>(row.version())},
               {absl::StrCat(row.count()), static_cast<double>(row.count())}});
  }
  return absl::StrCat("<h2>Operators</h2>\n", table.ToString());
}

// Nodes in rows, each below everything it reads.
struct Layout {
  std::vector<int> row;
  std::vector<int> column;
  int rows = 0;
  int columns = 0;
};

Layout PlaceNodes(const std::vector<onnx::NodeSummary>& nodes,
                  const std::map<std::string, size_t>& producers) {
  Layout layout;
  std::map<int, int> used;  // columns used per row
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
    table.Add({{Escaped(node.label)},
               {Escaped(node.op)},
               {Escaped(absl::StrJoin(node.inputs, ", "))},
               {Escaped(absl::StrJoin(node.outputs, ", "))}});
  }
  return absl::StrCat(head, "<div class=scroll>", table.ToString(), "</div>\n");
}

}  // namespace

std::string ModelPage(const onnx::OnnxModel& model, const proto::InspectReport& report,
                      const api::ProgramReport* program) {
  std::string body = absl::StrCat(Summary(model, report), Operators(report), Graph(model.Nodes()));
  if (program != nullptr) {
    absl::StrAppend(&body, "<h2>Kernels, longest time first</h2>\n", api::KernelsHtml(*program),
                    "<h2>Memory of a run: ", FormatBytes(static_cast<double>(program->scratch)),
                    ", with steps from left to right</h2>\n", api::MemoryHtml(*program),
                    "<p>Weights and values computed from weights only: ",
                    FormatBytes(static_cast<double>(program->constants)), ".</p>\n");
  }
  return api::HtmlPage(model.name(), body);
}

}  // namespace tartan::cli
