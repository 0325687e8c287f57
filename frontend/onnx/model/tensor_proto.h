// SPDX-License-Identifier: Apache-2.0
// TensorProto messages to host tensors and back.
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

// The numbers of TensorProto.DataType. Unimplemented naming the type for those we do not compute
// with (string, complex, float8, 4-bit …), InvalidArgument for a number that is none.
absl::StatusOr<DataType> DataTypeFromOnnx(int32_t onnx_type);
int32_t DataTypeToOnnx(DataType type);
// "float", "float8e4m3fn" …; "type 99" for an unknown number.
std::string OnnxTypeName(int32_t onnx_type);

// Where the messages being read live.
struct TensorSource {
  std::shared_ptr<const void> owner;  // keeps the message alive: its raw data is shared, not copied
  ExternalData* external = nullptr;   // null: external data is an error
};

// Nothing is allocated for sizes that the data present does not bear out. Errors do not name the
// tensor.
absl::StatusOr<HostTensor> ToHostTensor(const TensorProto& proto, const TensorSource& source);

// As a dense tensor; ResourceExhausted beyond 2^30 elements.
absl::StatusOr<HostTensor> ToHostTensor(const SparseTensorProto& proto, const TensorSource& source);

// Fills dims, data_type and raw_data.
void ToTensorProto(const HostTensor& tensor, TensorProto* proto);

// A file that holds one serialised TensorProto, as in test data. `name`, when not null, receives
// the tensor's name. Unimplemented for a sequence or an optional.
absl::StatusOr<HostTensor> ReadTensorFile(const std::string& path, std::string* name = nullptr);

// Test data of ONNX up to 1.12 holds bfloat16 as uint16 bit patterns: given the type the model
// declares, the tensor as it is meant. Other tensors are returned as they are.
HostTensor AsDeclared(const HostTensor& tensor, DataType declared);

}  // namespace tartan::onnx
