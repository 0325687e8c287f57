// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/sparse_rows.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

using api::Tensor;
using api::TensorNode;
using NodePtr = std::shared_ptr<const TensorNode>;

// All nodes that read one of the tables, by table. The tables are placeholders.
std::unordered_map<const TensorNode*, std::vector<NodePtr>> ReadersOf(
    const Tensor& loss, const std::unordered_set<const TensorNode*>& tables) {
  std::unordered_map<const TensorNode*, std::vector<NodePtr>> readers;
  std::unordered_set<const TensorNode*> seen;
  std::vector<NodePtr> stack = {loss.node()};
  while (!stack.empty()) {
    const NodePtr node = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(node.get()).second) continue;
    for (const api::NodeResult& input : api::InputsOf(*node)) {
      if (tables.count(input.node.get()) > 0) readers[input.node.get()].push_back(node);
      stack.push_back(input.node);
    }
  }
  return readers;
}

// The call, if the statement assigns one whose first argument is the tensor.
const lang::Call* CallOn(const lang::Statement& statement, const std::string& tensor) {
  const auto* assignment = std::get_if<lang::Assignment>(&statement.node);
  if (assignment == nullptr) return nullptr;
  const auto* call = std::get_if<lang::Call>(&assignment->value->node);
  if (call == nullptr || call->arguments.empty()) return nullptr;
  const auto* name = std::get_if<lang::Name>(&call->arguments[0]->node);
  return name == nullptr || name->name != tensor ? nullptr : call;
}

// Returns true if the function is gather(T, I, 0), whose result may be converted.
bool IsGatherOfRows(const lang::Function& function) {
  if (function.inputs.size() != 2 || function.outputs.size() != 1) return false;
  std::string last = function.inputs[0].name;
  for (const lang::Statement& statement : function.statements) {
    const lang::Call* call = CallOn(statement, last);
    if (call == nullptr) return false;
    if (&statement == &function.statements[0]) {
      if (call->function != "gather" || call->arguments.size() != 3) return false;
      const auto* ids = std::get_if<lang::Name>(&call->arguments[1]->node);
      const auto* axis = std::get_if<lang::IntLiteral>(&call->arguments[2]->node);
      if (ids == nullptr || ids->name != function.inputs[1].name) return false;
      if (axis == nullptr || axis->value != 0) return false;
    } else if (call->function != "as_float" && call->function != "as_bfloat") {
      return false;
    }
    last = std::get<lang::Assignment>(statement.node).target;
  }
  return !function.statements.empty() && last == function.outputs[0];
}

absl::Span<const int64_t> RowDims(const TensorShape& table) {
  return absl::MakeConstSpan(table.dims).subspan(1);
}

}  // namespace

absl::Status CheckRowOptimizer(const Optimizer& optimizer) {
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
    case OptimizerKind::kAdagrad:
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("the optimizer ", Name(optimizer.kind),
                       " cannot update single rows of an embedding; sgd, adagrad, adam and adamw "
                       "can"));
  }
}

// The lookup, if the node is a Gather of rows of the table, whose result may be converted.
RowUpdates::Lookup RowUpdates::LookupOf(const NodePtr& node, const Tensor& table) {
  Lookup none;
  const auto* application = std::get_if<api::ApplicationNode>(&node->kind);
  if (application == nullptr || application->inputs.size() != 2 ||
      application->inputs[0].node != table.node() || !IsGatherOfRows(*application->function)) {
    return none;
  }
  const api::NodeResult& ids = application->inputs[1];
  return Lookup{Tensor(ids.node, ids.result), Tensor(node, 0), {}, {}};
}

const RowUpdates::Lookup* RowUpdates::LookupOf(const Tensor& master) const {
  const auto found = lookups_.find(master.node().get());
  return found == lookups_.end() ? nullptr : &found->second;
}

absl::Status RowUpdates::Find(const Tensor& loss, const std::vector<Parameter>& parameters,
                              const std::map<std::string, Tensor>& masters) {
  std::unordered_set<const TensorNode*> tables;
  for (const Parameter& parameter : parameters) {
    if (parameter.is_trained && parameter.role == Role::kEmbedding)
      tables.insert(masters.at(parameter.name).node().get());
  }
  const auto readers = ReadersOf(loss, tables);
  for (const Parameter& parameter : parameters) {
    if (!parameter.is_trained || parameter.role != Role::kEmbedding) continue;
    const Tensor& table = masters.at(parameter.name);
    const auto found = readers.find(table.node().get());
    if (found == readers.end()) continue;  // the loss does not depend on it
    Lookup lookup;
    if (found->second.size() == 1) lookup = LookupOf(found->second[0], table);
    if (!lookup.rows.defined()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the embedding '", parameter.name,
          "' cannot be updated by rows: its only reader must be one Gather of float32 rows"));
    }
    lookups_.emplace(table.node().get(), std::move(lookup));
  }
  if (!lookups_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "no embedding can be updated by rows: no Gather reads rows of a trained parameter");
}

const Tensor& RowUpdates::SourceOf(const Tensor& master) const {
  const Lookup* const lookup = LookupOf(master);
  return lookup == nullptr ? master : lookup->rows;
}

absl::Status RowUpdates::Sum(const std::vector<Parameter>& parameters,
                             const std::map<std::string, Tensor>& masters,
                             std::vector<Tensor>* gradients) {
  size_t next = 0;
  for (const Parameter& parameter : parameters) {
    if (!parameter.is_trained) continue;
    Tensor& gradient = (*gradients)[next++];
    const auto found = lookups_.find(masters.at(parameter.name).node().get());
    if (found == lookups_.end()) continue;
    Lookup& lookup = found->second;
    const int64_t rows = parameter.shape.dims[0];
    const int64_t count = lookup.ids.shape().element_count();
    const std::string text = absl::StrCat(
        "function (I, G, Z) -> (C, T, S) {\n", "F = reshape(I, ", count, ");\n", "N = F < 0 ? F + ",
        rows, " : F;\n", "C = as_int(max(min(N, ", rows - 1, "), 0), 32);\n", "P = index(C, 0);\n",
        "L = scatter_nd(as_int(Z, 32), reshape(C, ", count, ", 1), P, 0);\n", "R = gather(L, C);\n",
        "T = reshape(R == P ? C : ", rows, ", ", count, ", 1);\n", "S = scatter(reshape(G, ", count,
        ", ", absl::StrJoin(RowDims(parameter.shape), ", "), "), R, P);\n}");
    TARTAN_ASSIGN_OR_RETURN(const auto function, api::Function::FromTile(text, "sum_rows"));
    TARTAN_ASSIGN_OR_RETURN(const Tensor none, api::Filled({DataType::kFloat32, {rows}}, 0));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made,
                            function.Apply(std::vector<Tensor>{lookup.ids, gradient, none},
                                           absl::StrCat(parameter.name, "_sums")));
    lookup.places = made[0];
    lookup.targets = made[1];
    gradient = made[2];
  }
  return absl::OkStatus();
}

absl::StatusOr<Updated> RowUpdates::Update(const Optimizer& optimizer, const ParameterGroup& group,
                                           const Tensor& master, const Tensor& gradient,
                                           absl::Span<const Tensor> slots, const Tensor& numbers,
                                           const Tensor& scale, const Tensor& enabled,
                                           absl::string_view name) const {
  const Lookup* const lookup = LookupOf(master);
  if (lookup == nullptr) {
    return train::Update(optimizer, group, master, gradient, slots, numbers, scale, enabled, name);
  }
  const auto rows_of = [&](const Tensor& whole) {
    return api::Apply("function (X, C) -> (R) { R = gather(X, C); }", {whole, lookup->places},
                      name);
  };
  const auto with_rows = [&](const Tensor& whole, const Tensor& rows) {
    return api::Apply("function (X, T, R) -> (N) { N = scatter_nd(X, T, R, 0); }",
                      {whole, lookup->targets, rows}, name);
  };
  TARTAN_ASSIGN_OR_RETURN(const Tensor rows, rows_of(master));
  std::vector<Tensor> slot_rows;
  for (const Tensor& slot : slots) {
    TARTAN_ASSIGN_OR_RETURN(slot_rows.emplace_back(), rows_of(slot));
  }
  TARTAN_ASSIGN_OR_RETURN(Updated updated, train::Update(optimizer, group, rows, gradient,
                                                         slot_rows, numbers, scale, enabled, name));
  TARTAN_ASSIGN_OR_RETURN(updated.parameter, with_rows(master, updated.parameter));
  for (size_t s = 0; s < slots.size(); ++s) {
    TARTAN_ASSIGN_OR_RETURN(updated.slots[s], with_rows(slots[s], updated.slots[s]));
  }
  return updated;
}

}  // namespace tartan::train
