// SPDX-License-Identifier: Apache-2.0
// Checks that apply to every node of a model, whatever its operator.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace google::protobuf {
template <class Element>
class RepeatedPtrField;
}

namespace tartan::onnx {

class NodeProto;

// InvalidArgument naming the node in two cases: an attribute is given twice, or `is_imported` is
// false because the model imports no operator set of the node's domain. Graphs in attributes are
// checked too.
absl::Status CheckNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                        absl::FunctionRef<bool(const NodeProto& node)> is_imported);

}  // namespace tartan::onnx
