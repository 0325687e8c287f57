// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/pull_back_loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/loop.h"
#include "frontend/api/loop_rows.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

using NodePtr = std::shared_ptr<const TensorNode>;

class LoopGradient {
 public:
  LoopGradient(const NodePtr& node, absl::Span<const Tensor> gradients,
               const std::vector<bool>& wanted, const Differentiate& differentiate)
      : node_(node),
        loop_(std::get<LoopNode>(node->kind)),
        body_(*loop_.body),
        gradients_(gradients),
        wanted_(wanted),
        differentiate_(differentiate),
        states_(body_.states.size()) {}

  absl::StatusOr<std::vector<Tensor>> Run() {
    TARTAN_RETURN_IF_ERROR(DifferentiateBody());
    varying_ = VaryingNodes(body_);
    TARTAN_RETURN_IF_ERROR(DifferentiateInvariants());
    FindSaved();
    LengthenLoop();
    TARTAN_RETURN_IF_ERROR(ScanGiven());
    return Finish();
  }

 private:
  bool IsFloatState(size_t s) const { return IsFloat(body_.states[s].type()); }

  void AddState(const Tensor& state, const Tensor& next, const Tensor& initial) {
    backward_.states.push_back(state);
    backward_.next_states.push_back(next);
    initial_.push_back(initial);
  }

  // Sets the gradients of the body's placeholders, in terms of its values and of the gradients of
  // its results.
  absl::Status DifferentiateBody() {
    std::vector<Tensor> losses;
    std::vector<Tensor> seeds;
    std::vector<Tensor> wrt;
    for (size_t s = 0; s < states_; ++s) {
      if (!IsFloatState(s)) continue;
      const Tensor seed = Tensor::Placeholder("state_grad", body_.states[s].shape());
      losses.push_back(body_.next_states[s]);
      seeds.push_back(seed);
      wrt.push_back(body_.states[s]);
      Tensor initial = gradients_[s];
      if (!initial.defined()) {
        TARTAN_ASSIGN_OR_RETURN(initial, Filled(seed.shape(), 0));
      }
      AddState(seed, Tensor(), initial);
    }
    const size_t float_states = wrt.size();
    for (size_t r = 0; r < body_.rows.size(); ++r) {
      if (!gradients_[states_ + r].defined()) continue;
      const Tensor seed = Tensor::Placeholder("row_grad", body_.rows[r].shape());
      losses.push_back(body_.rows[r]);
      seeds.push_back(seed);
      Scan(seed, gradients_[states_ + r]);
    }
    for (size_t i = 0; i < body_.slices.size(); ++i) {
      if (wanted_[states_ + i]) wrt.push_back(body_.slices[i]);
    }
    for (size_t v = 0; v < body_.invariants.size(); ++v) {
      if (wanted_[states_ + body_.slices.size() + v]) wrt.push_back(body_.invariants[v]);
    }
    TARTAN_ASSIGN_OR_RETURN(made_, differentiate_(losses, seeds, wrt));
    for (size_t s = 0; s < float_states; ++s) backward_.next_states[s] = made_[s];
    size_t next = float_states;
    for (size_t i = 0; i < body_.slices.size(); ++i) {
      if (!wanted_[states_ + i]) continue;
      backward_.rows.push_back(made_[next++]);
    }
    made_.erase(made_.begin(), made_.begin() + static_cast<std::ptrdiff_t>(next));
    return absl::OkStatus();
  }

  // The gradients of invariants are sums over the iterations: of one function of rows after the
  // loop if possible, such as a matmul, else a state of the backward loop.
  absl::Status DifferentiateInvariants() {
    for (const Tensor& gradient : made_) {
      later_.push_back({});
      TARTAN_ASSIGN_OR_RETURN(const bool is_later, SumLater(gradient, &later_.back()));
      if (is_later) continue;
      later_.back().clear();
      const Tensor sum = Tensor::Placeholder("sum", gradient.shape());
      TARTAN_ASSIGN_OR_RETURN(const Tensor after,
                              Apply("function (A, B) -> (C) { C = A + B; }", {sum, gradient},
                                    absl::StrCat(node_->name, "_grad_sum")));
      TARTAN_ASSIGN_OR_RETURN(const Tensor zeros, Filled(sum.shape(), 0));
      AddState(sum, after, zeros);
    }
    return absl::OkStatus();
  }

  // A term of a sum after the loop.
  struct LaterSum {
    std::optional<Function> function = std::nullopt;
    std::vector<Tensor> operands = {};
    std::vector<bool> varies = {};
  };

  // Adds the terms of a sum of `gradient` after the loop. Returns false if there is no function
  // for one of them whose operands have rows.
  absl::StatusOr<bool> SumLater(const Tensor& gradient, std::vector<LaterSum>* terms) {
    const auto* application = std::get_if<ApplicationNode>(&gradient.node()->kind);
    if (application == nullptr || varying_.count(gradient.node().get()) > 0) return false;
    if (IsSumOfTwo(*application)) {
      for (const Tensor term : application->inputs) {
        TARTAN_ASSIGN_OR_RETURN(const bool is_later, SumLater(term, terms));
        if (!is_later) return false;
      }
      return true;
    }
    LaterSum later;
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int> used,
                            InputsOfResult(*application, gradient.result()));
    for (const int input : used) {
      const Tensor operand = application->inputs[static_cast<size_t>(input)];
      const bool is_invariant = std::find(body_.invariants.begin(), body_.invariants.end(),
                                          operand) != body_.invariants.end();
      const bool is_seed = std::find(backward_.states.begin(), backward_.states.end(), operand) !=
                           backward_.states.end();
      if (is_seed) return false;
      later.operands.push_back(operand);
      later.varies.push_back(operand.depends_on_placeholder() && !is_invariant);
    }
    TARTAN_ASSIGN_OR_RETURN(later.function, SumOverRows(*application, gradient.result(),
                                                        later.varies, body_.iterations));
    if (!later.function.has_value()) return false;
    for (size_t i = 0; i < later.operands.size(); ++i) {
      const Tensor& operand = later.operands[i];
      if (!later.varies[i]) continue;
      const bool is_made = !operand.is_placeholder() && varying_.count(operand.node().get()) == 0;
      const bool is_row =
          std::find(backward_.rows.begin(), backward_.rows.end(), operand) != backward_.rows.end();
      if (is_made && !is_row) backward_.rows.push_back(operand);
    }
    terms->push_back(std::move(later));
    return true;
  }

  // Adds the operands that are values of the body or placeholders.
  void AddGiven(const LaterSum& term, std::vector<Tensor>* given) const {
    for (size_t i = 0; i < term.operands.size(); ++i) {
      const Tensor& operand = term.operands[i];
      const bool is_given = operand.is_placeholder() || varying_.count(operand.node().get()) > 0;
      if (term.varies[i] && is_given) given->push_back(operand);
    }
  }

  // Finds the values of the body, and the placeholders, that the backward loop reads.
  void FindSaved() {
    std::map<ResultKey, bool> seen;
    std::vector<Tensor> stack = backward_.next_states;
    stack.insert(stack.end(), backward_.rows.begin(), backward_.rows.end());
    for (const std::vector<LaterSum>& terms : later_) {
      for (const LaterSum& term : terms) AddGiven(term, &stack);
    }
    std::reverse(stack.begin(), stack.end());
    while (!stack.empty()) {
      const Tensor tensor = std::move(stack.back());
      stack.pop_back();
      if (std::exchange(seen[ResultKeyOf(tensor)], true)) continue;
      if (tensor.is_placeholder()) {
        read_.push_back(tensor);
      } else if (varying_.count(tensor.node().get()) > 0) {
        saved_.push_back(tensor);
      } else {
        const absl::Span<const NodeResult> inputs = InputsOf(*tensor.node());
        for (auto input = inputs.rbegin(); input != inputs.rend(); ++input) {
          stack.push_back(*input);
        }
      }
    }
  }

  bool IsRead(const Tensor& placeholder) const {
    return std::find(read_.begin(), read_.end(), placeholder) != read_.end();
  }

  // The row of the longer loop that has `value`.
  size_t RowOf(const Tensor& value) {
    const auto found = std::find(longer_.rows.begin(), longer_.rows.end(), value);
    const auto number = static_cast<size_t>(found - longer_.rows.begin());
    if (found == longer_.rows.end()) longer_.rows.push_back(value);
    return number;
  }

  // Makes the loop that also stacks what the backward loop reads.
  void LengthenLoop() {
    longer_ = body_;
    for (const Tensor& value : saved_) row_of_saved_.push_back(RowOf(value));
    for (size_t s = 0; s < states_; ++s) {
      const bool is_read = IsRead(body_.states[s]);
      row_of_state_.push_back(is_read ? static_cast<int>(RowOf(body_.next_states[s])) : -1);
    }
    forward_ = node_;
    if (longer_.rows.size() == body_.rows.size()) return;
    forward_ = MakeLoop(longer_, loop_.inputs, node_->name, loop_.reversed, node_);
  }

  Tensor Stacked(size_t row) const { return Tensor(forward_, static_cast<int>(states_ + row)); }

  void Scan(const Tensor& slice, const Tensor& rows) {
    backward_.slices.push_back(slice);
    scanned_.push_back(rows);
  }

  // The rows of a value that the backward loop scans or makes.
  Tensor RowsOf(const Tensor& value, const NodePtr& made, size_t first_row) const {
    for (size_t i = 0; i < backward_slices_.size(); ++i) {
      if (backward_slices_[i] == value) return scanned_[i];
    }
    const auto found = std::find(backward_rows_.begin(), backward_rows_.end(), value);
    return Tensor(
        made, static_cast<int>(first_row + static_cast<size_t>(found - backward_rows_.begin())));
  }

  absl::StatusOr<Tensor> SumOf(const LaterSum& later, const NodePtr& made, size_t first_row) const {
    std::vector<Tensor> arguments;
    for (size_t i = 0; i < later.operands.size(); ++i) {
      Tensor operand = later.operands[i];
      for (size_t v = 0; v < body_.invariants.size(); ++v) {
        if (body_.invariants[v] != operand) continue;
        arguments.push_back(loop_.inputs[states_ + body_.slices.size() + v]);
      }
      if (arguments.size() > i) continue;
      if (later.varies[i]) {
        TARTAN_ASSIGN_OR_RETURN(operand,
                                Shaped(RowsOf(operand, made, first_row), operand.shape(), "rows"));
      }
      arguments.push_back(operand);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> sums,
                            later.function->Apply(arguments, absl::StrCat(node_->name, "_grad")));
    return sums[0];
  }

  absl::StatusOr<Tensor> SumOf(const std::vector<LaterSum>& terms, const NodePtr& made,
                               size_t first_row) const {
    TARTAN_ASSIGN_OR_RETURN(Tensor sum, SumOf(terms[0], made, first_row));
    for (size_t i = 1; i < terms.size(); ++i) {
      TARTAN_ASSIGN_OR_RETURN(const Tensor next, SumOf(terms[i], made, first_row));
      TARTAN_ASSIGN_OR_RETURN(sum, Apply("function (A, B) -> (C) { C = A + B; }", {sum, next},
                                         absl::StrCat(node_->name, "_grad_sum")));
    }
    return sum;
  }

  // Adds the rows that the backward loop reads, and replaces the body's values by them.
  absl::Status ScanGiven() {
    Replacements replacements;
    for (size_t i = 0; i < saved_.size(); ++i) {
      const Tensor slice = Tensor::Placeholder("saved", saved_[i].shape());
      Scan(slice, Stacked(row_of_saved_[i]));
      replacements.push_back({saved_[i], slice});
    }
    for (size_t s = 0; s < states_; ++s) {
      if (row_of_state_[s] < 0) continue;
      TARTAN_ASSIGN_OR_RETURN(const Tensor before,
                              RowsBefore(Stacked(static_cast<size_t>(row_of_state_[s])),
                                         loop_.inputs[s], loop_.reversed));
      Scan(body_.states[s], before);
    }
    for (size_t i = 0; i < body_.slices.size(); ++i) {
      if (IsRead(body_.slices[i])) Scan(body_.slices[i], loop_.inputs[states_ + i]);
    }
    for (size_t v = 0; v < body_.invariants.size(); ++v) {
      if (!IsRead(body_.invariants[v])) continue;
      backward_.invariants.push_back(body_.invariants[v]);
      invariants_.push_back(loop_.inputs[states_ + body_.slices.size() + v]);
    }
    backward_rows_ = backward_.rows;
    backward_slices_ = backward_.slices;
    for (Tensor& slice : backward_slices_) {
      for (const auto& [value, saved] : replacements) {
        if (slice == saved) slice = value;
      }
    }
    backward_.iterations = body_.iterations;
    return ChangeResults(&backward_, [&](const std::vector<Tensor>& results) {
      return absl::StatusOr<std::vector<Tensor>>(Replaced(results, replacements));
    });
  }

  // Makes the backward loop. Its states are the gradients of float states, then sums.
  absl::StatusOr<std::vector<Tensor>> Finish() {
    std::vector<NodeResult> inputs;
    for (const auto* tensors : {&initial_, &scanned_, &invariants_}) {
      for (const Tensor& tensor : *tensors) inputs.push_back({tensor.node(), tensor.result()});
    }
    const size_t backward_states = backward_.states.size();
    const NodePtr made = MakeLoop(std::move(backward_), std::move(inputs),
                                  absl::StrCat(node_->name, "_grad"), !loop_.reversed);
    std::vector<Tensor> results;
    size_t state = 0;
    size_t row = backward_states;
    auto later = later_.begin();
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const bool is_slice = i >= states_ && i < states_ + body_.slices.size();
      if (i < states_ && IsFloatState(i)) {
        if (wanted_[i]) results.push_back(Tensor(made, static_cast<int>(state)));
        ++state;
      } else if (wanted_[i] && is_slice) {
        results.push_back(Tensor(made, static_cast<int>(row++)));
      } else if (wanted_[i] && later->empty()) {
        results.push_back(Tensor(made, static_cast<int>(state++)));
        ++later;
      } else if (wanted_[i]) {
        TARTAN_ASSIGN_OR_RETURN(results.emplace_back(), SumOf(*later++, made, backward_states));
      }
    }
    return results;
  }

  const NodePtr node_;
  const LoopNode& loop_;
  const RepeatBody& body_;
  const absl::Span<const Tensor> gradients_;
  const std::vector<bool>& wanted_;
  const Differentiate& differentiate_;
  const size_t states_;
  std::vector<Tensor> made_;  // gradients of the body's placeholders, then only of invariants
  std::unordered_set<const TensorNode*> varying_;
  // Per wanted invariant, its terms. None: the backward loop has the sum as a state.
  std::vector<std::vector<LaterSum>> later_;
  // Rows that the backward loop makes and scans, as values of the body and its gradient.
  std::vector<Tensor> backward_rows_, backward_slices_;
  std::vector<Tensor> saved_;  // values of the body
  std::vector<Tensor> read_;   // placeholders
  std::vector<size_t> row_of_saved_;
  std::vector<int> row_of_state_;  // -1: not read
  RepeatBody longer_;
  NodePtr forward_;
  RepeatBody backward_;
  std::vector<Tensor> initial_, scanned_, invariants_;  // operands of the backward loop
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> PullBackLoop(const NodePtr& node,
                                                 absl::Span<const Tensor> gradients,
                                                 const std::vector<bool>& wanted,
                                                 const Differentiate& differentiate) {
  return LoopGradient(node, gradients, wanted, differentiate).Run();
}

NodeDerivatives DerivativesOfLoop(const TensorNode& node) {
  std::vector<bool> is_float;
  for (const TensorShape& shape : node.shapes) is_float.push_back(IsFloat(shape.type));
  return NodeDerivatives(InputsOf(node).size(), is_float);
}

}  // namespace tartan::api
