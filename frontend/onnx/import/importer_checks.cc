// SPDX-License-Identifier: Apache-2.0
// Checks of a graph during its import: declared shapes, and names of nested graphs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/importer.h"
#include "proto/onnx.pb.h"
#include "tile/base/environment.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {

bool Importer::ChecksShapes() { return EnvironmentValue("TARTAN_CHECK_SHAPES") == "1"; }

absl::Status Importer::CheckDeclared(const NodeProto& node, const std::string& name,
                                     const Slot& slot, const Scope& scope) const {
  if (!checks_shapes_ || slot.waits || !slot.value.is_tensor()) return absl::OkStatus();
  const auto found = scope.graph->declared.find(name);
  if (found == scope.graph->declared.end()) return absl::OkStatus();
  const std::vector<int64_t>& made = slot.value.tensor().dims();
  const std::vector<int64_t>& declared = found->second;
  bool agrees = made.size() == declared.size();
  for (size_t d = 0; agrees && d < made.size(); ++d) {
    agrees = declared[d] < 0 || declared[d] == made[d];
  }
  if (agrees) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Describe(node), ": '", name, "' is ",
                                                 DimsToString(made), ", but the model declares ",
                                                 DimsToString(declared)));
}

// True if both are known constants of the same values and shape.
static bool IsSameConstant(const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    const bool is_plain = value->is_tensor() && value->element() == api::Element::kPlain;
    if (!is_plain || value->tensor().constant() == nullptr) return false;
  }
  const HostTensor& x = *a.tensor().constant();
  const HostTensor& y = *b.tensor().constant();
  return x.shape() == y.shape() && x.bytes() == y.bytes();
}

// A body may repeat a constant of an outer graph, because onnxruntime writes such files.
absl::Status Importer::CheckNewNames(const Graph& graph, const Scope& outer) {
  // Reimported nodes also see names that are defined after them.
  if (outer.outer != nullptr && outer.outer->graph == outer.graph) return absl::OkStatus();
  const auto check = [&](const std::string& name, const Value* value, absl::string_view by) {
    const std::vector<std::string>& inputs = graph.inputs;
    if (name.empty() || std::find(inputs.begin(), inputs.end(), name) != inputs.end()) {
      return absl::OkStatus();
    }
    const Value* const defined = outer.Defined(name);
    if (defined == nullptr || (value != nullptr && IsSameConstant(*value, *defined))) {
      return absl::OkStatus();
    }
    return Invalid("graph '", graph.name, "' defines '", name, "' by ", by,
                   ", but an enclosing graph has a value of that name");
  };
  for (const auto& [name, value] : graph.constants) {
    TARTAN_RETURN_IF_ERROR(check(name, &value, "an initialiser or a constant"));
  }
  for (const NodeProto* node : graph.nodes) {
    for (const std::string& name : node->output()) {
      TARTAN_RETURN_IF_ERROR(check(name, nullptr, Describe(*node)));
    }
  }
  return absl::OkStatus();
}

}  // namespace tartan::onnx
