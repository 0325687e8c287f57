// SPDX-License-Identifier: Apache-2.0
// Where kernels see buffers, which OpenCL 1.2 does not tell: a kernel does.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_context.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Memory of the device that begins with a copy of these bytes.
absl::StatusOr<MemoryHandle> AllocateTable(const OpenClContext& context, size_t bytes,
                                           const void* values);
template <class T>
absl::StatusOr<MemoryHandle> AllocateTable(const OpenClContext& context,
                                           const std::vector<T>& values) {
  return AllocateTable(context, values.size() * sizeof(T), values.data());
}

class AddressProbe {
 public:
  // `kernel` takes `memories` buffers, one to which it writes the addresses of these and maybe
  // more, `places` in all, and then `numbers`. Its work-groups are single items. Both outlive the
  // probe.
  AddressProbe(const OpenClContext& context, cl_kernel kernel, size_t memories, size_t places,
               std::vector<cl_int> numbers)
      : context_(context),
        kernel_(kernel),
        memories_(memories),
        places_(places),
        numbers_(std::move(numbers)) {}

  // Of a buffer or a part of one, which knows it from then on.
  absl::StatusOr<uint64_t> Ask(const hal::BufferPtr& buffer);
  // What the kernel writes, given these.
  absl::StatusOr<std::vector<uint64_t>> Find(absl::Span<const cl_mem> memories);

 private:
  const OpenClContext& context_;
  const cl_kernel kernel_;
  const size_t memories_, places_;
  const std::vector<cl_int> numbers_;
  QueueHandle queue_;
  MemoryHandle result_;
};

}  // namespace tartan::opencl
