// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/loop.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::api {
namespace {

using NodePtr = std::shared_ptr<const TensorNode>;

// The nodes that the tensors depend on, operands first, without recursion. `inputs` returns the
// operands that a node is visited after.
template <class Inputs>
std::vector<NodePtr> NodesOf(absl::Span<const Tensor> tensors, const Inputs& inputs) {
  std::vector<NodePtr> order;
  std::unordered_set<const TensorNode*> seen;
  std::vector<std::pair<NodePtr, bool>> stack;
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    stack.push_back({tensor->node(), false});
  }
  while (!stack.empty()) {
    const auto [node, inputs_done] = std::move(stack.back());
    stack.pop_back();
    if (inputs_done) {
      order.push_back(node);
      continue;
    }
    if (!seen.insert(node.get()).second) continue;
    stack.push_back({node, true});
    const std::vector<NodePtr> operands = inputs(*node);
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) {
      stack.push_back({*operand, false});
    }
  }
  return order;
}

std::vector<NodePtr> OperandsOf(const TensorNode& node) {
  std::vector<NodePtr> operands;
  for (const NodeResult& input : InputsOf(node)) operands.push_back(input.node);
  return operands;
}

std::vector<NodePtr> NodesOf(absl::Span<const Tensor> tensors) {
  return NodesOf(tensors, [](const TensorNode& node) { return OperandsOf(node); });
}

// A copy of the node with other inputs.
NodePtr WithInputs(const TensorNode& node, std::vector<NodeResult> inputs) {
  auto copy = std::make_shared<TensorNode>();
  copy->name = node.name;
  copy->shapes = node.shapes;
  copy->kind = node.kind;
  copy->check = node.check;
  for (const NodeResult& input : inputs) copy->TakePlaceholderOf(*input.node);
  if (auto* application = std::get_if<ApplicationNode>(&copy->kind)) {
    application->inputs = std::move(inputs);
  } else {
    auto& loop = std::get<LoopNode>(copy->kind);
    loop.inputs = std::move(inputs);
    loop.shorter = nullptr;
  }
  return copy;
}

// Replaces tensors, and computes what depends on them anew.
class Replacer {
 public:
  void Set(const Tensor& from, const Tensor& to) { made_[ResultKeyOf(from)] = to; }

  Tensor Get(const Tensor& tensor) const {
    const auto found = made_.find(ResultKeyOf(tensor));
    return found == made_.end() ? tensor : found->second;
  }

  void Visit(const NodePtr& node) {
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    std::vector<NodeResult> changed;
    bool is_changed = false;
    for (const Tensor input : inputs) {
      const Tensor other = Get(input);
      is_changed = is_changed || other != input;
      changed.push_back({other.node(), other.result()});
    }
    if (!is_changed) return;
    const NodePtr copy = WithInputs(*node, std::move(changed));
    for (int r = 0; r < static_cast<int>(node->shapes.size()); ++r) {
      made_.emplace(ResultKey{node.get(), r}, Tensor(copy, r));
    }
  }

 private:
  std::map<ResultKey, Tensor> made_;
};

// Applies a Tile function of one result (function.h needs this file).
absl::StatusOr<Tensor> ApplyText(const std::string& text, const std::vector<Tensor>& inputs,
                                 absl::string_view name) {
  TARTAN_ASSIGN_OR_RETURN(lang::Function function, lang::Parse(text, "loop"));
  std::vector<TensorShape> shapes;
  ApplicationNode application;
  auto node = std::make_shared<TensorNode>();
  node->name = std::string(name);
  for (const Tensor& input : inputs) {
    shapes.push_back(input.shape());
    application.inputs.push_back({input.node(), input.result()});
    node->TakePlaceholderOf(*input.node());
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(function, shapes, {}));
  node->shapes = {program.values[program.outputs[0]].shape};
  application.function = std::make_shared<const lang::Function>(std::move(function));
  node->kind = std::move(application);
  return Tensor(std::move(node), 0);
}

std::string DimsText(const std::vector<int64_t>& dims) {
  return dims.empty() ? "" : absl::StrCat(", ", absl::StrJoin(dims, ", "));
}

// A tensor of rows as [iterations, RowElements], and back.
absl::StatusOr<Tensor> Flat(const Tensor& x, const TensorShape& row, absl::string_view name) {
  const int64_t count = x.dims()[0];
  if (RowElements(row) == row.element_count()) {
    return ApplyText(absl::StrCat("function (X) -> (P) { P = reshape(X, ", count, ", ",
                                  row.element_count(), "); }"),
                     {x}, name);
  }
  return ApplyText(
      absl::StrCat("function (X) -> (P) { F = reshape(X, ", count, ", ", row.element_count(),
                   "); P[t, i : ", count, ", ", RowElements(row), "] = =(F[t, i]); }"),
      {x}, name);
}

absl::StatusOr<Tensor> FlatRow(const Tensor& flat, const TensorShape& row, int64_t number) {
  return ApplyText(
      absl::StrCat("function (P) -> (X) { F[u, i : 1, ", row.element_count(), "] = =(P[u + ",
                   number, ", i]); X = reshape(F", DimsText(row.dims), "); }"),
      {flat}, "row");
}

// `whole` with one row replaced; undefined: zeros.
absl::StatusOr<Tensor> WithRow(const Tensor& whole, const Tensor& row, int64_t number,
                               int64_t count) {
  const std::string text =
      absl::StrCat("F = reshape(R, 1, ", row.shape().element_count(), "); O[u + ", number,
                   ", i : ", count, ", ", RowElements(row.shape()), "] = =(F[u, i])");
  if (!whole.defined()) {
    return ApplyText(absl::StrCat("function (R) -> (O) { ", text, "; }"), {row}, "rows");
  }
  return ApplyText(absl::StrCat("function (R, W) -> (O) { ", text, " default W; }"), {row, whole},
                   "rows");
}

absl::StatusOr<std::vector<Tensor>> UnrolledLoop(const TensorNode& node,
                                                 const std::vector<Tensor>& inputs) {
  const auto& loop = std::get<LoopNode>(node.kind);
  const RepeatBody& body = *loop.body;
  std::vector<Tensor> wanted = body.next_states;
  wanted.insert(wanted.end(), body.rows.begin(), body.rows.end());
  std::vector<Tensor> states(inputs.begin(), inputs.begin() + body.states.size());
  std::vector<Tensor> rows(body.rows.size());
  for (int64_t n = 0; n < body.iterations; ++n) {
    const int64_t row = loop.reversed ? body.iterations - 1 - n : n;
    Replacements replacements;
    for (size_t s = 0; s < states.size(); ++s) replacements.push_back({body.states[s], states[s]});
    size_t next = states.size();
    for (const Tensor& slice : body.slices) {
      TARTAN_ASSIGN_OR_RETURN(const Tensor value, FlatRow(inputs[next++], slice.shape(), row));
      replacements.push_back({slice, value});
    }
    for (const Tensor& invariant : body.invariants) {
      replacements.push_back({invariant, inputs[next++]});
    }
    const std::vector<Tensor> made = Replaced(wanted, replacements);
    std::copy_n(made.begin(), states.size(), states.begin());
    for (size_t r = 0; r < rows.size(); ++r) {
      TARTAN_ASSIGN_OR_RETURN(rows[r],
                              WithRow(rows[r], made[states.size() + r], row, body.iterations));
    }
  }
  states.insert(states.end(), rows.begin(), rows.end());
  return states;
}

absl::Status CheckOperand(absl::string_view what, const Tensor& given, const TensorShape& wanted) {
  if (given.defined() && given.shape() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of a loop is ", given.defined() ? given.shape().ToString() : "undefined",
                   ", expected ", wanted.ToString()));
}

absl::Status CheckLoop(const RepeatBody& body, const std::vector<Tensor>& operands) {
  if (body.condition.defined() || body.iterations < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a loop has ", body.iterations, " iterations",
                     body.condition.defined() ? " and a condition" : ""));
  }
  const size_t count = body.states.size() + body.slices.size() + body.invariants.size();
  if (operands.size() != count || body.next_states.size() != body.states.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a loop of ", count, " operands and ", body.states.size(), " states has ",
                     operands.size(), " and ", body.next_states.size()));
  }
  size_t next = 0;
  for (size_t s = 0; s < body.states.size(); ++s) {
    TARTAN_RETURN_IF_ERROR(CheckOperand("a state", operands[next++], body.states[s].shape()));
    TARTAN_RETURN_IF_ERROR(
        CheckOperand("a next state", body.next_states[s], body.states[s].shape()));
  }
  for (const Tensor& slice : body.slices) {
    TensorShape whole = slice.shape();
    whole.dims.insert(whole.dims.begin(), body.iterations);
    TARTAN_RETURN_IF_ERROR(CheckOperand("a scanned operand", operands[next++], whole));
  }
  for (const Tensor& invariant : body.invariants) {
    TARTAN_RETURN_IF_ERROR(CheckOperand("an operand", operands[next++], invariant.shape()));
  }
  return absl::OkStatus();
}

// Makes invariants of the tensors from around the body that it reads.
void Capture(RepeatBody* body, std::vector<Tensor>* operands) {
  std::vector<Tensor*> results;
  for (Tensor& state : body->next_states) results.push_back(&state);
  for (Tensor& row : body->rows) results.push_back(&row);
  std::vector<Tensor> wanted;
  for (const Tensor* result : results) wanted.push_back(*result);
  std::unordered_set<const TensorNode*> inner;
  for (const auto* placeholders : {&body->states, &body->slices, &body->invariants}) {
    for (const Tensor& placeholder : *placeholders) inner.insert(placeholder.node().get());
  }
  std::map<ResultKey, Tensor> captured;
  Replacements replacements;
  const auto look = [&](const Tensor& tensor) {
    if (inner.count(tensor.node().get()) > 0 || !tensor.depends_on_placeholder()) return;
    Tensor& placeholder = captured[ResultKeyOf(tensor)];
    if (placeholder.defined()) return;
    placeholder = Tensor::Placeholder("outer", tensor.shape());
    body->invariants.push_back(placeholder);
    operands->push_back(tensor);
    replacements.push_back({tensor, placeholder});
  };
  for (const NodePtr& node : NodesOf(wanted)) {
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    const bool is_inner = std::any_of(inputs.begin(), inputs.end(), [&](const NodeResult& input) {
      return inner.count(input.node.get()) > 0;
    });
    if (!is_inner) continue;
    inner.insert(node.get());
    for (const NodeResult& input : inputs) look(input);
  }
  for (const Tensor& tensor : wanted) look(tensor);
  const std::vector<Tensor> replaced = Replaced(wanted, replacements);
  for (size_t i = 0; i < results.size(); ++i) *results[i] = replaced[i];
}

// The numbers of the rows as one more scanned tensor.
void ScanIteration(RepeatBody* body, std::vector<Tensor>* operands) {
  if (!body->iteration.defined()) return;
  std::vector<int64_t> numbers(static_cast<size_t>(body->iterations));
  std::iota(numbers.begin(), numbers.end(), 0);
  const TensorShape shape{DataType::kInt64, {body->iterations}};
  const auto at = static_cast<std::ptrdiff_t>(body->states.size() + body->slices.size());
  operands->insert(operands->begin() + at,
                   Tensor::Constant(HostTensor::FromVector(shape, numbers), "iterations"));
  body->slices.push_back(std::exchange(body->iteration, Tensor()));
}

}  // namespace

absl::StatusOr<Tensor> Shaped(const Tensor& flat, const TensorShape& row, absl::string_view name) {
  const int64_t count = flat.dims()[0];
  if (RowElements(row) == row.element_count()) {
    return ApplyText(
        absl::StrCat("function (P) -> (X) { X = reshape(P, ", count, DimsText(row.dims), "); }"),
        {flat}, name);
  }
  return ApplyText(
      absl::StrCat("function (P) -> (X) { F[t, i : ", count, ", ", row.element_count(),
                   "] = =(P[t, i]); X = reshape(F, ", count, DimsText(row.dims), "); }"),
      {flat}, name);
}

absl::StatusOr<std::vector<Tensor>> Loop(RepeatBody body, std::vector<Tensor> operands,
                                         absl::string_view name, bool reversed) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    TARTAN_RETURN_IF_ERROR(CheckLoop(body, operands));
    ScanIteration(&body, &operands);
    TARTAN_RETURN_IF_ERROR(
        ChangeResults(&body, [](const std::vector<Tensor>& results) { return Unrolled(results); }));
    Capture(&body, &operands);
    std::vector<NodeResult> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      Tensor operand = operands[i];
      if (i >= body.states.size() && i - body.states.size() < body.slices.size()) {
        const TensorShape& row = body.slices[i - body.states.size()].shape();
        TARTAN_ASSIGN_OR_RETURN(operand, Flat(operand, row, absl::StrCat(name, "_rows")));
      }
      inputs.push_back({operand.node(), operand.result()});
    }
    const std::vector<Tensor> rows = body.rows;
    const size_t states = body.states.size();
    const NodePtr node = MakeLoop(std::move(body), std::move(inputs), name, reversed);
    std::vector<Tensor> results;
    for (size_t s = 0; s < states; ++s) results.push_back(Tensor(node, static_cast<int>(s)));
    for (size_t r = 0; r < rows.size(); ++r) {
      TARTAN_ASSIGN_OR_RETURN(
          results.emplace_back(),
          Shaped(Tensor(node, static_cast<int>(states + r)), rows[r].shape(), name));
    }
    return results;
  });
}

std::vector<Tensor> Replaced(absl::Span<const Tensor> tensors, const Replacements& replacements) {
  Replacer replacer;
  for (const auto& [from, to] : replacements) replacer.Set(from, to);
  for (const NodePtr& node : NodesOf(tensors)) replacer.Visit(node);
  std::vector<Tensor> replaced;
  for (const Tensor& tensor : tensors) replaced.push_back(replacer.Get(tensor));
  return replaced;
}

absl::StatusOr<std::vector<Tensor>> Unrolled(absl::Span<const Tensor> tensors) {
  std::vector<Tensor> unrolled(tensors.begin(), tensors.end());
  const std::vector<NodePtr> nodes = NodesOf(tensors);
  const bool has_loops = std::any_of(nodes.begin(), nodes.end(), [](const NodePtr& node) {
    return std::holds_alternative<LoopNode>(node->kind);
  });
  if (!has_loops) return unrolled;
  Replacer replacer;
  for (const NodePtr& node : nodes) {
    if (!std::holds_alternative<LoopNode>(node->kind)) {
      replacer.Visit(node);
      continue;
    }
    std::vector<Tensor> inputs;
    for (const NodeResult& input : InputsOf(*node)) inputs.push_back(replacer.Get(input));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, UnrolledLoop(*node, inputs));
    for (size_t r = 0; r < results.size(); ++r) {
      replacer.Set(Tensor(node, static_cast<int>(r)), results[r]);
    }
  }
  for (Tensor& tensor : unrolled) tensor = replacer.Get(tensor);
  return unrolled;
}

std::vector<NodePtr> LoopsOf(absl::Span<const Tensor> tensors) {
  std::unordered_map<const TensorNode*, NodePtr> longer;
  bool has_loops = false;
  for (const NodePtr& node : NodesOf(tensors)) {
    const auto* loop = std::get_if<LoopNode>(&node->kind);
    if (loop == nullptr) continue;
    has_loops = true;
    if (loop->shorter != nullptr) longer.emplace(loop->shorter.get(), node);
  }
  if (!has_loops) return {};
  // Users of the shorter loop come after the longer one.
  const auto inputs = [&](const TensorNode& node) {
    const auto found = longer.find(&node);
    return found == longer.end() ? OperandsOf(node) : std::vector<NodePtr>{found->second};
  };
  std::vector<NodePtr> loops;
  for (const NodePtr& node : NodesOf(tensors, inputs)) {
    const bool is_loop = std::holds_alternative<LoopNode>(node->kind);
    if (is_loop && longer.count(node.get()) == 0) loops.push_back(node);
  }
  return loops;
}

}  // namespace tartan::api
