// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/address_probe.h"

#include "absl/strings/str_cat.h"
#include "backend_opencl/context/opencl_buffer.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {

absl::StatusOr<MemoryHandle> AllocateTable(const OpenClContext& context, size_t bytes,
                                           const void* values) {
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateBuffer, context.context(),
                               cl_mem_flags{CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR}, bytes,
                               const_cast<void*>(values)));
  if (!IsOutOfMemory(error)) TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateBuffer"));
  if (error != CL_SUCCESS) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a table of ", bytes, " bytes: ", ErrorName(error), "; ", context.FreeMemoryText()));
  }
  return memory;
}

absl::StatusOr<uint64_t> AddressProbe::Ask(const hal::BufferPtr& buffer) {
  if (AddressOf(buffer) == 0) {
    const hal::BufferPtr& root = buffer->parent() == nullptr ? buffer : buffer->parent();
    auto& memory = static_cast<OpenClBuffer&>(*root);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<uint64_t> found,
                            Find(std::vector<cl_mem>(memories_, memory.memory())));
    memory.SetAddress(found.front());
  }
  return AddressOf(buffer);
}

absl::StatusOr<std::vector<uint64_t>> AddressProbe::Find(absl::Span<const cl_mem> memories) {
  std::vector<uint64_t> places(places_, 0);
  const size_t bytes = places.size() * sizeof(uint64_t);
  if (!queue_) {
    cl_int error = CL_SUCCESS;
    queue_ = QueueHandle(CreateCl(&error, clCreateCommandQueue, context_.context(), context_.id(),
                                  cl_command_queue_properties{0}));
    TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateCommandQueue"));
    TARTAN_ASSIGN_OR_RETURN(result_, AllocateTable(context_, places));
  }
  cl_uint position = 0;
  const auto set = [&](size_t size, const void* value) -> absl::Status {
    TARTAN_CL_CALL(clSetKernelArg, kernel_, position++, size, value);
    return absl::OkStatus();
  };
  for (const cl_mem memory : memories) TARTAN_RETURN_IF_ERROR(set(sizeof(memory), &memory));
  const cl_mem result = result_.get();
  TARTAN_RETURN_IF_ERROR(set(sizeof(result), &result));
  for (const cl_int number : numbers_) TARTAN_RETURN_IF_ERROR(set(sizeof(number), &number));
  const size_t one = 1;
  TARTAN_CL_CALL(clEnqueueNDRangeKernel, queue_.get(), kernel_, 1, nullptr, &one, &one, 0, nullptr,
                 nullptr);
  TARTAN_CL_CALL(clEnqueueReadBuffer, queue_.get(), result, CL_TRUE, 0, bytes, places.data(), 0,
                 nullptr, nullptr);
  if (places.front() == 0)
    return absl::InternalError("the driver does not report the address of a buffer");
  return places;
}

}  // namespace tartan::opencl
