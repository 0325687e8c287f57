// SPDX-License-Identifier: Apache-2.0
// Reads zip archives as NumPy writes them (.npz): stored and deflated members, and zip64. Follows
// PKWARE's APPNOTE.TXT, version 6.3.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

struct ZipMember {
  std::string name;
  bool is_deflated = false;
  uint32_t crc = 0;  // checksum of the unpacked bytes
  int64_t unpacked_size = 0;
  absl::Span<const uint8_t> packed;  // part of the archive
};

// Returns the members in archive order. InvalidArgument for a damaged archive, Unimplemented for
// encryption and other compression methods; errors name the member but not the file.
absl::StatusOr<std::vector<ZipMember>> ReadZip(absl::Span<const uint8_t> archive);

struct SharedBytes {
  absl::Span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

// Returns a stored member's bytes, shared with `archive`, which keeps them alive; for a deflated
// member, the unpacked bytes after comparing the checksum. Errors name the member.
absl::StatusOr<SharedBytes> Unpack(const ZipMember& member, std::shared_ptr<const void> archive);

// Compares the checksum of a stored member; Unpack does so for deflated ones.
absl::Status VerifyStored(const ZipMember& member);

}  // namespace tartan::data
