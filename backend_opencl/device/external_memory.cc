// SPDX-License-Identifier: Apache-2.0
// The extensions cl_khr_external_memory_opaque_fd and cl_khr_device_uuid. A CPU maps the memory.
#include "hal/external_memory.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend_opencl/context/opencl_buffer.h"
#include "backend_opencl/device/opencl_device.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

constexpr cl_device_info kDeviceUuid = 0x106A;
constexpr intptr_t kOpaqueFile = 0x2060;  // CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
// A function of OpenCL 3.0, which not every loader has.
using CreateBuffer = cl_mem (*)(cl_context, const intptr_t*, cl_mem_flags, size_t, void*, cl_int*);

bool HasExtension(cl_device_id device, absl::string_view name) {
  size_t size = 0;
  if (CallCl(clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS, size_t{0}, nullptr, &size) !=
      CL_SUCCESS)
    return false;
  std::vector<char> text(size + 1);
  if (CallCl(clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS, size, text.data(), nullptr) !=
      CL_SUCCESS)
    return false;
  for (absl::string_view extension : absl::StrSplit(text.data(), ' ')) {
    if (extension == name) return true;
  }
  return false;
}

}  // namespace

std::string OpenClDevice::Uuid() const {
  std::array<char, 16> uuid = {};
  if (!HasExtension(id(), "cl_khr_device_uuid") ||
      CallCl(clGetDeviceInfo, id(), kDeviceUuid, uuid.size(), uuid.data(), nullptr) != CL_SUCCESS)
    return "";
  return {uuid.data(), uuid.size()};
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::Import(const hal::ExternalMemory& memory,
                                                    int64_t size) {
  if (size < 1 || size > memory.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a buffer of ", size, " of ", memory.bytes, " bytes of external memory"));
  }
  if (info().type == hal::DeviceType::kCpu) return ImportFromHost(memory, size);
  const auto create =
      reinterpret_cast<CreateBuffer>(dlsym(RTLD_DEFAULT, "clCreateBufferWithProperties"));
  if (create == nullptr || !HasExtension(id(), "cl_khr_external_memory_opaque_fd")) {
    return absl::UnimplementedError(
        "the OpenCL driver cannot import memory (cl_khr_external_memory_opaque_fd)");
  }
  if (!CountAllocated(memory.bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("import of ", memory.bytes, " bytes: ", FreeMemoryText()));
  }
  // The device outlives the owners of its buffers.
  const std::shared_ptr<const void> owner(
      nullptr, [this, memory](const void* /*none*/) { CountReleased(memory.bytes); });
  const intptr_t properties[] = {kOpaqueFile, memory.file, 0};
  cl_int error = CL_SUCCESS;
  // The driver requires the size of the whole memory.
  MemoryHandle made(CreateCl(&error, create, context(), &properties[0],
                             cl_mem_flags{CL_MEM_READ_WRITE}, static_cast<size_t>(memory.bytes),
                             static_cast<void*>(nullptr)));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateBufferWithProperties"));
  return std::make_shared<OpenClBuffer>(shared_from_this(), std::move(made), size, owner);
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::ImportFromHost(const hal::ExternalMemory& memory,
                                                            int64_t size) {
  const auto bytes = static_cast<size_t>(memory.bytes);
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.file, 0);
  if (data == MAP_FAILED) {
    return absl::UnavailableError(
        absl::StrCat("external memory of ", memory.bytes, " bytes: mmap: ", std::strerror(errno)));
  }
  const std::shared_ptr<const void> owner(
      data, [bytes, kept = memory.owner](void* mapped) { munmap(mapped, bytes); });
  cl_int error = CL_SUCCESS;
  MemoryHandle made(CreateCl(&error, clCreateBuffer, context(),
                             cl_mem_flags{CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR}, bytes, data));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateBuffer"));
  close(memory.file);
  return std::make_shared<OpenClBuffer>(shared_from_this(), std::move(made), size, owner);
}

}  // namespace tartan::opencl
