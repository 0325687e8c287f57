// SPDX-License-Identifier: Apache-2.0
// The memory of a decoder's cache on a device, with room for more tokens than it holds.
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
  // `values`, one for each state with `length` rows, are what it begins with; none: it is empty.
  static absl::StatusOr<CacheMemory> Create(const api::Device& device,
                                            const std::vector<GrowingState>& states,
                                            absl::Span<const HostTensor> values, int64_t length,
                                            int64_t capacity);

  // A size that is no other of the model's, at least `least`; few sizes serve all.
  static int64_t FreeCapacity(const onnx::OnnxModel& model, const std::vector<GrowingState>& states,
                              int64_t least);

  int64_t capacity() const { return capacity_; }
  // Of each state, of joint ones two.
  const std::vector<api::DeviceTensor>& tensors() const { return tensors_; }
  // The first rows of each state.
  absl::StatusOr<std::vector<HostTensor>> Values(const std::vector<GrowingState>& states,
                                                 int64_t rows) const;

 private:
  std::vector<api::DeviceTensor> tensors_;
  int64_t capacity_ = 0;
};

}  // namespace tartan::generate
