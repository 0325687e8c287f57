// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/cache_memory.h"

#include <algorithm>
#include <utility>

#include "frontend/generate/cache_program.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {

absl::StatusOr<CacheMemory> CacheMemory::Create(const api::Device& device,
                                                const std::vector<GrowingState>& states,
                                                absl::Span<const HostTensor> values, int64_t length,
                                                int64_t capacity) {
  CacheMemory memory;
  memory.capacity_ = capacity;
  for (size_t s = 0; s < states.size(); ++s) {
    const TensorShape whole = states[s].WithRows(capacity);
    const size_t parts = states[s].is_joint() ? 2 : 1;
    const TensorShape shape = parts == 2 ? PartOf(whole) : whole;
    if (values.empty()) {
      for (size_t p = 0; p < parts; ++p) {
        TARTAN_ASSIGN_OR_RETURN(memory.tensors_.emplace_back(),
                                api::DeviceTensor::Zeros(device, shape));
      }
      continue;
    }
    const HostTensor start = RowsOf(values[s], states[s].axis, 0, length, capacity);
    const size_t bytes = start.bytes().size() / parts;
    for (size_t p = 0; p < parts; ++p) {
      const HostTensor part(shape, start.bytes().subspan(p * bytes, bytes));
      TARTAN_ASSIGN_OR_RETURN(memory.tensors_.emplace_back(),
                              api::DeviceTensor::FromHost(device, part));
    }
  }
  return memory;
}

int64_t CacheMemory::FreeCapacity(const onnx::OnnxModel& model,
                                  const std::vector<GrowingState>& states, int64_t least) {
  constexpr int64_t kMultiple = 16;  // a multiple of vector widths
  constexpr int64_t kLeast = 64;
  const auto is_taken = [&](int64_t size) {
    for (const GrowingState& state : states) {
      const std::vector<int64_t>& dims = state.empty.dims;
      if (std::find(dims.begin(), dims.end(), size) != dims.end()) return true;
    }
    return model.HasSize(size);
  };
  // Capacities 64, 96, 128, 192, 256 …: shape-specialised kernels for one capacity serve many
  // lengths.
  int64_t power = kLeast;
  while (2 * power <= least) power *= 2;
  int64_t capacity = least <= power ? power : least <= power * 3 / 2 ? power * 3 / 2 : 2 * power;
  while (is_taken(capacity)) capacity += kMultiple;
  return capacity;
}

absl::StatusOr<std::vector<HostTensor>> CacheMemory::Values(const std::vector<GrowingState>& states,
                                                            int64_t rows) const {
  std::vector<HostTensor> values;
  size_t next = 0;
  for (const GrowingState& state : states) {
    TARTAN_ASSIGN_OR_RETURN(HostTensor all, tensors_[next++].ToHost());
    if (state.is_joint()) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor second, tensors_[next++].ToHost());
      std::vector<uint8_t> bytes(all.bytes().begin(), all.bytes().end());
      bytes.insert(bytes.end(), second.bytes().begin(), second.bytes().end());
      all = HostTensor(state.WithRows(capacity_), bytes);
    }
    values.push_back(RowsOf(all, state.axis, 0, rows));
  }
  return values;
}

}  // namespace tartan::generate
