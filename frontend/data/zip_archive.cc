// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frontend/data/scratch.h"
#include "tile/base/printable.h"
#include "tile/base/process_limits.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kEnd64Locator = 0x07064b50;
constexpr uint32_t kEntry = 0x02014b50;
constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kIn64 = 0xffffffff;  // the value is in the zip64 record

constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEnd64Size = 56;
constexpr uint64_t kEnd64LocatorSize = 20;
constexpr uint64_t kEntrySize = 46;
constexpr uint64_t kLocalHeaderSize = 30;

// Maximum compression ratio of deflate: a match of 258 bytes in 2 bits.
constexpr uint64_t kMaxRatio = 1032;
constexpr size_t kZlibStep = size_t{1} << 30;  // zlib counts in 32 bits

using Bytes = absl::Span<const uint8_t>;

absl::Status DamagedArchive(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a zip archive, or a damaged one: ", what));
}

absl::Status InMember(const ZipMember& member, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("member \"", Printable(member.name), "\" is damaged: ", what));
}

// Reads a little-endian number; the caller has checked the bounds.
template <class T>
T Number(Bytes bytes, uint64_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(value);
}

// Returns true if `count` bytes at `at` are within bounds.
bool Has(Bytes bytes, uint64_t at, uint64_t count) {
  return at <= bytes.size() && count <= bytes.size() - at;
}

bool HasRecord(Bytes bytes, uint64_t at, uint64_t count, uint32_t signature) {
  return Has(bytes, at, count) && Number<uint32_t>(bytes, at) == signature;
}

// The location of the central directory.
struct Directory {
  uint64_t count = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Finds the end record, which a comment may follow.
std::optional<uint64_t> FindEnd(Bytes archive) {
  if (archive.size() < kEndSize) return std::nullopt;
  const uint64_t last = archive.size() - kEndSize;
  const uint64_t first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (Number<uint32_t>(archive, at) != kEnd) continue;
    if (Number<uint16_t>(archive, at + 20) == last - at) return at;
  }
  return std::nullopt;
}

absl::StatusOr<Directory> FindDirectory(Bytes archive) {
  const std::optional<uint64_t> end = FindEnd(archive);
  if (!end.has_value())
    return DamagedArchive("it has no directory at its end; it may be truncated");
  Directory directory{Number<uint16_t>(archive, *end + 10), Number<uint32_t>(archive, *end + 16),
                      Number<uint32_t>(archive, *end + 12)};
  if (*end >= kEnd64LocatorSize &&
      HasRecord(archive, *end - kEnd64LocatorSize, kEnd64LocatorSize, kEnd64Locator)) {
    const uint64_t at = Number<uint64_t>(archive, *end - kEnd64LocatorSize + 8);
    if (!HasRecord(archive, at, kEnd64Size, kEnd64))
      return DamagedArchive("its zip64 record is missing");
    directory = {Number<uint64_t>(archive, at + 32), Number<uint64_t>(archive, at + 48),
                 Number<uint64_t>(archive, at + 40)};
  }
  if (!Has(archive, directory.offset, directory.size) ||
      directory.count > directory.size / kEntrySize) {
    return DamagedArchive("its directory is outside of the file");
  }
  return directory;
}

struct Place {
  uint64_t unpacked_size = 0;
  uint64_t packed_size = 0;
  uint64_t local_header = 0;
};

// Reads 64-bit values from the zip64 extra field for fields that do not fit into 32 bits.
bool ReadZip64(Bytes extra, Place* place) {
  std::vector<uint64_t*> missing;
  for (uint64_t* value : {&place->unpacked_size, &place->packed_size, &place->local_header}) {
    if (*value == kIn64) missing.push_back(value);
  }
  if (missing.empty()) return true;
  while (extra.size() >= 4) {
    const uint16_t id = Number<uint16_t>(extra, 0);
    const uint16_t size = Number<uint16_t>(extra, 2);
    if (!Has(extra, 4, size)) return false;
    if (id == 1) {
      if (size < 8 * missing.size()) return false;
      for (size_t i = 0; i < missing.size(); ++i) *missing[i] = Number<uint64_t>(extra, 4 + 8 * i);
      return true;
    }
    extra.remove_prefix(4 + size);
  }
  return false;
}

// Reads a member from its directory entry. Local headers are not used, because they may leave sizes
// open.
absl::Status ReadMember(Bytes archive, Bytes entry, Bytes extra, ZipMember* member) {
  const uint16_t flags = Number<uint16_t>(entry, 8);
  const uint16_t method = Number<uint16_t>(entry, 10);
  Place place{Number<uint32_t>(entry, 24), Number<uint32_t>(entry, 20),
              Number<uint32_t>(entry, 42)};
  if (!ReadZip64(extra, &place)) return InMember(*member, "its zip64 sizes are missing");
  const std::string name = Printable(member->name);
  if ((flags & 1) != 0) {
    return absl::UnimplementedError(absl::StrCat("member \"", name, "\" is encrypted"));
  }
  if (method != 0 && method != 8) {
    return absl::UnimplementedError(absl::StrCat("member \"", name, "\" is packed by method ",
                                                 method, "; stored and deflated are supported"));
  }
  member->is_deflated = method == 8;
  member->crc = Number<uint32_t>(entry, 16);
  if (!HasRecord(archive, place.local_header, kLocalHeaderSize, kLocalHeader)) {
    return InMember(*member, "it is not at the position that the directory gives");
  }
  const uint64_t start = place.local_header + kLocalHeaderSize +
                         Number<uint16_t>(archive, place.local_header + 26) +
                         Number<uint16_t>(archive, place.local_header + 28);
  if (!Has(archive, start, place.packed_size)) {
    return InMember(*member, absl::StrCat("its ", place.packed_size,
                                          " bytes extend beyond the end of the file"));
  }
  const bool is_possible = member->is_deflated
                               ? place.unpacked_size / kMaxRatio <= place.packed_size
                               : place.unpacked_size == place.packed_size;
  if (!is_possible) {
    return InMember(
        *member, absl::StrCat(place.packed_size, " bytes do not unpack to ", place.unpacked_size));
  }
  member->unpacked_size = static_cast<int64_t>(place.unpacked_size);
  member->packed = archive.subspan(start, place.packed_size);
  return absl::OkStatus();
}

uint32_t Sum(uint32_t crc, Bytes bytes) {
  return static_cast<uint32_t>(crc32_z(crc, bytes.data(), bytes.size()));
}

absl::Status CompareSum(const ZipMember& member, uint32_t sum) {
  if (sum == member.crc) return absl::OkStatus();
  return InMember(member,
                  absl::StrFormat("its checksum is %08x, but should be %08x", sum, member.crc));
}

// Unpacks `packed` into exactly `out`; returns a reason on failure.
std::optional<std::string> Inflate(Bytes packed, absl::Span<uint8_t> out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return "out of memory in zlib";
  uint8_t beyond;  // a valid address even for an empty output
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t in_step = std::min(packed.size(), kZlibStep);
    const size_t out_step = std::min(out.size(), kZlibStep);
    stream.next_in = const_cast<uint8_t*>(packed.data());
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = out_step > 0 ? out.data() : &beyond;
    stream.avail_out = static_cast<uInt>(out_step > 0 ? out_step : 1);
    const uInt room = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    packed.remove_prefix(in_step - stream.avail_in);
    const size_t made = room - stream.avail_out;
    if (made > out.size()) break;
    out.remove_prefix(made);
  }
  const std::string message =
      stream.msg != nullptr ? stream.msg : "its compressed data does not end at its end";
  inflateEnd(&stream);
  if (result != Z_STREAM_END || !out.empty() || !packed.empty()) return message;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZip(absl::Span<const uint8_t> archive) {
  constexpr int64_t kMaxHeapBytes = std::numeric_limits<int64_t>::max();
  TARTAN_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(archive));
  Bytes rest = archive.subspan(directory.offset, directory.size);
  std::vector<ZipMember> members(directory.count);
  int64_t unpacked = 0;  // members may share packed bytes
  for (ZipMember& member : members) {
    if (!HasRecord(rest, 0, kEntrySize, kEntry))
      return DamagedArchive("its directory is truncated");
    const uint64_t name_size = Number<uint16_t>(rest, 28);
    const uint64_t extra_size = Number<uint16_t>(rest, 30);
    const uint64_t size = kEntrySize + name_size + extra_size + Number<uint16_t>(rest, 32);
    if (!Has(rest, 0, size)) return DamagedArchive("its directory is truncated");
    member.name.assign(reinterpret_cast<const char*>(rest.data()) + kEntrySize, name_size);
    TARTAN_RETURN_IF_ERROR(ReadMember(archive, rest.subspan(0, kEntrySize),
                                      rest.subspan(kEntrySize + name_size, extra_size), &member));
    if (member.is_deflated) unpacked += std::min(member.unpacked_size, kMaxHeapBytes - unpacked);
    rest.remove_prefix(size);
  }
  TARTAN_RETURN_IF_ERROR(CheckFileSize("unpacked data of the archive", unpacked));
  return members;
}

absl::StatusOr<SharedBytes> Unpack(const ZipMember& member, std::shared_ptr<const void> archive) {
  if (!member.is_deflated) return SharedBytes{member.packed, std::move(archive)};
  TARTAN_ASSIGN_OR_RETURN(const auto scratch, Scratch::Create(member.unpacked_size));
  const std::optional<std::string> fault = Inflate(member.packed, scratch->bytes());
  if (fault.has_value()) return InMember(member, *fault);
  TARTAN_RETURN_IF_ERROR(CompareSum(member, Sum(0, scratch->bytes())));
  return SharedBytes{scratch->bytes(), scratch};
}

absl::Status VerifyStored(const ZipMember& member) {
  return member.is_deflated ? absl::OkStatus() : CompareSum(member, Sum(0, member.packed));
}

}  // namespace tartan::data
