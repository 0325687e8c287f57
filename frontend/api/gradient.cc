// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/gradient.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/pull_back.h"
#include "frontend/api/tensor_node.h"
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
                                                 ": only floats have gradients"));
}

absl::Status CheckSeed(const SeededTensor& loss) {
  const TensorShape& shape = loss.tensor.shape();
  if (loss.seed.defined()) {
    if (loss.seed.shape() == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the seed is ", loss.seed.shape().ToString(),
                                                   " but the loss ", shape.ToString()));
  }
  if (shape.element_count() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the loss is ", shape.ToString(),
                   ", not one element: reduce it, or give a seed of that shape"));
}

// Goes over the applications between `wrt` and the losses, from the last to the first.
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
  // Of a node, per result.
  struct State {
    std::vector<bool> depends;      // on one of `wrt`, by a path of floats
    std::vector<Tensor> gradients;  // of the loss; undefined: 0
    bool is_visited = false;
  };

  State& StateOf(const TensorNode& node) {
    State& state = states_[&node];
    state.depends.resize(node.shapes.size());
    state.gradients.resize(node.shapes.size());
    return state;
  }

  bool Depends(const Tensor& tensor) { return StateOf(*tensor.node()).depends[tensor.result()]; }

  // Finds what depends on `wrt` and the order of computation, without recursion.
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
    for (size_t result = 0; result < node->shapes.size(); ++result) {
      const DataType type = node->shapes[result].type;
      if (IsFloat(type) || (options_.straight_through && IsInteger(type)))
        state.depends[result] = true;
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
    const std::vector<Tensor>& gradients = StateOf(*node).gradients;
    const bool any = std::any_of(gradients.begin(), gradients.end(),
                                 [](const Tensor& gradient) { return gradient.defined(); });
    if (!any) return absl::OkStatus();
    const absl::Span<const NodeResult> inputs = InputsOf(*node);
    std::vector<bool> wanted;
    for (const NodeResult& input : inputs) wanted.push_back(Depends(input));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> parts,
                            PullBack(node, gradients, wanted, options_));
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

// The position of each name.
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
      TARTAN_RETURN_IF_ERROR(CheckFloat(tensor, "what the gradient is asked for"));
    }
    for (const SeededTensor& loss : losses) {
      TARTAN_RETURN_IF_ERROR(CheckFloat(loss.tensor, "the loss"));
      TARTAN_RETURN_IF_ERROR(CheckSeed(loss));
    }
    return Backward(options).Run(losses, wrt);
  });
}

absl::StatusOr<Tensor> Filled(const TensorShape& shape, double value) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Tensor> {
    if (!IsFloat(shape.type)) {
      return absl::InvalidArgumentError(absl::StrCat(shape.ToString(), " is no float"));
    }
    TARTAN_RETURN_IF_ERROR(CheckShape(shape));
    std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(shape.type)));
    StoreElement(shape.type, value, 0, bytes.data());
    const Tensor scalar = Tensor::Constant(HostTensor({shape.type, {}}, bytes), "filled");
    if (shape.rank() == 0) return scalar;
    std::vector<std::string> indices;
    for (int64_t d = 0; d < shape.rank(); ++d) indices.push_back(absl::StrCat("i", d));
    return Apply(absl::StrCat("function (S) -> (O) { O[", absl::StrJoin(indices, ", "), " : ",
                              absl::StrJoin(shape.dims, ", "), "] = +(S[]); }"),
                 {scalar}, "filled");
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

}  // namespace tartan::api
