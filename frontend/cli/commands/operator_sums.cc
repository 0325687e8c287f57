// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/operator_sums.h"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {
namespace {

bool IsView(const std::string& op) {
  static const auto& views = *new std::set<std::string>{"Dropout", "Flatten", "Identity",
                                                        "Reshape", "Squeeze", "Unsqueeze"};
  return views.count(op) > 0;
}

// Converts a label to the compiler's form of names: letters, digits and underscores, starting with
// a capital.
std::string NameOf(const std::string& label) {
  std::string name;
  for (const char c : label) {
    name.push_back(absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_');
  }
  if (name.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(name[0])))
    name.insert(0, "T");
  name[0] = absl::ascii_toupper(static_cast<unsigned char>(name[0]));
  return name;
}

class Nodes {
 public:
  explicit Nodes(const std::vector<onnx::NodeSummary>& nodes) : nodes_(nodes) {
    std::set<std::string> fixed;  // values that depend on no input elements
    for (size_t n = 0; n < nodes.size(); ++n) {
      by_name_.emplace(NameOf(nodes[n].label), n);
      for (const std::string& output : nodes[n].outputs) makers_[output] = n;
    }
    for (size_t n = 0; n < nodes.size(); ++n) {
      const onnx::NodeSummary& node = nodes[n];
      const bool is_fixed =
          node.op == "Shape" || node.op == "Size" || node.op == "Constant" ||
          (!node.inputs.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](const std::string& name) { return fixed.count(name) > 0; }));
      is_fixed_.push_back(is_fixed);
      if (is_fixed) fixed.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  // The nodes named in a kernel's values: "Relu1 float32[1, 64], Relu1_Sum float32[1]".
  std::set<size_t> Named(const proto::BenchReport::Kernel& kernel) const {
    static const RE2& pattern = *new RE2("([A-Za-z][A-Za-z0-9_]*) [a-z]+[0-9]*\\[");
    std::set<size_t> found;
    for (const std::string& text : kernel.nodes()) {
      re2::StringPiece rest(text);
      std::string name;
      while (RE2::FindAndConsume(&rest, pattern, &name)) {
        if (const auto node = Find(name); node != nodes_.size()) found.insert(node);
      }
    }
    return found;
  }

  // Returns `named` and all predecessors that no kernel is named after: the kernel
  // computes them, too.
  std::set<size_t> Computed(const std::set<size_t>& named, const std::set<size_t>& of_any) const {
    std::set<size_t> computed = named;
    std::vector<size_t> waiting(named.begin(), named.end());
    while (!waiting.empty()) {
      const size_t node = waiting.back();
      waiting.pop_back();
      for (const std::string& input : nodes_[node].inputs) {
        const auto maker = makers_.find(input);
        if (maker == makers_.end() || of_any.count(maker->second) > 0) continue;
        if (is_fixed_[maker->second] || !computed.insert(maker->second).second) continue;
        waiting.push_back(maker->second);
      }
    }
    return computed;
  }

  std::string Operators(const std::set<size_t>& computed) const {
    std::vector<std::string> operators, views;
    for (const size_t node : computed) {
      std::vector<std::string>& list = IsView(nodes_[node].op) ? views : operators;
      if (std::find(list.begin(), list.end(), nodes_[node].op) == list.end())
        list.push_back(nodes_[node].op);
    }
    return absl::StrJoin(operators.empty() ? views : operators, "+");
  }

 private:
  // The node with the longest label that is a prefix of the name.
  size_t Find(absl::string_view name) const {
    if (absl::StartsWith(name, "Out_")) name.remove_prefix(4);
    while (true) {
      const auto found = by_name_.find(std::string(name));
      if (found != by_name_.end()) return found->second;
      const size_t end = name.rfind('_');
      if (end == absl::string_view::npos) return nodes_.size();
      name = name.substr(0, end);
    }
  }

  const std::vector<onnx::NodeSummary>& nodes_;
  std::unordered_map<std::string, size_t> by_name_;
  std::unordered_map<std::string, size_t> makers_;  // node of each value
  std::vector<bool> is_fixed_;
};

}  // namespace

void SumByOperators(const std::vector<onnx::NodeSummary>& nodes, const KernelRows& kernels,
                    OperatorRows* sums) {
  const Nodes graph(nodes);
  std::vector<std::set<size_t>> named;
  std::set<size_t> of_any;
  for (const proto::BenchReport::Kernel& kernel : kernels) {
    named.push_back(graph.Named(kernel));
    of_any.insert(named.back().begin(), named.back().end());
  }
  std::map<std::string, proto::BenchReport::Operators> rows;
  for (int k = 0; k < kernels.size(); ++k) {
    const std::string operators =
        graph.Operators(graph.Computed(named[static_cast<size_t>(k)], of_any));
    proto::BenchReport::Operators& row = rows[operators];
    row.set_operators(operators);
    row.set_kernels(row.kernels() + 1);
    row.set_ms(row.ms() + kernels[k].ms());
    row.set_share(row.share() + kernels[k].share());
  }
  std::vector<const proto::BenchReport::Operators*> order;
  for (const auto& [name, row] : rows) order.push_back(&row);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->ms() > b->ms(); });
  for (const proto::BenchReport::Operators* row : order) *sums->Add() = *row;
}

std::string OperatorsText(const OperatorRows& sums) {
  using Align = Table::Align;
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.AddRow({"time", "share", "kernels", "operators"});
  for (const proto::BenchReport::Operators& row : sums) {
    table.AddRow({FormatMs(row.ms()), absl::StrFormat("%.1f %%", 100 * row.share()),
                  absl::StrCat(row.kernels()),
                  row.operators().empty() ? "(no operator)" : row.operators()});
  }
  return table.ToString("  ");
}

}  // namespace tartan::cli
