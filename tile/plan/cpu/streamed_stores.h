// SPDX-License-Identifier: Apache-2.0
// Which results go past the caches.
#pragma once

#include <cstdint>

namespace tartan::plan {

// Outputs of this size and more fill the last cache before they are read again.
inline constexpr int64_t kStreamedBytes = int64_t{16} << 20;

}  // namespace tartan::plan
