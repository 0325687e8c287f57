// SPDX-License-Identifier: Apache-2.0
// What a GPU's kernel that is run in sequences may use, for several of its work-groups are parts of
// a larger one. The compiler marks no others, and backends take no others.
#pragma once

#include <cstdint>

namespace tartan {

inline constexpr int64_t kMostSequenceItems = 256;  // of a work-group
// Products in tiles that take more have as many registers, too, and are slower in a sequence:
// LLaMA's of 64 rows, with 16 to 29 KiB, took longer there than the launches that were saved
// (H200).
inline constexpr int64_t kMostSequenceLocalBytes = 12 << 10;
// Those for a matrix unit have a unit's local memory for themselves anyway.
inline constexpr int64_t kMostSequenceMatrixBytes = 192 << 10;

// What plans predict. A GPU's driver starts a launch while the one before runs; and a longer one is
// quicker with more items on a unit than a sequence has. It holds a launch of 3 us.
inline constexpr double kLongestInSequenceUs = 12;
// Products on a matrix unit are as quick there.
inline constexpr double kLongestMatrixInSequenceUs = 40;

// Where items of a group wait for each other, they are part of a warp, or whole ones.
inline constexpr int64_t kSequenceWarp = 32;

}  // namespace tartan
