// SPDX-License-Identifier: Apache-2.0
// Finds the device addresses of buffers, which OpenCL 1.2 does not report, by running a kernel that
// writes them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/opencl_context.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Allocates device memory initialized with a copy of `bytes` bytes at `values`.
absl::StatusOr<MemoryHandle> AllocateTable(const OpenClContext& context, size_t bytes,
                                           const void* values);
template <class T>
absl::StatusOr<MemoryHandle> AllocateTable(const OpenClContext& context,
                                           const std::vector<T>& values) {
  return AllocateTable(context, values.size() * sizeof(T), values.data());
}

class AddressProbe {
 public:
  // The parameters of `kernel` are `memories` buffers, a result buffer of `places` addresses, and
  // the integers `numbers`. The kernel writes the addresses of its buffers to the result.
  // Its work-groups have one work-item. `context` and `kernel` must outlive the probe.
  AddressProbe(const OpenClContext& context, cl_kernel kernel, size_t memories, size_t places,
               std::vector<cl_int> numbers)
      : context_(context),
        kernel_(kernel),
        memories_(memories),
        places_(places),
        numbers_(std::move(numbers)) {}

  // Returns the address of a buffer or sub-buffer, and stores it in the buffer.
  absl::StatusOr<uint64_t> Ask(const hal::BufferPtr& buffer);
  // Runs the kernel on these buffers and returns its result.
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
