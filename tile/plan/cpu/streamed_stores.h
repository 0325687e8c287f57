// SPDX-License-Identifier: Apache-2.0
// Threshold for outputs that are written with non-temporal stores, past the caches.
#pragma once

#include <cstdint>

namespace tartan::plan {

// Bytes, minimum size of such an output. It would fill the last-level cache before it is read.
inline constexpr int64_t kStreamedBytes = int64_t{16} << 20;

}  // namespace tartan::plan
