// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/pending_outputs.h"

#include "tile/base/status_macros.h"

namespace tartan::api {

absl::StatusOr<std::vector<HostTensor>> PendingOutputs::Wait() const {
  TARTAN_RETURN_IF_ERROR(queue_->WaitFor(*read_));
  std::vector<HostTensor> outputs = outputs_;
  for (const size_t o : in_pinned_) outputs[o] = HostTensor(outputs[o].shape(), outputs[o].bytes());
  return outputs;
}

// A GPU copies to ordinary memory only while the caller waits. There is no pinned memory of few
// bytes, so small outputs share a block.
void PendingOutputs::PinSmallOutputs(hal::Device& device, absl::Span<const TensorShape> shapes) {
  constexpr int64_t kBlock = int64_t{64} << 10;
  constexpr int64_t kAlignment = 64;
  if (device.info().type != hal::DeviceType::kGpu) return;
  int64_t used = 0;
  for (size_t o = 0; o < shapes.size(); ++o) {
    const int64_t bytes = (shapes[o].byte_size() + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes == 0 || bytes > kBlock - used) continue;
    in_pinned_.push_back(o);
    used += bytes;
  }
  if (in_pinned_.empty()) return;
  const hal::HostMemory block = device.AllocateHost(kBlock);
  if (block.owner == nullptr) return in_pinned_.clear();
  pinned_.resize(shapes.size());
  used = 0;
  for (const size_t o : in_pinned_) {
    const int64_t bytes = shapes[o].byte_size();
    pinned_[o] = {block.bytes.subspan(used, bytes), block.owner};
    used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

}  // namespace tartan::api
