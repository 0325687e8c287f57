// Control flow that is decided when the model is bound.
#include "frontend/onnx/operator_table.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Outputs = absl::StatusOr<std::vector<api::Tensor>>;

// Only the branch taken is imported.
Outputs If(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t condition, context.HostInt(0));
  return context.ImportSubgraph(condition != 0 ? "then_branch" : "else_branch", {});
}

constexpr OperatorRow kOperators[] = {
    {"If", 1, {1, 1}, If, nullptr, nullptr, HostOperands(0)},
};

}  // namespace

absl::Span<const OperatorRow> ControlFlowOperators() { return kOperators; }

}  // namespace tartan::onnx
