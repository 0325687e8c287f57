// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/cache_file.h"

#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

// The last digit is the version of the format.
constexpr char kMagic[8] = {'T', 'A', 'R', 'T', 'A', 'N', 'K', '1'};

// Stored in native byte order. Caches are not moved between machines, and a file with another byte
// order fails the checks.
struct Header {
  char magic[8];
  uint64_t key_size;
  uint64_t payload_size;
  XXH128_hash_t checksum;  // of the key and the payload, as stored in the file
};

XXH128_hash_t Hash(absl::string_view bytes) { return XXH3_128bits(bytes.data(), bytes.size()); }

}  // namespace

std::string CacheFileName(absl::string_view key) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, Hash(key));
  const absl::string_view bytes(reinterpret_cast<const char*>(digest.digest),
                                sizeof(digest.digest));
  return absl::StrCat(absl::BytesToHexString(bytes), kCacheFileSuffix);
}

std::string EncodeCacheEntry(absl::string_view key, absl::string_view payload) {
  const std::string body = absl::StrCat(key, payload);
  Header header;
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.key_size = key.size();
  header.payload_size = payload.size();
  header.checksum = Hash(body);
  return absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&header), sizeof(header)),
                      body);
}

std::optional<CacheEntry> DecodeCacheEntry(absl::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const absl::string_view body = bytes.substr(sizeof(header));
  const bool sizes_match =
      header.key_size <= body.size() && header.payload_size == body.size() - header.key_size;
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || !sizes_match ||
      !XXH128_isEqual(header.checksum, Hash(body))) {
    return std::nullopt;
  }
  return CacheEntry{std::string(body.substr(0, header.key_size)),
                    std::string(body.substr(header.key_size))};
}

}  // namespace tartan::opencl
