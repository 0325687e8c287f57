// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/program_graph.h"

#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status CheckPlaceholder(const Tensor& tensor, absl::string_view what) {
  if (tensor.defined() && tensor.is_placeholder()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, tensor.defined() ? absl::StrCat(" '", tensor.node()->name, "'") : "",
                   " is not a placeholder"));
}

absl::Status CheckState(const ProgramState& state) {
  TARTAN_RETURN_IF_ERROR(CheckPlaceholder(state.input, "the state"));
  if (!state.next.defined() || state.next.shape() == state.input.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the state '", state.input.node()->name, "' is ", state.input.shape().ToString(),
                   ", but its next value is ", state.next.shape().ToString()));
}

absl::Status CheckDependences(absl::Span<const Tensor> placeholders,
                              absl::Span<const Tensor> results) {
  std::unordered_set<const TensorNode*> given;
  for (const Tensor& placeholder : placeholders) given.insert(placeholder.node().get());
  for (const Tensor& needed : PlaceholdersOf(results)) {
    if (given.count(needed.node().get()) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("a result depends on '", needed.node()->name,
                                                   "', which is neither an input nor a state"));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t InputBytes(const ProgramGraph& graph) {
  int64_t bytes = 0;
  for (const Tensor& input : graph.inputs) bytes += input.shape().byte_size();
  for (const ProgramState& state : graph.states) bytes += state.input.shape().byte_size();
  return bytes;
}

std::vector<Tensor> ResultsOf(const ProgramGraph& graph) {
  std::vector<Tensor> results = graph.outputs;
  for (const ProgramState& state : graph.states) {
    if (state.next.defined()) results.push_back(state.next);
  }
  return results;
}

absl::StatusOr<ComposedProgram> Compose(const ProgramGraph& graph) {
  for (const Tensor& input : graph.inputs) {
    TARTAN_RETURN_IF_ERROR(CheckPlaceholder(input, "the input"));
  }
  for (const ProgramState& state : graph.states) TARTAN_RETURN_IF_ERROR(CheckState(state));
  std::vector<Tensor> placeholders = graph.inputs;
  for (const ProgramState& state : graph.states) placeholders.push_back(state.input);
  const std::vector<Tensor> results = ResultsOf(graph);
  TARTAN_RETURN_IF_ERROR(CheckDependences(placeholders, results));
  TARTAN_ASSIGN_OR_RETURN(ComposedProgram composed, Compose(placeholders, results, graph.name));
  auto next = static_cast<int>(graph.outputs.size());
  for (size_t s = 0; s < graph.states.size(); ++s) {
    proto::Program::Input* input =
        composed.program.mutable_inputs(static_cast<int>(graph.inputs.size() + s));
    input->set_is_state(true);
    if (graph.states[s].next.defined()) input->set_next(++next);
  }
  return composed;
}

}  // namespace tartan::api
