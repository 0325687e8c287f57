// SPDX-License-Identifier: Apache-2.0
// A decoder's cache in device memory, with spare capacity for more tokens.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/generate/growing_state.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::generate {

class CacheMemory {
 public:
  // `values`, one per state with `length` rows, are the initial contents; none: the cache is empty.
  static absl::StatusOr<CacheMemory> Create(const api::Device& device,
                                            const std::vector<GrowingState>& states,
                                            absl::Span<const HostTensor> values, int64_t length,
                                            int64_t capacity);

  // Returns a capacity of `least` or more that differs from all other sizes of the model. The
  // capacities form a coarse series, so that few kernels serve all lengths.
  static int64_t FreeCapacity(const onnx::OnnxModel& model, const std::vector<GrowingState>& states,
                              int64_t least);

  int64_t capacity() const { return capacity_; }
  // One tensor per state, two per joint state.
  const std::vector<api::DeviceTensor>& tensors() const { return tensors_; }
  // The first rows of each state.
  absl::StatusOr<std::vector<HostTensor>> Values(const std::vector<GrowingState>& states,
                                                 int64_t rows) const;

 private:
  std::vector<api::DeviceTensor> tensors_;
  int64_t capacity_ = 0;
};

}  // namespace tartan::generate
