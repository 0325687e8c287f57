// SPDX-License-Identifier: Apache-2.0
// What every node of a model must keep to, whatever its operator is.
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

// InvalidArgument naming the node, graphs in attributes included: an attribute that is given twice,
// and a domain of which no operator set is imported, which `is_imported` tells.
absl::Status CheckNodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                        absl::FunctionRef<bool(const NodeProto& node)> is_imported);

}  // namespace tartan::onnx
