// SPDX-License-Identifier: Apache-2.0
// Conversion between messages of any value and host values: tensors of strings and low-precision
// types, sequences, optionals.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"
#include "frontend/onnx/values/tensor_proto.h"

namespace tartan::onnx {

class TypeProto;

// The elements of a tensor of an ONNX type, and the type of the tensor that stores them.
struct ElementType {
  DataType type = DataType::kInvalid;
  api::Element element = api::Element::kPlain;

  bool operator==(const ElementType&) const = default;
};

// Maps a value of TensorProto.DataType. Unimplemented for complex numbers, InvalidArgument for an
// undefined value.
absl::StatusOr<ElementType> ElementFromOnnx(int32_t onnx_type);
int32_t ElementToOnnx(const ElementType& type);

// Converts a message of any element type, like ToHostTensor. Packed elements are unpacked.
absl::StatusOr<api::HostValue> ToHostValue(const TensorProto& proto, const TensorSource& source);

// Fills all of `spec` except its name. Unimplemented for sparse tensors.
absl::Status FillSpec(const TypeProto& type, api::TensorSpec* spec);

// Reads a file with the value that `spec` declares, as a serialised TensorProto, SequenceProto,
// MapProto or OptionalProto. The maps of a sequence must have equal keys. bfloat16 that test data
// holds as uint16 gets the type that the model declares.
absl::StatusOr<api::HostValue> ReadValueFile(const std::string& path, const api::TensorSpec& spec);

// The name of the tensor in such a file; empty if it has none, or holds another kind of value.
absl::StatusOr<std::string> ReadValueName(const std::string& path);

}  // namespace tartan::onnx
