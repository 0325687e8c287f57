// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/values/tensor_proto.h"

#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/values/external_data.h"
#include "proto/onnx.pb.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

struct TypeRow {
  absl::string_view name;
  DataType type;
};

// Indexed by the values of TensorProto.DataType.
constexpr std::array<TypeRow, 27> kTypes = {{
    {"undefined", DataType::kInvalid},
    {"float", DataType::kFloat32},
    {"uint8", DataType::kUInt8},
    {"int8", DataType::kInt8},
    {"uint16", DataType::kUInt16},
    {"int16", DataType::kInt16},
    {"int32", DataType::kInt32},
    {"int64", DataType::kInt64},
    {"string", DataType::kInvalid},
    {"bool", DataType::kBool},
    {"float16", DataType::kFloat16},
    {"double", DataType::kFloat64},
    {"uint32", DataType::kUInt32},
    {"uint64", DataType::kUInt64},
    {"complex64", DataType::kInvalid},
    {"complex128", DataType::kInvalid},
    {"bfloat16", DataType::kBFloat16},
    {"float8e4m3fn", DataType::kInvalid},
    {"float8e4m3fnuz", DataType::kInvalid},
    {"float8e5m2", DataType::kInvalid},
    {"float8e5m2fnuz", DataType::kInvalid},
    {"uint4", DataType::kInvalid},
    {"int4", DataType::kInvalid},
    {"float4e2m1", DataType::kInvalid},
    {"float8e8m0", DataType::kInvalid},
    {"uint2", DataType::kInvalid},
    {"int2", DataType::kInvalid},
}};

bool IsKnown(int32_t onnx_type) {
  return onnx_type > 0 && onnx_type < static_cast<int32_t>(kTypes.size());
}

absl::StatusOr<TensorShape> ShapeOf(const google::protobuf::RepeatedField<int64_t>& dims,
                                    DataType type) {
  TensorShape shape{type, {dims.begin(), dims.end()}};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

absl::Status WrongLength(absl::string_view field, int64_t got, int64_t expected,
                         const TensorShape& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " holds ", got, " where ", shape.ToString(), " takes ", expected));
}

// Elements of a typed field, each narrowed to the width of the tensor's type. 16-bit floats are bit
// patterns in the field.
template <class Field>
absl::StatusOr<HostTensor> FromField(absl::string_view name, const Field& field,
                                     const TensorShape& shape) {
  if (field.size() != shape.element_count()) {
    return WrongLength(name, field.size(), shape.element_count(), shape);
  }
  const int64_t width = ByteWidth(shape.type);
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    // Little endian: the low bytes come first.
    const auto value = field[static_cast<int>(i)];
    std::memcpy(&bytes[static_cast<size_t>(i * width)], &value, static_cast<size_t>(width));
  }
  if (shape.type == DataType::kBool) {
    for (uint8_t& byte : bytes) byte = byte != 0;
  }
  return HostTensor(shape, bytes);
}

absl::StatusOr<HostTensor> FromTypedFields(const TensorProto& proto, const TensorShape& shape) {
  switch (shape.type) {
    case DataType::kFloat32:
      return FromField("float_data", proto.float_data(), shape);
    case DataType::kFloat64:
      return FromField("double_data", proto.double_data(), shape);
    case DataType::kInt64:
      return FromField("int64_data", proto.int64_data(), shape);
    case DataType::kUInt32:
    case DataType::kUInt64:
      return FromField("uint64_data", proto.uint64_data(), shape);
    default:
      return FromField("int32_data", proto.int32_data(), shape);
  }
}

// Shares `bytes` if their address is aligned for the type, else copies them.
HostTensor ShareBytes(const TensorShape& shape, absl::Span<const uint8_t> bytes,
                      std::shared_ptr<const void> owner) {
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const bool aligned = address % static_cast<uintptr_t>(ByteWidth(shape.type)) == 0;
  if (owner != nullptr && aligned) return HostTensor(shape, bytes, std::move(owner));
  return HostTensor(shape, bytes);
}

}  // namespace

absl::StatusOr<DataType> DataTypeFromOnnx(int32_t onnx_type) {
  if (!IsKnown(onnx_type)) {
    return absl::InvalidArgumentError(absl::StrCat("element type ", onnx_type, " does not exist"));
  }
  const TypeRow& row = kTypes[static_cast<size_t>(onnx_type)];
  if (row.type == DataType::kInvalid) {
    return absl::UnimplementedError(absl::StrCat("elements of type ", row.name));
  }
  return row.type;
}

int32_t DataTypeToOnnx(DataType type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].type == type) return static_cast<int32_t>(i);
  }
  return 0;
}

std::string OnnxTypeName(int32_t onnx_type) {
  if (!IsKnown(onnx_type)) return absl::StrCat("type ", onnx_type);
  return std::string(kTypes[static_cast<size_t>(onnx_type)].name);
}

absl::StatusOr<HostTensor> ToHostTensor(const TensorProto& proto, const TensorSource& source) {
  TARTAN_ASSIGN_OR_RETURN(const DataType type, DataTypeFromOnnx(proto.data_type()));
  if (proto.has_segment()) return absl::UnimplementedError("a tensor stored in segments");
  TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(proto.dims(), type));
  if (proto.data_location() == TensorProto::EXTERNAL) {
    if (source.external == nullptr) {
      return absl::InvalidArgumentError("external data is not allowed here");
    }
    TARTAN_ASSIGN_OR_RETURN(ExternalData::Bytes data,
                            source.external->Read(proto, shape.byte_size()));
    return ShareBytes(shape, data.bytes, std::move(data.owner));
  }
  if (!proto.has_raw_data()) return FromTypedFields(proto, shape);
  const std::string& raw = proto.raw_data();
  if (static_cast<int64_t>(raw.size()) != shape.byte_size()) {
    return WrongLength("raw_data", static_cast<int64_t>(raw.size()), shape.byte_size(), shape);
  }
  return ShareBytes(shape, {reinterpret_cast<const uint8_t*>(raw.data()), raw.size()},
                    source.owner);
}

absl::StatusOr<HostTensor> ToHostTensor(const SparseTensorProto& proto,
                                        const TensorSource& source) {
  TARTAN_ASSIGN_OR_RETURN(const HostTensor values, ToHostTensor(proto.values(), source));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor indices, ToHostTensor(proto.indices(), source));
  TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(proto.dims(), values.type()));
  // Limits on the dense size, so that a small file does not expand to gigabytes.
  // kMaxBytes: dense bytes that are always allowed.
  // kMaxGrowth: maximum ratio of dense to sparse bytes above that.
  constexpr int64_t kMaxBytes = int64_t{1} << 20;
  constexpr int64_t kMaxGrowth = 256;
  const int64_t given = values.shape().byte_size() + indices.shape().byte_size();
  if (shape.byte_size() > kMaxBytes && shape.byte_size() / kMaxGrowth > given) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a sparse tensor of ", shape.ToString(), " is too large as a dense one"));
  }
  const int64_t count = values.element_count();
  const int64_t rank = shape.rank();
  const bool is_flat = indices.shape().dims == std::vector<int64_t>{count};
  const bool is_tuple = indices.shape().dims == std::vector<int64_t>{count, rank};
  if (indices.type() != DataType::kInt64 || values.shape().rank() != 1 || (!is_flat && !is_tuple)) {
    return absl::InvalidArgumentError(absl::StrCat("sparse values ", values.shape().ToString(),
                                                   " do not fit indices ",
                                                   indices.shape().ToString()));
  }
  const std::vector<int64_t> strides = RowMajorStrides(shape.dims);
  const size_t width = static_cast<size_t>(ByteWidth(shape.type));
  std::vector<uint8_t> dense(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = is_flat ? indices.GetInt(i) : 0;
    bool inside = position >= 0 && position < shape.element_count();
    for (int64_t d = 0; !is_flat && d < rank; ++d) {
      const int64_t index = indices.GetInt(i * rank + d);
      inside = inside && index >= 0 && index < shape.dims[d];
      if (inside) position += index * strides[d];
    }
    if (!inside) return absl::InvalidArgumentError("a sparse index is outside the tensor");
    std::memcpy(&dense[static_cast<size_t>(position) * width],
                values.bytes().data() + static_cast<size_t>(i) * width, width);
  }
  return HostTensor(shape, dense);
}

void ToTensorProto(const HostTensor& tensor, TensorProto* proto) {
  proto->Clear();
  for (int64_t dim : tensor.shape().dims) proto->add_dims(dim);
  proto->set_data_type(DataTypeToOnnx(tensor.type()));
  const absl::Span<const uint8_t> bytes = tensor.bytes();
  proto->set_raw_data(bytes.data(), bytes.size());
}

absl::StatusOr<HostTensor> ReadTensorFile(const std::string& path, std::string* name) {
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const auto fail = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  auto proto = std::make_shared<TensorProto>();
  const absl::Span<const uint8_t> bytes = file->bytes();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(absl::InvalidArgumentError("not a serialised ONNX tensor, or it is truncated"));
  }
  // The fields of SequenceProto and OptionalProto that hold values have the field number of
  // `segment`.
  if (proto->has_segment() || proto->data_type() == 0) {
    return fail(absl::UnimplementedError("contains a sequence or an optional, not a tensor"));
  }
  absl::StatusOr<HostTensor> tensor = ToHostTensor(*proto, {proto, nullptr});
  if (!tensor.ok()) return fail(tensor.status());
  if (name != nullptr) *name = proto->name();
  return tensor;
}

HostTensor AsDeclared(const HostTensor& tensor, DataType declared) {
  if (declared != DataType::kBFloat16 || tensor.type() != DataType::kUInt16) return tensor;
  return HostTensor(TensorShape{declared, tensor.shape().dims}, tensor.bytes());
}

}  // namespace tartan::onnx
