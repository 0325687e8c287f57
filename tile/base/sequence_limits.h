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
// Those that fill a compute unit (a matrix unit's products, rows by streamed weights) have its
// local memory for themselves anyway.
inline constexpr int64_t kMostSequenceFillingBytes = 192 << 10;

// Words that a work-item holds in registers from stage to stage of a chain. Compilers of a kernel
// that has many others keep those of attention with 197 keys (204 and more) in memory, not those of
// 128 keys (196): ViT took an H100 1.4 ms in tf32, and 0.99 with launches of their own.
inline constexpr int64_t kMostSequenceWords = 200;

// What plans predict. A GPU's driver starts a launch while the one before runs; and a longer one is
// quicker with more items on a unit than a sequence has. It holds a launch of 3 us.
inline constexpr double kLongestInSequenceUs = 12;
// What fills a unit is as quick there. But longer ones gain little, have one group on a unit where
// there could be several, and tiles that need most of the registers: with LLaMA's logits (30 us)
// the compiler of a sequence kept registers in memory, and all 273 launches took 1.50 ms instead of
// 1.20; ResNet-50 with 32 images took 2.83 instead of 2.47 (H200, tf32; limits of 16 to 25 are
// alike, of 30 slower, of 12 leave ViT's products out).
inline constexpr double kLongestFillingInSequenceUs = 25;

// Where items of a group wait for each other, they are part of a warp, or whole ones.
inline constexpr int64_t kSequenceWarp = 32;

// Whether a kernel may be in a sequence: by its work-group, which `fills_unit` or not, and whether
// its launch, of so many predicted microseconds, is to be.
inline bool FitsSequence(int64_t items, int64_t local_bytes, bool fills_unit) {
  return items <= kMostSequenceItems &&
         local_bytes <= (fills_unit ? kMostSequenceFillingBytes : kMostSequenceLocalBytes);
}
inline bool IsShortForSequence(double microseconds, bool fills_unit) {
  return microseconds < (fills_unit ? kLongestFillingInSequenceUs : kLongestInSequenceUs);
}

}  // namespace tartan
