// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/cli/file_damage.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/cache_file.h"
#include "backend_opencl/cache/disk_cache.h"
#include "frontend/data/npy.h"
#include "frontend/data/picture.h"
#include "frontend/onnx/values/tensor_proto.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "proto/program.pb.h"
#include "tests/frontend/onnx/message_damage.h"
#include "tile/evaluator/stored_program.h"

namespace tartan::cli {
namespace {

using onnx::Dice;

constexpr DataType kTypes[] = {DataType::kBool,    DataType::kInt8,    DataType::kUInt8,
                               DataType::kInt16,   DataType::kUInt16,  DataType::kInt32,
                               DataType::kUInt32,  DataType::kInt64,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kFloat32, DataType::kFloat64};

absl::Span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string WriteTo(const std::string& folder, absl::string_view name, const std::string& bytes) {
  const std::string path = absl::StrCat(folder, "/", name);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

// Checks that the tensor has as many bytes as its shape needs and that all are readable.
absl::Status CheckTensor(const HostTensor& tensor) {
  if (static_cast<int64_t>(tensor.bytes().size()) != tensor.shape().byte_size()) {
    return absl::InternalError(
        absl::StrCat(tensor.bytes().size(), " bytes for ", tensor.shape().ToString()));
  }
  // A sanitizer reports reads beyond the bytes.
  static volatile uint8_t read = 0;
  for (const uint8_t byte : tensor.bytes()) read = read + byte;
  return absl::OkStatus();
}

HostTensor Counted(DataType type, std::vector<int64_t> dims) {
  TensorShape shape{type, std::move(dims)};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i % 2);
  return HostTensor(std::move(shape), bytes);
}

// --- npy

std::vector<std::string> NpyCorpus() {
  std::vector<std::string> files;
  for (const DataType type : kTypes) {
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{}, {3}, {2, 0, 5}, {2, 3, 4}, {1, 1, 1, 1, 1, 7}}) {
      files.push_back(data::FormatNpy(Counted(type, dims)).value_or(""));
    }
  }
  return files;
}

// Changes mostly the header's dictionary.
void DamageNpy(std::string* bytes, Dice* dice) {
  static constexpr const char* kPieces[] = {"<f4",  ">i8",
                                            "|b1",  "'",
                                            "(",    ")",
                                            ",",    ":",
                                            "{",    "}",
                                            "True", " ",
                                            "-1",   "9223372036854775807",
                                            "0",    "\n",
                                            "1e3",  "99999999999999999999"};
  if (dice->OneIn(3)) return onnx::DamageBytes(bytes, dice);
  const size_t header = std::min<size_t>(bytes->size(), 120);
  const size_t at = dice->Below(header + 1);
  if (dice->OneIn(2)) bytes->erase(at, dice->Below(6));
  bytes->insert(std::min(at, bytes->size()), dice->Among(kPieces));
}

absl::Status ReadNpy(const std::string& bytes, const std::string&, uint32_t) {
  const absl::StatusOr<HostTensor> tensor = data::ParseNpy(BytesOf(bytes));
  return tensor.ok() ? CheckTensor(*tensor) : tensor.status();
}

// --- png

void AppendBytes(png_structp png, png_bytep data, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(data), size);
}

std::string EncodePng(int width, int height, int depth, int color, bool interlaced) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, AppendBytes, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), depth,
               color, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[4] = {{0, 0, 0}, {255, 0, 0}, {0, 255, 0}, {0, 0, 255}};
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 1 << std::min(depth, 2));
  png_write_info(png, info);
  std::vector<std::vector<png_byte>> rows(static_cast<size_t>(height));
  std::vector<png_bytep> pointers;
  for (std::vector<png_byte>& row : rows) {
    row.resize(png_get_rowbytes(png, info));
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<png_byte>(i * 27 & 0x1b);
    pointers.push_back(row.data());
  }
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::vector<std::string> PngCorpus() {
  std::vector<std::string> files;
  for (const bool interlaced : {false, true}) {
    for (const int depth : {1, 2, 4, 8, 16}) {
      files.push_back(EncodePng(9, 7, depth, PNG_COLOR_TYPE_GRAY, interlaced));
      if (depth <= 2) files.push_back(EncodePng(9, 7, depth, PNG_COLOR_TYPE_PALETTE, interlaced));
      if (depth < 8) continue;
      for (const int color :
           {PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA, PNG_COLOR_TYPE_GRAY_ALPHA}) {
        files.push_back(EncodePng(5, 3, depth, color, interlaced));
      }
    }
  }
  return files;
}

uint32_t BigEndianAt(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Recomputes the checksum of every chunk.
void RepairChunks(std::string* bytes) {
  size_t at = 8;
  while (at + 12 <= bytes->size()) {
    const size_t size = BigEndianAt(*bytes, at);
    if (size > bytes->size() - at - 12) return;
    const auto* chunk = reinterpret_cast<const Bytef*>(bytes->data() + at + 4);
    const uLong checksum = crc32(crc32(0, nullptr, 0), chunk, static_cast<uInt>(size + 4));
    for (size_t i = 0; i < 4; ++i) {
      (*bytes)[at + 8 + size + i] = static_cast<char>(checksum >> (24 - 8 * i) & 0xff);
    }
    at += size + 12;
  }
}

void DamagePng(std::string* bytes, Dice* dice) {
  if (dice->OneIn(3) && bytes->size() > 33) {
    // Damages the header: width, height, bit depth, colour type, interlacing.
    (*bytes)[16 + dice->Below(13)] = static_cast<char>(dice->OddNumber());
  } else {
    onnx::DamageBytes(bytes, dice);
  }
  if (!dice->OneIn(4)) RepairChunks(bytes);
}

absl::Status ReadPng(const std::string& bytes, const std::string&, uint32_t seed) {
  const absl::StatusOr<data::Picture> picture = data::DecodePng(BytesOf(bytes));
  if (!picture.ok()) return picture.status();
  if (static_cast<int64_t>(picture->values.size()) !=
      picture->height * picture->width * picture->channels) {
    return absl::InternalError("a picture of another size than it says");
  }
  Dice dice(seed);
  std::vector<int64_t> dims(dice.Below(5));
  for (int64_t& dim : dims) dim = dice.OneIn(2) ? -1 : static_cast<int64_t>(dice.Below(10));
  const absl::StatusOr<HostTensor> tensor =
      data::PictureToTensor(*picture, dice.Among(kTypes), dims);
  return tensor.ok() ? CheckTensor(*tensor) : tensor.status();
}

// --- pb

onnx::TensorProto TensorMessage(DataType type, std::vector<int64_t> dims) {
  onnx::TensorProto proto;
  onnx::ToTensorProto(Counted(type, std::move(dims)), &proto);
  proto.set_name("x");
  return proto;
}

std::vector<std::string> PbCorpus() {
  std::vector<std::string> files;
  onnx::SequenceProto sequence;
  sequence.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const DataType type : kTypes) {
    files.push_back(TensorMessage(type, {2, 3}).SerializeAsString());
    *sequence.add_tensor_values() = TensorMessage(type, {4});
  }
  onnx::TensorProto strings;
  strings.set_data_type(onnx::TensorProto::STRING);
  strings.add_dims(3);
  for (const char* word : {"one", "", "three"}) strings.add_string_data(word);
  onnx::TensorProto floats;
  floats.set_data_type(onnx::TensorProto::FLOAT);
  floats.add_dims(2);
  for (const float value : {1.f, -2.f}) floats.add_float_data(value);
  onnx::OptionalProto optional;
  optional.set_elem_type(1);  // a tensor
  *optional.mutable_tensor_value() = floats;
  onnx::MapProto map;
  map.set_key_type(onnx::TensorProto::STRING);
  for (const char* key : {"one", "two"}) map.add_string_keys(key);
  map.mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  *map.mutable_values()->add_tensor_values() = floats;
  for (const google::protobuf::Message* message :
       std::initializer_list<const google::protobuf::Message*>{&strings, &floats, &sequence,
                                                               &optional, &map}) {
    files.push_back(message->SerializeAsString());
  }
  return files;
}

// Damages a field if the bytes parse as a `Proto`. The files do not record their message type.
template <class Proto>
bool DamageAs(std::string* bytes, Dice* dice) {
  Proto proto;
  if (!proto.ParseFromString(*bytes)) return false;
  onnx::DamageField(&proto, {}, dice);
  *bytes = proto.SerializePartialAsString();
  return true;
}

void DamagePb(std::string* bytes, Dice* dice) {
  switch (dice->Below(6)) {
    case 0:
      if (DamageAs<onnx::SequenceProto>(bytes, dice)) return;
      break;
    case 1:
      if (DamageAs<onnx::MapProto>(bytes, dice)) return;
      break;
    case 2:
      if (DamageAs<onnx::OptionalProto>(bytes, dice)) return;
      break;
    case 3:
      break;
    default:
      if (DamageAs<onnx::TensorProto>(bytes, dice)) return;
  }
  onnx::DamageBytes(bytes, dice);
}

// A random declaration of a model's input.
api::TensorSpec AnySpec(Dice* dice) {
  constexpr api::Element kElements[] = {api::Element::kPlain, api::Element::kString};
  api::TensorSpec spec;
  spec.name = "x";
  spec.type = dice->OneIn(4) ? DataType::kInvalid : dice->Among(kTypes);
  spec.has_rank = !dice->OneIn(3);
  spec.element = dice->Among(kElements);
  spec.sequence_depth = dice->BelowInt(3);
  spec.may_be_empty = dice->OneIn(3);
  if (dice->OneIn(4)) spec.map_keys = dice->Among(kElements);
  return spec;
}

absl::Status ReadPb(const std::string& bytes, const std::string& folder, uint32_t seed) {
  Dice dice(seed);
  const std::string path = WriteTo(folder, "value.pb", bytes);
  const api::TensorSpec spec = AnySpec(&dice);
  const absl::StatusOr<api::HostValue> value = onnx::ReadValueFile(path, spec);
  const absl::StatusOr<HostTensor> tensor = onnx::ReadTensorFile(path);
  if (tensor.ok()) {
    const absl::Status status = CheckTensor(*tensor);
    if (!status.ok()) return status;
  }
  return value.status();
}

// --- cache

std::vector<std::string> CacheCorpus() {
  return {opencl::EncodeCacheEntry("key", "payload"), opencl::EncodeCacheEntry("", ""),
          opencl::EncodeCacheEntry(std::string(3000, 'k'), std::string(70000, 'p'))};
}

absl::Status ReadCache(const std::string& bytes, const std::string& folder, uint32_t seed) {
  const std::optional<opencl::CacheEntry> entry = opencl::DecodeCacheEntry(bytes);
  if (entry && opencl::EncodeCacheEntry(entry->key, entry->payload) != bytes) {
    return absl::InternalError("a damaged entry was taken for a whole one");
  }
  // Stores the bytes as the cache file of one of two keys.
  const std::string directory = folder + "/cache";
  std::filesystem::create_directories(directory + "/kernels");
  const std::string key = seed % 2 == 0 ? "key" : std::string(3000, 'k');
  WriteTo(directory + "/kernels", opencl::CacheFileName(key), bytes);
  if (seed % 3 == 0) return opencl::VerifyCache(directory).status();
  if (seed % 5 == 0) return opencl::PruneCache(directory, seed % 100).status();
  opencl::DiskCache cache(directory, 1 << 20, false);
  const std::optional<std::string> payload = cache.Load(key);
  if (payload && !(entry && entry->key == key && entry->payload == *payload)) {
    return absl::InternalError("a payload that was not stored under its key");
  }
  return payload ? absl::OkStatus() : absl::NotFoundError("no whole entry");
}

// --- program

std::vector<std::string> ProgramCorpus() {
  proto::StoredProgram program;
  program.set_name("program");
  program.set_prologue("typedef int index;");
  for (const char* name : {"first", "second"}) {
    proto::StoredProgram::Kernel* kernel = program.add_kernels();
    kernel->set_name(name);
    kernel->set_source("__kernel void f() {}");
    for (const bool is_output : {true, false}) kernel->add_is_output(is_output);
    for (int i = 0; i < 3; ++i) {
      kernel->add_local_size(1);
      kernel->add_global_size(4);
    }
  }
  for (int i = 0; i < 4; ++i) {
    proto::StoredProgram::Buffer* buffer = program.add_buffers();
    buffer->set_name(absl::StrCat("buffer", i));
    buffer->set_kind(i);
    buffer->mutable_shape()->set_type(proto::FLOAT32);
    buffer->mutable_shape()->add_dims(4);
    buffer->set_bytes(16);
  }
  for (int i = 0; i < 3; ++i) {
    proto::StoredProgram::Launch* launch = program.add_steps()->mutable_launch();
    launch->set_kernel(i % 2);
    launch->add_buffers(i);
    launch->add_buffers(i + 1);
  }
  program.add_setup()->mutable_fill()->set_buffer(1);
  program.add_steps()->mutable_copy()->set_from(1);
  program.add_inputs(0);
  program.add_outputs(3);
  *program.add_output_shapes() = program.buffers(3).shape();
  return {program.SerializeAsString()};
}

void DamageProgram(std::string* bytes, Dice* dice) {
  if (!dice->OneIn(5) && DamageAs<proto::StoredProgram>(bytes, dice)) return;
  onnx::DamageBytes(bytes, dice);
}

bool IsIndex(int64_t index, size_t count) {
  return index >= 0 && index < static_cast<int64_t>(count);
}

absl::Status ReadProgram(const std::string& bytes, const std::string&, uint32_t) {
  const std::optional<evaluator::ProgramSource> program = evaluator::ParseProgram(bytes);
  if (!program) return absl::InvalidArgumentError("no program");
  // A program that parses must be consistent.
  for (const int input : program->list.inputs) {
    if (!IsIndex(input, program->list.buffers.size())) return absl::InternalError("input");
  }
  for (const int output : program->list.outputs) {
    if (!IsIndex(output, program->list.buffers.size())) return absl::InternalError("output");
  }
  const std::string again = evaluator::SerializeProgram(*program);
  if (!evaluator::ParseProgram(again)) return absl::InternalError("is not a program once more");
  return absl::OkStatus();
}

constexpr FileKind kKinds[] = {{"npy", NpyCorpus, DamageNpy, ReadNpy},
                               {"png", PngCorpus, DamagePng, ReadPng},
                               {"pb", PbCorpus, DamagePb, ReadPb},
                               {"cache", CacheCorpus, onnx::DamageBytes, ReadCache},
                               {"program", ProgramCorpus, DamageProgram, ReadProgram}};

}  // namespace

absl::Span<const FileKind> FileKinds() { return kKinds; }

}  // namespace tartan::cli
