// SPDX-License-Identifier: Apache-2.0
// Builds ONNX models for tests from protobuf text.
#pragma once

#include <string>
#include <vector>

namespace tartan::onnx {

// The serialised ModelProto of a text such as "graph { node { … } }" with IR version 8 and operator
// set `opset`. A singular field in the text takes precedence. Aborts when the text does not parse.
std::string ModelBytes(const std::string& text, int opset = 13);

// The text of a graph input or output; `type` is a TensorProto.DataType.
std::string ValueText(const std::string& field, const std::string& name, int type,
                      const std::string& dims);

// A node of the default domain without a name; `rest` is the text of further fields.
std::string NodeText(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& rest = "");

// The text of an attribute that contains a graph.
std::string GraphAttribute(const std::string& name, const std::string& graph);

}  // namespace tartan::onnx
