// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/operator_list.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/model/model_reader.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/node_case.h"
#include "tests/frontend/onnx/operator_notes.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Key = std::pair<std::string, std::string>;  // domain, name

constexpr char kListOfCases[] = "tests/frontend/onnx/node_cases.txt";

struct Count {
  int passing = 0;
  int all = 0;
};

void AddOperators(const GraphProto& graph, std::set<Key>* operators) {
  for (const NodeProto& node : graph.node()) {
    operators->emplace(std::string(NormalDomain(node.domain())), node.op_type());
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) AddOperators(attribute.g(), operators);
    }
  }
}

// For each operator, the number of cases, and the number of those in `passing`.
absl::StatusOr<std::map<Key, Count>> CountCases(const std::set<std::string>& passing) {
  std::map<Key, Count> counts;
  for (const char* group : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    for (const std::string& folder : ListCases(group)) {
      TARTAN_ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(folder + "/model.onnx"));
      std::set<Key> operators;
      AddOperators(file.proto->graph(), &operators);
      const std::string name =
          absl::StrCat(group, "/", std::filesystem::path(folder).filename().string());
      for (const Key& key : operators) {
        counts[key].all += 1;
        counts[key].passing += static_cast<int>(passing.count(name));
      }
    }
  }
  return counts;
}

std::string Operands(const OperatorRow& row) {
  const auto [least, most] = row.arity;
  if (most == kAnyNumber) return absl::StrCat(least, " or more");
  return least == most ? absl::StrCat(least) : absl::StrCat(least, "–", most);
}

std::string Elements(const OperatorRow& row) {
  if (row.value_handler != nullptr) return "all, and other values";
  return row.elements == ElementUse::kRefused ? "numbers" : "all";
}

std::string Row(const Key& key, const OperatorRow& newest, const std::map<Key, Count>& counts) {
  const auto count = counts.find(key);
  const std::string cases =
      count == counts.end() ? "" : absl::StrCat(count->second.passing, " / ", count->second.all);
  return absl::StrCat(
      "| ", key.second, " | ", absl::StrJoin(OperatorVersions(key.first, key.second), ", "), " | ",
      Operands(newest), " | ", Elements(newest), " | ", cases, " | ", NoteOf(key.second), " |\n");
}

constexpr char kHead[] = R"(# Operators

Written by `onnx_operator_list docs/operators.md`; a test compares the page with the table of
operators.

*From* lists the operator sets that introduced a form we import; a form holds until the next.
*Elements*: "numbers" are bool, int8–int64, uint8–uint64, float16, bfloat16, float32 and float64, as
far as the standard allows them for the operator; "all" are these, strings, and the narrow types
(float8, float4, int4, int2 …); "other values" are sequences and optionals. *Cases* counts the
official backend cases (`libonnx-testdata`) whose models use the operator, passing ones first.
)";

constexpr char kMicrosoftHead[] = R"(
What onnxruntime 1.31 documents of this domain besides, 52 of 136 operators:

| not there | why |
|---|---|
)";

constexpr char kDecisionsHead[] = R"(
## Where the standard leaves a choice

The rule is in `frontend/onnx/README.md`: the standard's text; where it is silent, the common answer
of PyTorch and onnxruntime; the reference evaluator only after them.
`scripts/compare_operators.py FOLDER --against onnxruntime` compares the rest; its recipes leave out
cases with another decision here.

| operators | question | here | as |
|---|---|---|---|
)";

}  // namespace

absl::StatusOr<std::string> OperatorList() {
  std::ifstream list(kListOfCases);
  if (!list.good() || ListCases("node").empty()) return absl::NotFoundError("no official cases");
  std::set<std::string> passing;
  for (std::string name; std::getline(list, name);) passing.insert(name);
  TARTAN_ASSIGN_OR_RETURN(const auto counts, CountCases(passing));

  std::map<std::string, std::map<std::string, const OperatorRow*>> domains;
  for (const OperatorRow* row : AllOperators()) {
    const OperatorRow*& newest = domains[std::string(row->domain)][std::string(row->name)];
    if (newest == nullptr || newest->since_version < row->since_version) newest = row;
  }
  std::string page = kHead;
  for (const auto& [domain, operators] : domains) {
    absl::StrAppend(&page, "\n## ", domain.empty() ? "ai.onnx" : domain, " (", operators.size(),
                    ")\n\n| operator | from | operands | elements | cases | notes |\n",
                    "|---|---|---|---|---|---|\n");
    for (const auto& [name, newest] : operators) page += Row({domain, name}, *newest, counts);
    if (domain == "com.microsoft") {
      absl::StrAppend(&page, kMicrosoftHead);
      for (const Reason& reason : MissingMicrosoftOperators()) {
        absl::StrAppend(&page, "| ", reason.name, " | ", reason.text, " |\n");
      }
    }
  }
  std::vector<std::string> missing;
  for (const auto& [key, count] : counts) {
    if (!OperatorVersions(key.first, key.second).empty()) continue;
    missing.push_back(
        absl::StrCat(key.first, key.first.empty() ? "" : ".", key.second, " (", count.all, ")"));
  }
  absl::StrAppend(
      &page, "\n## Not there\n\n",
      missing.empty() ? "Nothing that an official case uses." : absl::StrJoin(missing, ", "), "\n");
  absl::StrAppend(&page, kDecisionsHead);
  for (const Decision& decision : Decisions()) {
    absl::StrAppend(&page, "| ", decision.operators, " | ", decision.question, " | ",
                    decision.answer, " | ", decision.source, " |\n");
  }
  return page;
}

}  // namespace tartan::onnx
