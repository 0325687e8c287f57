// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_device.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/cache/pocl_folder.h"
#include "backend_opencl/device/compile.h"
#include "backend_opencl/device/cpu_features.h"
#include "backend_opencl/device/driver_failure.h"
#include "backend_opencl/device/hardware_probe.h"
#include "backend_opencl/device/opencl_buffer.h"
#include "backend_opencl/device/opencl_executable.h"
#include "backend_opencl/device/opencl_queue.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

// What was found before with this driver on this processor, or the compiler's answer. A compiler
// that cannot build even that is treated as unknown; its errors show when kernels are built.
CompilerFeatures FeaturesOf(cl_context context, const HostFeatures& host, DiskCache* cache,
                            const FoundDevice& found) {
  const std::string key = absl::StrCat(
      "cpu features 1\n", absl::StrJoin({found.platform_version, found.info.driver_version,
                                         found.info.name, host.identity},
                                        "\n"));
  if (cache != nullptr) {
    const std::optional<std::string> stored = cache->Load(key);
    if (stored.has_value()) {
      if (const auto features = FeaturesFromText(*stored)) return *features;
    }
  }
  // What PoCL writes meanwhile belongs to no other program.
  const auto lock = PoclFolder::OfProcess().LockToBuild();
  const absl::StatusOr<CompilerFeatures> features = AskCompiler(context, found.device);
  if (!features.ok()) return {};
  if (cache != nullptr) cache->Store(key, ToText(*features));
  return *features;
}

void FollowCompiler(cl_context context, DiskCache* cache, FoundDevice* found) {
  const HostFeatures host = AskHost();
  const CompilerFeatures compiler = FeaturesOf(context, host, cache, *found);
  FollowCpu(compiler, host, &found->info.settings);
  absl::StrAppend(&found->build_options, CpuBuildOptions(compiler, host));
}

}  // namespace

absl::StatusOr<hal::DevicePtr> OpenClDevice::Open(FoundDevice found,
                                                  std::shared_ptr<DiskCache> cache, bool quiet) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int error = CL_SUCCESS;
  ContextHandle context(
      CreateCl(&error, clCreateContext, properties, 1, &found.device, nullptr, nullptr));
  // Intel's runtime gives CL_DEVICE_NOT_AVAILABLE where memory is short.
  TARTAN_RETURN_IF_ERROR(
      ExplainByShortage(ToStatus(error, absl::StrCat("clCreateContext for ", found.info.name))));
  if (found.info.type == hal::DeviceType::kCpu) FollowCompiler(context.get(), cache.get(), &found);
  return std::make_shared<OpenClDevice>(std::move(found), std::move(context), std::move(cache),
                                        quiet);
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoAllocate(int64_t bytes) {
  // Some drivers promise more than there is and fail, or are killed, at first use.
  if (!CountAllocated(bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocation of ", bytes, " bytes: ", FreeMemoryText()));
  }
  cl_int error = CL_SUCCESS;
  // A CPU computes in the host's memory: taken now, a lack of it is an error here. Drivers that
  // take it at first use abort there.
  const cl_mem_flags taken_now =
      info().type == hal::DeviceType::kCpu ? CL_MEM_ALLOC_HOST_PTR : cl_mem_flags{0};
  MemoryHandle memory(
      CreateCl(&error, clCreateBuffer, context(), CL_MEM_READ_WRITE | taken_now, bytes, nullptr));
  if (error != CL_SUCCESS) {
    CountReleased(bytes);
    if (!IsOutOfMemory(error)) return ToStatus(error, "clCreateBuffer");
    return absl::ResourceExhaustedError(absl::StrCat(
        "allocation of ", bytes, " bytes: ", ErrorName(error), "; ", FreeMemoryText()));
  }
  return std::make_shared<OpenClBuffer>(shared_from_this(), std::move(memory), bytes);
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoSubBuffer(const hal::BufferPtr& parent,
                                                         int64_t offset, int64_t size) {
  const cl_buffer_region region = {static_cast<size_t>(offset), static_cast<size_t>(size)};
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateSubBuffer, MemoryOf(parent), CL_MEM_READ_WRITE,
                               CL_BUFFER_CREATE_TYPE_REGION, &region));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateSubBuffer"));
  return std::make_shared<OpenClBuffer>(parent, std::move(memory), offset, size);
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoWrap(absl::Span<const uint8_t> bytes,
                                                    std::shared_ptr<const void> owner) {
  // Kernels rely on the alignment of buffers; other devices than CPUs would copy.
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const bool is_aligned = address % static_cast<uintptr_t>(info().buffer_alignment) == 0;
  if (info().type != hal::DeviceType::kCpu || !is_aligned) return hal::BufferPtr();
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateBuffer, context(),
                               CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, bytes.size(),
                               const_cast<uint8_t*>(bytes.data())));
  if (error != CL_SUCCESS) return hal::BufferPtr();
  return std::make_shared<OpenClBuffer>(shared_from_this(), std::move(memory),
                                        static_cast<int64_t>(bytes.size()), std::move(owner));
}

absl::StatusOr<hal::ExecutablePtr> OpenClDevice::DoCompile(const hal::ExecutableSource& source) {
  return CompileExecutable(shared_from_this(), source);
}

absl::StatusOr<hal::RecordingPtr> OpenClDevice::DoRecord(const hal::ExecutablePtr& executable,
                                                         absl::Span<const hal::Launch> launches) {
  return RecordLaunches(executable, launches);
}

absl::StatusOr<std::unique_ptr<hal::Queue>> OpenClDevice::DoCreateQueue(bool profiling) {
  return OpenClQueue::Create(shared_from_this(), profiling);
}

}  // namespace tartan::opencl
