// SPDX-License-Identifier: Apache-2.0
// Models for tests, written as protobuf text.
#pragma once

#include <string>
#include <vector>

namespace tartan::onnx {

// The serialised ModelProto of a text such as "graph { node { … } }" with IR version 8 and operator
// set 13; a single field in the text takes precedence. Aborts when the text is no ModelProto.
std::string ModelBytes(const std::string& text, int opset = 13);

// A graph input or output field: type is a TensorProto.DataType number.
std::string ValueText(const std::string& field, const std::string& name, int type,
                      const std::string& dims);

// A node of the default domain without a name; `rest` is more of its fields.
std::string NodeText(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& rest = "");

// An attribute that holds a graph.
std::string GraphAttribute(const std::string& name, const std::string& graph);

}  // namespace tartan::onnx
