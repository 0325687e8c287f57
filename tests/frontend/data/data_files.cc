// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/data/data_files.h"

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "frontend/data/npy.h"

namespace tartan::data {
namespace {

void Put(std::string* out, int bytes, uint64_t value) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

std::string Deflate(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// An archive in pieces, separated by zeros.
struct Pieces {
  std::vector<std::pair<uint64_t, std::string>> pieces;  // each piece with its offset
  uint64_t size = 0;

  void Add(const std::string& bytes, uint64_t zeros = 0) {
    pieces.emplace_back(size, bytes);
    size += bytes.size() + zeros;
  }
};

// Appends a 32-bit value, or the zip64 marker when the value goes into the zip64 field.
void PutOr64(std::string* out, uint64_t value, std::string* field) {
  const bool is_large = value >= 0xffffffff;
  Put(out, 4, is_large ? 0xffffffff : value);
  if (is_large) Put(field, 8, value);
}

void PutEnd(std::string* out, uint64_t count, uint64_t size, uint64_t offset) {
  std::string field;
  std::string end("PK\x05\x06\0\0\0\0", 8);
  Put(&end, 2, count);
  Put(&end, 2, count);
  Put(&end, 4, size);
  PutOr64(&end, offset, &field);
  Put(&end, 2, 0);
  if (!field.empty()) {
    const uint64_t at = offset + size;
    *out += "PK\x06\x06";
    Put(out, 8, 44);
    Put(out, 4, 45 | 45 << 16);
    Put(out, 8, 0);  // disk 0 for the archive and for this file
    for (const uint64_t value : {count, count, size, offset}) Put(out, 8, value);
    *out += std::string("PK\x06\x07\0\0\0\0", 8);
    Put(out, 8, at);
    Put(out, 4, 1);
  }
  *out += end;
}

// Uses the zip64 field in every local header, and in the directory only for large values.
Pieces MakeZip(const std::vector<ArchiveMember>& members) {
  Pieces archive;
  std::string directory;
  for (const ArchiveMember& member : members) {
    const std::string packed = member.deflate ? Deflate(member.bytes) : member.bytes;
    const uint64_t packed_size = packed.size() + member.zeros;
    const uint64_t size = member.bytes.size() + member.zeros;
    std::string common;  // version, flags, method, time, checksum
    Put(&common, 4, 45);
    Put(&common, 2, member.deflate ? 8 : 0);
    Put(&common, 4, 0);
    Put(&common, 4, crc32_z(0, BytesOf(member.bytes).data(), member.bytes.size()));

    std::string entry = absl::StrCat("PK\x01\x02-", std::string(1, '\0'), common);
    std::string field;
    std::string offset_bytes;
    std::string packed_field;
    std::string offset_field;
    PutOr64(&entry, packed_size, &packed_field);
    PutOr64(&entry, size, &field);
    PutOr64(&offset_bytes, archive.size, &offset_field);
    field += packed_field + offset_field;
    Put(&entry, 2, member.name.size());
    Put(&entry, 2, field.empty() ? 0 : field.size() + 4);
    Put(&entry, 8, 0);  // no comment, disk 0, attributes
    Put(&entry, 2, 0);
    directory += entry + offset_bytes + member.name;
    if (!field.empty()) Put(&directory, 4, 1 | field.size() << 16);
    directory += field;

    std::string local = absl::StrCat("PK\x03\x04", common);
    Put(&local, 8, ~uint64_t{0});  // marks both sizes as zip64
    Put(&local, 2, member.name.size());
    Put(&local, 2, 20);
    local += member.name;
    Put(&local, 4, 1 | 16 << 16);
    Put(&local, 8, size);
    Put(&local, 8, packed_size);
    archive.Add(local + packed, member.zeros);
  }
  std::string end = directory;
  PutEnd(&end, members.size(), directory.size(), archive.size);
  archive.Add(end);
  return archive;
}

}  // namespace

TestFolder::TestFolder() {
  path_ = (std::filesystem::temp_directory_path() / "tartan-data-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) std::abort();
}

TestFolder::~TestFolder() { std::filesystem::remove_all(path_); }

std::string TestFolder::Path(absl::string_view name) const {
  return absl::StrCat(path_, "/", name);
}

std::string TestFolder::Write(absl::string_view name, absl::string_view bytes) const {
  const std::string path = Path(name);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

std::string Zip(const std::vector<ArchiveMember>& members) {
  const Pieces archive = MakeZip(members);
  std::string bytes(archive.size, '\0');
  for (const auto& [offset, piece] : archive.pieces) bytes.replace(offset, piece.size(), piece);
  return bytes;
}

std::string WriteZip(const TestFolder& folder, absl::string_view name,
                     const std::vector<ArchiveMember>& members) {
  const std::string path = folder.Write(name, "");
  std::ofstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (const auto& [offset, piece] : MakeZip(members).pieces) {
    file.seekp(static_cast<std::streamoff>(offset));
    file << piece;
  }
  EXPECT_TRUE(file.good());
  return path;
}

std::string Npy(const HostTensor& tensor) {
  const auto bytes = FormatNpy(tensor);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}

std::string EncodePng(int width, int height, uint32_t format, const void* samples) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = format;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, samples, 0, nullptr);
  std::string bytes(size, '\0');
  png_image_write_to_memory(&image, bytes.data(), &size, 0, samples, 0, nullptr);
  bytes.resize(size);
  return bytes;
}

std::vector<double> Rows(const Dataset& dataset, absl::string_view column,
                         const std::vector<int64_t>& rows) {
  const auto index = dataset.Find(column);
  EXPECT_TRUE(index.ok()) << index.status();
  if (!index.ok()) return {};
  const TensorShape shape = dataset.columns()[*index].Batch(static_cast<int64_t>(rows.size()));
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  const absl::Status status = dataset.Read(*index, rows, absl::MakeSpan(bytes));
  EXPECT_TRUE(status.ok()) << status;
  return HostTensor(shape, bytes).ToDoubles();
}

absl::Span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace tartan::data
