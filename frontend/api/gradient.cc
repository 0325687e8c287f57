// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/gradient.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/pull_back.h"
#include "frontend/api/pull_back_loop.h"
#include "frontend/api/tensor_node.h"
#include "tile/autodiff/dependence.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/ir/program_builder.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

using NodePtr = std::shared_ptr<const TensorNode>;

absl::Status CheckFloat(const Tensor& tensor, absl::string_view what) {
  if (!tensor.defined()) return absl::InvalidArgumentError(absl::StrCat(what, " is undefined"));
  if (IsFloat(tensor.type())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " '", tensor.node()->name, "' is ",
                                                 tensor.shape().ToString(),
                                                 ", but only floats have gradients"));
}

absl::Status CheckSeed(const SeededTensor& loss) {
  const TensorShape& shape = loss.tensor.shape();
  if (loss.seed.defined()) {
    if (loss.seed.shape() == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the seed is ", loss.seed.shape().ToString(),
                                                   ", but the loss is ", shape.ToString()));
  }
  if (shape.element_count() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the loss is ", shape.ToString(),
                   ", not a single element: reduce it, or give a seed of its shape"));
}

// Differentiates the body of a loop.
Differentiate OfBody(const autodiff::GradientOptions& options) {
  return [options = GradientOptions{options.ties, options.straight_through}](
             absl::Span<const Tensor> tensors, absl::Span<const Tensor> seeds,
             absl::Span<const Tensor> wrt) {
    std::vector<SeededTensor> losses;
    for (size_t i = 0; i < tensors.size(); ++i) losses.push_back({tensors[i], seeds[i]});
    return Gradient(losses, wrt, options);
  };
}

// Visits the applications between `wrt` and the losses, from the last to the first.
class Backward {
 public:
  explicit Backward(const GradientOptions& options) {
    options_.ties = options.ties;
    options_.straight_through = options.straight_through;
  }

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const SeededTensor> losses,
                                          absl::Span<const Tensor> wrt) {
    for (const Tensor& tensor : wrt) StateOf(*tensor.node()).depends[tensor.result()] = true;
    for (const SeededTensor& loss : losses) Visit(loss.tensor.node());
    for (const SeededTensor& loss : losses) {
      Tensor seed = loss.seed;
      if (!seed.defined()) {
        TARTAN_ASSIGN_OR_RETURN(seed, Filled(loss.tensor.shape(), 1));
      }
      TARTAN_RETURN_IF_ERROR(Accumulate(loss.tensor, seed));
    }
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      TARTAN_RETURN_IF_ERROR(Propagate(*node));
    }
    std::vector<Tensor> gradients;
    for (const Tensor& tensor : wrt) {
      const Tensor& gradient = StateOf(*tensor.node()).gradients[tensor.result()];
      gradients.push_back(gradient);
      if (gradient.defined()) continue;
      TARTAN_ASSIGN_OR_RETURN(gradients.back(), Filled(tensor.shape(), 0));
    }
    return gradients;
  }

 private:
  // State of a node, with one entry per result.
  struct State {
    // True if the result depends on one of `wrt` through float operations with derivatives.
    std::vector<bool> depends;
    std::vector<Tensor> gradients;  // gradient of the loss; undefined: 0
    bool is_visited = false;
    NodeDerivatives derivatives;  // set for a node that stops some; empty: all exist

    bool HasDerivative(size_t result, size_t input) const {
      return derivatives.empty() || derivatives[input][result];
    }
  };

  State& StateOf(const TensorNode& node) {
    State& state = states_[&node];
    state.depends.resize(node.shapes.size());
    state.gradients.resize(node.shapes.size());
    return state;
  }

  bool Depends(const Tensor& tensor) { return StateOf(*tensor.node()).depends[tensor.result()]; }

  // Finds the nodes that depend on `wrt` and their order of computation, without recursion.
  void Visit(const NodePtr& root) {
    std::vector<std::pair<NodePtr, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [node, inputs_done] = std::move(stack.back());
      stack.pop_back();
      if (inputs_done) {
        Finish(node);
        continue;
      }
      State& state = StateOf(*node);
      if (std::exchange(state.is_visited, true)) continue;
      stack.push_back({node, true});
      for (const NodeResult& input : InputsOf(*node)) stack.push_back({input.node, false});
    }
  }

  void Finish(const NodePtr& node) {
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    const bool any = std::any_of(inputs.begin(), inputs.end(),
                                 [this](const NodeResult& input) { return Depends(input); });
    if (!any) return;
    State& state = StateOf(*node);
    const auto* application = std::get_if<ApplicationNode>(&node->kind);
    // No zero gradients flow past a stop: times an infinite derivative before it, they would become
    // NaN.
    if (application != nullptr && StopsGradients(*application->function)) {
      absl::StatusOr<NodeDerivatives> found = DerivativesOf(*application, options_);
      if (found.ok()) state.derivatives = *std::move(found);
    }
    for (size_t result = 0; result < node->shapes.size(); ++result) {
      if (!autodiff::MayHaveDerivative(node->shapes[result].type, options_)) continue;
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (Depends(inputs[i]) && state.HasDerivative(result, i)) state.depends[result] = true;
      }
    }
    order_.push_back(node);
  }

  absl::Status Accumulate(const Tensor& tensor, const Tensor& part) {
    if (!Depends(tensor)) return absl::OkStatus();
    Tensor& sum = StateOf(*tensor.node()).gradients[tensor.result()];
    if (!sum.defined()) {
      sum = part;
      return absl::OkStatus();
    }
    TARTAN_ASSIGN_OR_RETURN(sum, Apply("function (A, B) -> (C) { C = A + B; }", {sum, part},
                                       absl::StrCat(tensor.node()->name, "_grad_sum")));
    return absl::OkStatus();
  }

  absl::Status Propagate(const NodePtr& node) {
    const State& state = StateOf(*node);
    const std::vector<Tensor>& gradients = state.gradients;
    const bool any = std::any_of(gradients.begin(), gradients.end(),
                                 [](const Tensor& gradient) { return gradient.defined(); });
    if (!any) return absl::OkStatus();
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    std::vector<bool> wanted;
    for (size_t i = 0; i < inputs.size(); ++i) {
      bool has_derivative = false;
      for (size_t r = 0; r < gradients.size(); ++r) {
        if (gradients[r].defined() && state.HasDerivative(r, i)) has_derivative = true;
      }
      wanted.push_back(has_derivative && Depends(inputs[i]));
    }
    const bool is_loop = std::holds_alternative<LoopNode>(node->kind);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> parts,
                            is_loop ? PullBackLoop(node, gradients, wanted, OfBody(options_))
                                    : PullBack(node, gradients, wanted, options_));
    size_t next = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i]) TARTAN_RETURN_IF_ERROR(Accumulate(inputs[i], parts[next++]));
    }
    return absl::OkStatus();
  }

  autodiff::GradientOptions options_;
  std::unordered_map<const TensorNode*, State> states_;
  std::vector<NodePtr> order_;  // applications that depend on `wrt`, operands first
};

// The index of each name.
absl::StatusOr<std::vector<int>> PositionsOf(absl::Span<const std::string> wanted,
                                             const std::vector<std::string>& names,
                                             absl::string_view what) {
  std::vector<int> positions;
  for (const std::string& name : wanted) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the function has no ", what, " '", name,
                                                     "'; it has ", absl::StrJoin(names, ", ")));
    }
    positions.push_back(static_cast<int>(it - names.begin()));
  }
  return positions;
}

// Finds the applications that outputs depend on, and which of their results have derivatives by
// which inputs.
class PathFinder {
 public:
  explicit PathFinder(const GradientOptions& options) {
    options_.straight_through = options.straight_through;
  }

  absl::Status Visit(absl::Span<const Tensor> outputs) {
    std::vector<std::pair<const TensorNode*, bool>> stack;
    for (const Tensor& output : outputs) {
      stack.push_back({output.node().get(), false});
      Use(output.node().get(), output.result(), true);
    }
    while (!stack.empty()) {
      const auto [node, inputs_done] = stack.back();
      stack.pop_back();
      if (inputs_done) {
        TARTAN_RETURN_IF_ERROR(Add(*node));
        continue;
      }
      if (std::exchange(visited_[node], true)) continue;
      stack.push_back({node, true});
      for (const NodeResult& input : InputsOf(*node)) {
        Use(input.node.get(), input.result, false);
        stack.push_back({input.node.get(), false});
      }
    }
    return absl::OkStatus();
  }

  GradientPath Follow(const Tensor& tensor) {
    GradientPath path;
    Marks any;   // depends on the tensor
    Marks with;  // depends on it with a derivative
    const TensorNode* start = tensor.node().get();
    any[start].assign(start->shapes.size(), false);
    with[start] = any[start];
    any[start][tensor.result()] = with[start][tensor.result()] = true;
    Meet(*start, any[start], with[start], &path);
    for (const auto& [node, derivatives] : order_) {
      Step(*node, derivatives, &any, &with, &path);
    }
    return path;
  }

 private:
  using Marks = std::unordered_map<const TensorNode*, std::vector<bool>>;  // one per result
  struct Uses {
    std::vector<bool> used;  // used by an application or as an output
    std::vector<bool> is_output;
  };

  void Use(const TensorNode* node, int result, bool is_output) {
    Uses& uses = uses_[node];
    uses.used.resize(node->shapes.size());
    uses.is_output.resize(node->shapes.size());
    uses.used[result] = true;
    if (is_output) uses.is_output[result] = true;
  }

  absl::Status Add(const TensorNode& node) {
    if (std::holds_alternative<LoopNode>(node.kind)) {
      order_.push_back({&node, DerivativesOfLoop(node)});
      return absl::OkStatus();
    }
    const auto* application = std::get_if<ApplicationNode>(&node.kind);
    if (application == nullptr) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(NodeDerivatives derivatives, DerivativesOf(*application, options_));
    order_.push_back({&node, std::move(derivatives)});
    return absl::OkStatus();
  }

  // Records the outputs among a node's results.
  void Meet(const TensorNode& node, const std::vector<bool>& any, const std::vector<bool>& with,
            GradientPath* path) {
    const std::vector<bool>& outputs = uses_[&node].is_output;
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (outputs[r] && any[r]) path->depends = true;
      if (outputs[r] && with[r]) path->exists = true;
    }
  }

  void Step(const TensorNode& node, const std::vector<std::vector<bool>>& derivatives, Marks* any,
            Marks* with, GradientPath* path) {
    const absl::Span<const NodeResult> inputs = InputsOf(node);
    bool depends = false;
    bool arrives = false;  // some input depends on the tensor with a derivative
    std::vector<bool> goes_on(node.shapes.size(), false);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto marked = any->find(inputs[i].node.get());
      if (marked == any->end() || !marked->second[inputs[i].result]) continue;
      depends = true;
      if (!(*with)[inputs[i].node.get()][inputs[i].result]) continue;
      arrives = true;
      for (size_t r = 0; r < goes_on.size(); ++r) {
        if (derivatives[i][r]) goes_on[r] = true;
      }
    }
    if (!depends) return;
    const std::vector<bool>& used = uses_[&node].used;
    bool ends = false;
    for (size_t r = 0; r < used.size(); ++r) ends = ends || (used[r] && !goes_on[r]);
    if (arrives && ends) path->ends.push_back(node.name);
    (*any)[&node].assign(node.shapes.size(), true);
    (*with)[&node] = goes_on;
    Meet(node, (*any)[&node], goes_on, path);
  }

  autodiff::GradientOptions options_;
  std::unordered_map<const TensorNode*, Uses> uses_;
  std::unordered_map<const TensorNode*, bool> visited_;
  // Applications, operands first.
  std::vector<std::pair<const TensorNode*, std::vector<std::vector<bool>>>> order_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> Gradient(const Tensor& loss, absl::Span<const Tensor> wrt,
                                             const GradientOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    const SeededTensor seeded{loss, Tensor()};
    return Gradient(absl::MakeConstSpan(&seeded, 1), wrt, options);
  });
}

absl::StatusOr<std::vector<Tensor>> Gradient(absl::Span<const SeededTensor> losses,
                                             absl::Span<const Tensor> wrt,
                                             const GradientOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<Tensor>> {
    for (const Tensor& tensor : wrt) {
      TARTAN_RETURN_IF_ERROR(CheckFloat(tensor, "the variable of the gradient"));
    }
    for (const SeededTensor& loss : losses) {
      TARTAN_RETURN_IF_ERROR(CheckFloat(loss.tensor, "the loss"));
      TARTAN_RETURN_IF_ERROR(CheckSeed(loss));
    }
    return Backward(options).Run(losses, wrt);
  });
}

absl::StatusOr<Function> GradientFunction(const Function& function, const NamedShapes& shapes,
                                          absl::Span<const std::string> wrt,
                                          const FunctionGradientOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Function> {
    autodiff::GradientOptions gradient_options;
    gradient_options.ties = options.ties;
    gradient_options.seeded = options.seeded;
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int> positions,
                            PositionsOf(wrt, function.input_names(), "input"));
    TARTAN_ASSIGN_OR_RETURN(gradient_options.outputs,
                            PositionsOf(options.of, function.output_names(), "output"));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs, function.Placeholders(shapes));
    std::vector<TensorShape> input_shapes;
    for (const Tensor& input : inputs) input_shapes.push_back(input.shape());
    lang::BindOptions bind_options;
    bind_options.file = function.file();
    bind_options.text = function.text();
    TARTAN_ASSIGN_OR_RETURN(const ir::Program forward,
                            lang::Bind(function.ast(), input_shapes, bind_options));
    TARTAN_ASSIGN_OR_RETURN(ir::Program program,
                            autodiff::Gradient(forward, positions, gradient_options));
    const auto erase_first = [count = forward.outputs.size()](auto& items) {
      items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(count));
    };
    erase_first(program.outputs);
    erase_first(program.output_names);
    TARTAN_ASSIGN_OR_RETURN(program, ir::ProgramBuilder(std::move(program)).Build());
    return Function::FromTile(ir::ToTile(program), absl::StrCat("gradient of ", function.file()));
  });
}

absl::StatusOr<std::vector<GradientPath>> FindGradientPaths(absl::Span<const Tensor> outputs,
                                                            absl::Span<const Tensor> wrt,
                                                            const GradientOptions& options) {
  PathFinder finder(options);
  TARTAN_RETURN_IF_ERROR(finder.Visit(outputs));
  std::vector<GradientPath> paths;
  for (const Tensor& tensor : wrt) paths.push_back(finder.Follow(tensor));
  return paths;
}

}  // namespace tartan::api
