// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/node_checks.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/graph.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::Status CheckAttributes(const NodeProto& node) {
  std::set<absl::string_view> names;
  for (const AttributeProto& attribute : node.attribute()) {
    if (names.insert(attribute.name()).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(node), ": attribute '", attribute.name(), "' is given twice"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                        absl::FunctionRef<bool(const NodeProto& node)> is_imported) {
  std::vector<const google::protobuf::RepeatedPtrField<NodeProto>*> waiting = {&nodes};
  while (!waiting.empty()) {
    const auto& graph = *waiting.back();
    waiting.pop_back();
    for (const NodeProto& node : graph) {
      TARTAN_RETURN_IF_ERROR(CheckAttributes(node));
      if (!is_imported(node)) {
        const absl::string_view domain = NormalDomain(node.domain());
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(node), ": no operator set of its domain '",
                         domain.empty() ? "ai.onnx" : domain, "' is imported"));
      }
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) waiting.push_back(&attribute.g().node());
        for (const GraphProto& nested : attribute.graphs()) waiting.push_back(&nested.node());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tartan::onnx
