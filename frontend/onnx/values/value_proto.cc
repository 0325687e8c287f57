// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/values/value_proto.h"

#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/values/external_data.h"
#include "proto/onnx.pb.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Element;
using api::HostValue;

struct ElementRow {
  int32_t onnx_type;
  Element element;
};
constexpr std::array<ElementRow, 13> kElements = {{
    {8, Element::kString},
    {17, Element::kFloat8E4M3FN},
    {18, Element::kFloat8E4M3FNUZ},
    {19, Element::kFloat8E5M2},
    {20, Element::kFloat8E5M2FNUZ},
    {21, Element::kUInt4},
    {22, Element::kInt4},
    {23, Element::kFloat4E2M1},
    {24, Element::kFloat8E8M0},
    {25, Element::kUInt2},
    {26, Element::kInt2},
    {27, Element::kFloat6E2M3},
    {28, Element::kFloat6E3M2},
}};

// Maximum nesting of sequences and optionals, more than any real model has.
constexpr int kMaxDepth = 8;

absl::StatusOr<HostValue> StringTensor(const TensorProto& proto) {
  const TensorShape shape{DataType::kInt64, {proto.dims().begin(), proto.dims().end()}};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  if (proto.string_data_size() != shape.element_count()) {
    return absl::InvalidArgumentError(absl::StrCat("string_data has ", proto.string_data_size(),
                                                   " where ", shape.element_count(),
                                                   " are declared"));
  }
  const std::vector<std::string> strings(proto.string_data().begin(), proto.string_data().end());
  return api::HostStrings(shape.dims, strings);
}

// The bytes of a packed tensor: external, raw or in a typed field.
absl::StatusOr<std::vector<uint8_t>> PackedBytes(const TensorProto& proto, int64_t size,
                                                 const TensorSource& source) {
  std::vector<uint8_t> bytes;
  if (proto.data_location() == TensorProto::EXTERNAL) {
    if (source.external == nullptr) {
      return absl::InvalidArgumentError("external data is not allowed here");
    }
    TARTAN_ASSIGN_OR_RETURN(const ExternalData::Bytes data, source.external->Read(proto, size));
    bytes.assign(data.bytes.begin(), data.bytes.end());
  } else if (proto.has_raw_data()) {
    bytes.assign(proto.raw_data().begin(), proto.raw_data().end());
  } else {
    for (int32_t value : proto.int32_data()) bytes.push_back(static_cast<uint8_t>(value));
  }
  if (static_cast<int64_t>(bytes.size()) == size) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("the data has ", bytes.size(), " bytes, but ", size, " are declared"));
}

// Value `i` of a stream of `bits`-bit values, the lowest bits of each byte first.
int NumberAt(absl::Span<const uint8_t> stream, int64_t i, int bits) {
  const size_t byte = static_cast<size_t>(i / 8 * bits + i % 8 * bits / 8);
  int value = stream[byte];
  if (byte + 1 < stream.size()) value |= stream[byte + 1] << 8;
  return value >> (i % 8 * bits % 8) & ((1 << bits) - 1);
}

// Unpacks values of 8 bits and fewer to one byte each, sign-extended if signed.
absl::StatusOr<HostValue> UnpackLowPrecision(const TensorProto& proto, Element element,
                                             const TensorSource& source) {
  const DataType type = api::StorageType(element);
  const TensorShape shape{type, {proto.dims().begin(), proto.dims().end()}};
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  const int bits = api::PackedBits(element);
  const int64_t count = shape.element_count();
  // Typed fields hold packed bytes, except for 6-bit values, which take one field element each.
  const bool is_packed =
      bits != 6 || proto.has_raw_data() || proto.data_location() == TensorProto::EXTERNAL;
  const int64_t size = is_packed ? count / 8 * bits + (count % 8 * bits + 7) / 8 : count;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<uint8_t> packed, PackedBytes(proto, size, source));
  std::vector<uint8_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int value = NumberAt(packed, i, is_packed ? bits : 8) & ((1 << bits) - 1);
    const bool is_negative = type == DataType::kInt8 && (value >> (bits - 1) & 1) != 0;
    values[static_cast<size_t>(i)] =
        static_cast<uint8_t>(is_negative ? value - (1 << bits) : value);
  }
  return HostValue(HostTensor(shape, values), element);
}

absl::StatusOr<HostValue> ToHostValue(const SequenceProto& proto, int depth);

// Concatenates tensors of one element each under the sizes `dims`.
absl::StatusOr<HostValue> JoinScalars(absl::Span<const HostValue> scalars,
                                      std::vector<int64_t> dims) {
  if (scalars.empty()) return absl::InvalidArgumentError("a map without elements");
  std::vector<std::string> strings;
  std::vector<uint8_t> bytes;
  for (const HostValue& scalar : scalars) {
    if (!scalar.is_tensor() || scalar.tensor().element_count() != 1 ||
        scalar.tensor().type() != scalars[0].tensor().type() ||
        scalar.element() != scalars[0].element()) {
      return absl::InvalidArgumentError("the values of a map are not single elements of one type");
    }
    if (scalar.is_strings()) {
      strings.push_back(api::StringsOf(scalar)[0]);
    } else {
      bytes.insert(bytes.end(), scalar.tensor().bytes().begin(), scalar.tensor().bytes().end());
    }
  }
  if (scalars[0].is_strings()) return api::HostStrings(std::move(dims), strings);
  return HostValue(HostTensor({scalars[0].tensor().type(), std::move(dims)}, bytes),
                   scalars[0].element());
}

// Values are stored as one tensor per key, or as a single tensor of all.
absl::StatusOr<HostValue> ToHostValue(const MapProto& proto, int depth) {
  const bool has_words = proto.string_keys_size() > 0;
  const int64_t count = has_words ? proto.string_keys_size() : proto.keys_size();
  HostValue keys =
      has_words ? api::HostStrings({count}, std::vector<std::string>(proto.string_keys().begin(),
                                                                     proto.string_keys().end()))
                : HostValue(HostTensor::FromVector(
                      {DataType::kInt64, {count}},
                      std::vector<int64_t>(proto.keys().begin(), proto.keys().end())));
  TARTAN_ASSIGN_OR_RETURN(const HostValue listed, ToHostValue(proto.values(), depth + 1));
  if (!listed.is_sequence()) return absl::InvalidArgumentError("a map to maps");
  const std::vector<HostValue>& values = listed.elements();
  if (values.size() == 1 && values[0].is_tensor() &&
      values[0].tensor().shape().dims == std::vector<int64_t>{count}) {
    return HostValue::Map(std::move(keys), values[0]);
  }
  if (static_cast<int64_t>(values.size()) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map of ", count, " keys and ", values.size(), " values"));
  }
  TARTAN_ASSIGN_OR_RETURN(HostValue joined, JoinScalars(values, {count}));
  return HostValue::Map(std::move(keys), std::move(joined));
}

// The maps of a sequence, one row each. All must have the keys of the first.
absl::StatusOr<HostValue> JoinMaps(const SequenceProto& proto, int depth) {
  std::vector<uint8_t> bytes;
  std::vector<HostValue> maps;
  for (const MapProto& map : proto.map_values()) {
    TARTAN_ASSIGN_OR_RETURN(maps.emplace_back(), ToHostValue(map, depth + 1));
    const HostValue& last = maps.back();
    std::string keys[2];
    AppendKey(maps[0].keys(), &keys[0]);
    AppendKey(last.keys(), &keys[1]);
    if (keys[0] != keys[1] || last.values().tensor().shape() != maps[0].values().tensor().shape() ||
        !last.values().is_tensor() || last.values().is_strings()) {
      return absl::UnimplementedError(
          "it is a sequence of maps with different keys, or of strings");
    }
    const absl::Span<const uint8_t> row = last.values().tensor().bytes();
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  const TensorShape& row = maps[0].values().tensor().shape();
  const TensorShape shape{row.type, {static_cast<int64_t>(maps.size()), row.dims[0]}};
  return HostValue::Map(maps[0].keys(),
                        HostValue(HostTensor(shape, bytes), maps[0].values().element()));
}

absl::StatusOr<HostValue> ToHostValue(const OptionalProto& proto, int depth) {
  if (depth > kMaxDepth) return absl::InvalidArgumentError("it is nested too deeply");
  if (proto.has_tensor_value()) return ToHostValue(proto.tensor_value(), TensorSource());
  if (proto.has_sequence_value()) return ToHostValue(proto.sequence_value(), depth + 1);
  if (proto.has_optional_value()) return ToHostValue(proto.optional_value(), depth + 1);
  return HostValue();
}

absl::StatusOr<HostValue> ToHostValue(const SequenceProto& proto, int depth) {
  if (depth > kMaxDepth) return absl::InvalidArgumentError("it is nested too deeply");
  if (proto.map_values_size() > 0) return JoinMaps(proto, depth);
  std::vector<HostValue> elements;
  for (const TensorProto& tensor : proto.tensor_values()) {
    TARTAN_ASSIGN_OR_RETURN(elements.emplace_back(), ToHostValue(tensor, TensorSource()));
  }
  for (const SequenceProto& sequence : proto.sequence_values()) {
    TARTAN_ASSIGN_OR_RETURN(elements.emplace_back(), ToHostValue(sequence, depth + 1));
  }
  for (const OptionalProto& optional : proto.optional_values()) {
    TARTAN_ASSIGN_OR_RETURN(elements.emplace_back(), ToHostValue(optional, depth + 1));
  }
  return HostValue::Sequence(std::move(elements));
}

absl::StatusOr<HostValue> ToHostValue(const TensorProto& proto, int /*depth*/) {
  return ToHostValue(proto, TensorSource());
}

template <class Message>
bool ParseMessage(absl::Span<const uint8_t> bytes, Message* proto) {
  return bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()) &&
         proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

template <class Message>
absl::StatusOr<HostValue> Parse(absl::Span<const uint8_t> bytes) {
  Message proto;
  if (ParseMessage(bytes, &proto)) return ToHostValue(proto, 0);
  return absl::InvalidArgumentError("it is not a serialised ONNX value, or it is truncated");
}

HostValue WithDeclaredType(const HostValue& value, const api::TensorSpec& spec) {
  if (!value.is_tensor() || value.element() != Element::kPlain) return value;
  return HostValue(AsDeclared(value.tensor(), spec.type));
}

}  // namespace

absl::StatusOr<ElementType> ElementFromOnnx(int32_t onnx_type) {
  for (const ElementRow& row : kElements) {
    if (row.onnx_type == onnx_type) return ElementType{api::StorageType(row.element), row.element};
  }
  TARTAN_ASSIGN_OR_RETURN(const DataType type, DataTypeFromOnnx(onnx_type));
  return ElementType{type, Element::kPlain};
}

int32_t ElementToOnnx(const ElementType& type) {
  for (const ElementRow& row : kElements) {
    if (row.element == type.element) return row.onnx_type;
  }
  return DataTypeToOnnx(type.type);
}

absl::StatusOr<HostValue> ToHostValue(const TensorProto& proto, const TensorSource& source) {
  TARTAN_ASSIGN_OR_RETURN(const ElementType type, ElementFromOnnx(proto.data_type()));
  if (type.element == Element::kString) return StringTensor(proto);
  if (type.element != Element::kPlain) return UnpackLowPrecision(proto, type.element, source);
  TARTAN_ASSIGN_OR_RETURN(HostTensor tensor, ToHostTensor(proto, source));
  return HostValue(std::move(tensor));
}

absl::Status FillSpec(const TypeProto& type, api::TensorSpec* spec) {
  const TypeProto* inner = &type;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (inner->has_sequence_type()) {
      ++spec->sequence_depth;
      inner = &inner->sequence_type().elem_type();
    } else if (inner->has_optional_type()) {
      spec->may_be_empty = true;
      inner = &inner->optional_type().elem_type();
    }
  }
  if (inner->has_map_type()) {
    const TypeProto::Map& map = inner->map_type();
    TARTAN_ASSIGN_OR_RETURN(const ElementType key, ElementFromOnnx(map.key_type()));
    if (key.element != Element::kString && key != ElementType{DataType::kInt64}) {
      return absl::UnimplementedError("it is a map whose keys are neither int64 nor strings");
    }
    spec->map_keys = key.element;
    inner = &map.value_type();
    if (!inner->has_tensor_type()) {
      return absl::UnimplementedError("it is a map whose values are not tensors");
    }
  }
  if (inner->has_sparse_tensor_type()) return absl::UnimplementedError("it is a sparse tensor");
  if (!inner->has_tensor_type()) {
    if (spec->may_be_empty || spec->sequence_depth > 0) {  // elements of any type
      spec->has_rank = false;
      return absl::OkStatus();
    }
    return absl::UnimplementedError("its type is unknown");
  }
  const TypeProto::Tensor& tensor = inner->tensor_type();
  TARTAN_ASSIGN_OR_RETURN(const ElementType element, ElementFromOnnx(tensor.elem_type()));
  spec->type = element.type;
  spec->element = element.element;
  spec->has_rank = tensor.has_shape();
  for (const TensorShapeProto::Dimension& dim : tensor.shape().dim()) {
    const bool is_fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    spec->dims.push_back(is_fixed ? dim.dim_value() : -1);
    spec->dim_names.push_back(dim.dim_param());
  }
  return absl::OkStatus();
}

absl::StatusOr<HostValue> ReadValueFile(const std::string& path, const api::TensorSpec& spec) {
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::Span<const uint8_t> bytes = file->bytes();
  const bool is_map = spec.map_keys.has_value() && spec.sequence_depth == 0;
  absl::StatusOr<HostValue> value = spec.may_be_empty         ? Parse<OptionalProto>(bytes)
                                    : is_map                  ? Parse<MapProto>(bytes)
                                    : spec.sequence_depth > 0 ? Parse<SequenceProto>(bytes)
                                                              : Parse<TensorProto>(bytes);
  if (value.ok()) return WithDeclaredType(*value, spec);
  return absl::Status(value.status().code(), absl::StrCat(path, ": ", value.status().message()));
}

absl::StatusOr<std::string> ReadValueName(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  TensorProto proto;
  return ParseMessage(file->bytes(), &proto) ? proto.name() : std::string();
}

}  // namespace tartan::onnx
