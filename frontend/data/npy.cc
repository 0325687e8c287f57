// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/npy.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontend/data/scratch.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct Header {
  DataType type = DataType::kInvalid;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

struct TypeCode {
  absl::string_view code;  // without the byte order
  DataType type;
};

constexpr TypeCode kTypeCodes[] = {
    {"b1", DataType::kBool},    {"i1", DataType::kInt8},    {"i2", DataType::kInt16},
    {"i4", DataType::kInt32},   {"i8", DataType::kInt64},   {"u1", DataType::kUInt8},
    {"u2", DataType::kUInt16},  {"u4", DataType::kUInt32},  {"u8", DataType::kUInt64},
    {"f2", DataType::kFloat16}, {"f4", DataType::kFloat32}, {"f8", DataType::kFloat64},
};

// The text after "'key':" in the header's dictionary.
std::optional<absl::string_view> ValueOf(absl::string_view dictionary, absl::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = absl::StrCat(std::string(1, quote), key, std::string(1, quote));
    const size_t at = dictionary.find(quoted);
    if (at == absl::string_view::npos) continue;
    absl::string_view rest =
        absl::StripLeadingAsciiWhitespace(dictionary.substr(at + quoted.size()));
    if (rest.empty() || rest[0] != ':') return std::nullopt;
    return absl::StripLeadingAsciiWhitespace(rest.substr(1));
  }
  return std::nullopt;
}

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a valid NumPy array file: ", what));
}

absl::Status ReadType(absl::string_view value, Header* header) {
  const char quote = value.empty() ? '\0' : value[0];
  const size_t end = value.find(quote, 1);
  if ((quote != '\'' && quote != '"') || end == absl::string_view::npos) {
    return absl::UnimplementedError("NumPy records are not supported, only plain element types");
  }
  const absl::string_view descr = value.substr(1, end - 1);
  for (const TypeCode& known : kTypeCodes) {
    if (descr.size() != 3 || descr.substr(1) != known.code) continue;
    header->type = known.type;
    header->big_endian = descr[0] == '>';
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("NumPy element type '", descr, "' is not supported"));
}

absl::Status ReadDims(absl::string_view value, Header* header) {
  const size_t close = value.find(')');
  if (value.empty() || value[0] != '(' || close == absl::string_view::npos) {
    return Damaged("its shape is not a tuple");
  }
  for (absl::string_view part : absl::StrSplit(value.substr(1, close - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;  // a one-element tuple ends with a comma
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return Damaged(absl::StrCat("size '", part, "' in its shape"));
    }
    header->dims.push_back(dim);
    if (header->dims.size() > 64) return Damaged("its shape has more than 64 dimensions");
  }
  return absl::OkStatus();
}

absl::StatusOr<Header> ReadHeader(absl::string_view dictionary) {
  Header header;
  const auto descr = ValueOf(dictionary, "descr");
  const auto order = ValueOf(dictionary, "fortran_order");
  const auto shape = ValueOf(dictionary, "shape");
  if (!descr || !order || !shape) return Damaged("its header lacks descr, fortran_order or shape");
  TARTAN_RETURN_IF_ERROR(ReadType(*descr, &header));
  TARTAN_RETURN_IF_ERROR(ReadDims(*shape, &header));
  header.fortran_order = order->substr(0, 4) == "True";
  if (!header.fortran_order && order->substr(0, 5) != "False") {
    return Damaged("fortran_order is neither True nor False");
  }
  return header;
}

// Splits the file into the header's dictionary and the elements.
absl::Status SplitParts(absl::string_view file, absl::string_view* dictionary,
                        absl::string_view* data) {
  if (file.size() < 10 || file.substr(0, 6) != kMagic) return Damaged("its first bytes are wrong");
  const int version = static_cast<uint8_t>(file[6]);
  if (version < 1 || version > 3) return Damaged(absl::StrCat("format version ", version));
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  if (file.size() < start) return Damaged("its header is truncated");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<uint8_t>(file[8 + i])) << (8 * i);
  }
  if (file.size() - start < length) return Damaged("its header is truncated");
  *dictionary = file.substr(start, length);
  *data = file.substr(start + length);
  return absl::OkStatus();
}

void SwapBytes(int64_t width, absl::Span<uint8_t> bytes) {
  for (auto at = bytes.begin(); at != bytes.end(); at += width) std::reverse(at, at + width);
}

// Writes column-major elements in row-major order.
void Transpose(absl::string_view from, const TensorShape& shape, absl::Span<uint8_t> to) {
  const int64_t width = ByteWidth(shape.type);
  std::vector<int64_t> position(shape.dims.size(), 0);
  std::vector<int64_t> strides(shape.dims.size(), 1);
  for (size_t d = 1; d < strides.size(); ++d) strides[d] = strides[d - 1] * shape.dims[d - 1];
  const int64_t count = shape.element_count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t source = 0;
    for (size_t d = 0; d < position.size(); ++d) source += position[d] * strides[d];
    std::copy_n(from.begin() + source * width, width, to.begin() + i * width);
    for (size_t d = position.size(); d-- > 0;) {
      if (++position[d] < shape.dims[d]) break;
      position[d] = 0;
    }
  }
}

}  // namespace

absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes,
                                    std::shared_ptr<const void> owner) {
  absl::string_view dictionary;
  absl::string_view data;
  TARTAN_RETURN_IF_ERROR(
      SplitParts({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, &dictionary, &data));
  TARTAN_ASSIGN_OR_RETURN(Header header, ReadHeader(dictionary));
  TensorShape shape{header.type, std::move(header.dims)};
  if (!CheckShape(shape).ok() || shape.byte_size() != static_cast<int64_t>(data.size())) {
    return Damaged(absl::StrCat("its header says ", shape.type, " of shape ",
                                DimsToString(shape.dims), ", but ", data.size(), " bytes follow"));
  }
  const absl::Span<const uint8_t> elements = bytes.last(data.size());
  const int64_t width = ByteWidth(shape.type);
  const bool is_swapped = header.big_endian && width > 1;
  const bool is_transposed = header.fortran_order && shape.rank() > 1;
  if (!is_swapped && !is_transposed) {
    return owner != nullptr ? HostTensor(std::move(shape), elements, std::move(owner))
                            : HostTensor(std::move(shape), elements);
  }
  TARTAN_ASSIGN_OR_RETURN(const auto scratch, Scratch::Create(shape.byte_size()));
  const absl::Span<uint8_t> arranged = scratch->bytes();
  if (is_transposed) {
    Transpose(data, shape, arranged);
  } else {
    std::copy(data.begin(), data.end(), arranged.begin());
  }
  if (is_swapped) SwapBytes(width, arranged);
  return HostTensor(std::move(shape), arranged, scratch);
}

absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor) {
  absl::string_view code;
  for (const TypeCode& known : kTypeCodes) {
    if (known.type == tensor.type()) code = known.code;
  }
  if (code.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("NumPy has no type ", Name(tensor.type()), "; write a .pb file instead"));
  }
  const std::vector<int64_t>& dims = tensor.shape().dims;
  std::string header = absl::StrCat("{'descr': '", ByteWidth(tensor.type()) == 1 ? "|" : "<", code,
                                    "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(dims, ", "), dims.size() == 1 ? ",), }" : "), }");
  // The elements begin at a multiple of 64 bytes, as in NumPy's files.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string file(kMagic);
  file.append({'\x01', '\x00', static_cast<char>(header.size() & 0xff),
               static_cast<char>(header.size() >> 8)});
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return file;
}

}  // namespace tartan::data
