// Models for tests, written as protobuf text.
#pragma once

#include <string>

namespace tartan::onnx {

// The serialised ModelProto of a text such as "graph { node { … } }" with IR version 8 and operator
// set 13; a single field in the text takes precedence. Aborts when the text is no ModelProto.
std::string ModelBytes(const std::string& text, int opset = 13);

// A graph input or output field: type is a TensorProto.DataType number.
std::string ValueText(const std::string& field, const std::string& name, int type,
                      const std::string& dims);

}  // namespace tartan::onnx
