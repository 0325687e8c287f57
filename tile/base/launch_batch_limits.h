// SPDX-License-Identifier: Apache-2.0
// Limits for GPU kernels in launch batches (persistent megakernels), where several work-groups are
// parts of a larger one. The compiler marks only kernels within the limits, and backends accept no
// others.
#pragma once

#include <cstdint>

namespace tartan {

inline constexpr int64_t kMaxBatchWorkItems = 256;  // work-items per work-group
// Bytes of local memory per work-group. Tiled matmuls that need more also need more registers, and
// are slower in a batch. Measured on an H200: LLaMA's matmuls of 64 rows, with 16 to 29 KiB, lost
// more time than the saved launches.
inline constexpr int64_t kMaxBatchLocalBytes = 12 << 10;
// Bytes of local memory for kernels that fill a compute unit (MMA matmuls, skinny matmuls with
// streamed weights); they do not share it with other work-groups anyway.
inline constexpr int64_t kMaxBatchFillingBytes = 192 << 10;

// 32-bit words per work-item that are kept in registers between stages of a row fusion. Measured on
// an H100 in tf32 with ViT: attention with 197 keys (204 words) spills to memory in a batch, 1.4 ms
// instead of 0.99 ms with separate launches; 128 keys (196 words) fit.
inline constexpr int64_t kMaxBatchWords = 200;

// Predicted microseconds per launch, including a launch overhead of 3 us. Longer launches stay
// outside batches: a GPU driver starts a launch while the previous one executes, and long launches
// are faster with more work-items per compute unit than a batch has.
inline constexpr double kMaxBatchedLaunchUs = 12;
// Predicted microseconds for kernels that fill a compute unit. Longer launches gain little in a
// batch and need most registers. Measured on an H200 in tf32: with LLaMA's logits (30 us) the batch
// spilled registers, and 273 launches took 1.50 ms instead of 1.20 ms; ResNet-50 with 32 images
// took 2.83 ms instead of 2.47 ms. Limits of 16 to 25 are equivalent, 30 is slower, 12 excludes
// ViT's matmuls.
inline constexpr double kMaxBatchedFillingLaunchUs = 25;

// Team barriers require teams that are parts of a warp or whole warps; work-items per warp.
inline constexpr int64_t kBatchWarp = 32;

// FitsLaunchBatch: whether a kernel may be in a batch; `fills_unit`: it fills a compute unit.
// IsShortForLaunchBatch: whether its launch, of the predicted time, should be.
inline bool FitsLaunchBatch(int64_t items, int64_t local_bytes, bool fills_unit) {
  return items <= kMaxBatchWorkItems &&
         local_bytes <= (fills_unit ? kMaxBatchFillingBytes : kMaxBatchLocalBytes);
}
inline bool IsShortForLaunchBatch(double microseconds, bool fills_unit) {
  return microseconds < (fills_unit ? kMaxBatchedFillingLaunchUs : kMaxBatchedLaunchUs);
}

}  // namespace tartan
