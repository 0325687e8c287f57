// SPDX-License-Identifier: Apache-2.0
// Conversion between TensorProto messages and host tensors.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/base/host_tensor.h"

namespace tartan::onnx {

class ExternalData;
class SparseTensorProto;
class TensorProto;

// Maps the values of TensorProto.DataType. Unimplemented naming the type for types without
// arithmetic (string, complex, float8, 4-bit …). InvalidArgument for an undefined value.
absl::StatusOr<DataType> DataTypeFromOnnx(int32_t onnx_type);
int32_t DataTypeToOnnx(DataType type);
// "float", "float8e4m3fn" …; "type 99" for an unknown value.
std::string OnnxTypeName(int32_t onnx_type);

// The owner of the messages being read.
struct TensorSource {
  std::shared_ptr<const void> owner;  // keeps the message alive: its raw data is shared, not copied
  ExternalData* external = nullptr;   // null: external data is an error
};

// Memory is allocated only for sizes that match the data. Errors do not name the tensor.
absl::StatusOr<HostTensor> ToHostTensor(const TensorProto& proto, const TensorSource& source);

// The dense form of a sparse tensor; ResourceExhausted beyond 2^30 elements.
absl::StatusOr<HostTensor> ToHostTensor(const SparseTensorProto& proto, const TensorSource& source);

// Fills dims, data_type and raw_data.
void ToTensorProto(const HostTensor& tensor, TensorProto* proto);

// Reads a file that holds one serialised TensorProto, as in test data. `name`, when not null,
// receives the tensor's name. Unimplemented for a sequence or an optional.
absl::StatusOr<HostTensor> ReadTensorFile(const std::string& path, std::string* name = nullptr);

// Test data of ONNX up to 1.12 holds bfloat16 as uint16 bit patterns. Reinterprets such a tensor in
// the type that the model declares; returns other tensors unchanged.
HostTensor AsDeclared(const HostTensor& tensor, DataType declared);

}  // namespace tartan::onnx
