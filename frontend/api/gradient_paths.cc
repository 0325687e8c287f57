// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "frontend/api/gradient.h"
#include "frontend/api/tensor_node.h"
#include "tile/autodiff/dependence.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"

namespace tartan::api {
namespace {

// The applications behind outputs, and which of their results have derivatives by which inputs.
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
    Marks any;   // depends
    Marks with;  // with a derivative
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
  using Marks = std::unordered_map<const TensorNode*, std::vector<bool>>;  // per result
  struct Uses {
    std::vector<bool> used;  // by an application, or as an output
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
    const auto* application = std::get_if<ApplicationNode>(&node.kind);
    if (application == nullptr) return absl::OkStatus();
    std::vector<TensorShape> shapes;
    for (const NodeResult& input : application->inputs)
      shapes.push_back(input.node->shapes[input.result]);
    TARTAN_ASSIGN_OR_RETURN(const ir::Program program,
                            lang::Bind(*application->function, shapes, {}));
    order_.push_back({&node, autodiff::FindDerivatives(program, options_)});
    return absl::OkStatus();
  }

  // Outputs among a node's results.
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
    bool arrives = false;  // with a derivative
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
