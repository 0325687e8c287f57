// SPDX-License-Identifier: Apache-2.0
#include "tile/base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/escaping.h"

namespace tartan {

std::string Digest(absl::string_view text) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(text.data(), text.size()));
  return absl::BytesToHexString(
      {reinterpret_cast<const char*>(digest.digest), sizeof(digest.digest)});
}

}  // namespace tartan
