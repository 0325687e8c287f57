// SPDX-License-Identifier: Apache-2.0
// Messages that hold any value to host values and back: tensors of strings and narrow numbers,
// sequences, optionals.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/tensor_proto.h"

namespace tartan::onnx {

class TypeProto;

// What a tensor of an ONNX element type holds, and the type of the tensor that stores it.
struct ElementType {
  DataType type = DataType::kInvalid;
  api::Element element = api::Element::kPlain;

  bool operator==(const ElementType&) const = default;
};

// Of a number of TensorProto.DataType. Unimplemented for complex numbers, InvalidArgument for a
// number that is none.
absl::StatusOr<ElementType> ElementFromOnnx(int32_t onnx_type);
int32_t ElementToOnnx(const ElementType& type);

// As ToHostTensor, of any element type; packed numbers are unpacked.
absl::StatusOr<api::HostValue> ToHostValue(const TensorProto& proto, const TensorSource& source);

// Fills `spec` but its name. Unimplemented for sparse tensors.
absl::Status FillSpec(const TypeProto& type, api::TensorSpec* spec);

// A file that holds what `spec` declares, as a serialised TensorProto, SequenceProto, MapProto or
// OptionalProto; a sequence of maps must have the same keys in all of them. bfloat16 that test data
// holds as uint16 becomes what the model declares.
absl::StatusOr<api::HostValue> ReadValueFile(const std::string& path, const api::TensorSpec& spec);

// The name of the tensor in such a file; empty where it has none, or holds something else.
absl::StatusOr<std::string> ReadValueName(const std::string& path);

}  // namespace tartan::onnx
