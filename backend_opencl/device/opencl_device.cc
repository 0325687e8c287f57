// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_device.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/context/calibration.h"
#include "backend_opencl/context/huge_pages.h"
#include "backend_opencl/context/opencl_buffer.h"
#include "backend_opencl/device/compile.h"
#include "backend_opencl/device/opencl_executable.h"
#include "backend_opencl/device/opencl_queue.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

// The sub-buffers of all buffers, to find those that overlap.
class SubBuffers {
 public:
  // InvalidArgument if a part of `made`, but not all of it, is a part of another sub-buffer.
  absl::Status Add(const hal::BufferPtr& made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::weak_ptr<hal::Buffer>>& others = by_parent_[made->parent().get()];
    std::vector<std::weak_ptr<hal::Buffer>> alive;
    for (const std::weak_ptr<hal::Buffer>& weak : others) {
      const hal::BufferPtr other = weak.lock();
      if (other == nullptr) continue;
      alive.push_back(weak);
      const int64_t end = made->offset() + made->size();
      const int64_t other_end = other->offset() + other->size();
      const bool is_equal = made->offset() == other->offset() && end == other_end;
      if (is_equal || end <= other->offset() || other_end <= made->offset()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the sub-buffer of bytes ", made->offset(), " to ", end, " overlaps bytes ",
                       other->offset(), " to ", other_end, " of another one"));
    }
    alive.push_back(made);
    others = std::move(alive);
    return absl::OkStatus();
  }

 private:
  std::mutex mutex_;
  std::map<const hal::Buffer*, std::vector<std::weak_ptr<hal::Buffer>>> by_parent_;
};

}  // namespace

absl::StatusOr<hal::DevicePtr> OpenClDevice::Open(FoundDevice found,
                                                  std::shared_ptr<DiskCache> cache,
                                                  Calibrations calibrations, bool quiet) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_int error = CL_SUCCESS;
  ContextHandle context(
      CreateCl(&error, clCreateContext, properties, 1, &found.device, nullptr, nullptr));
  // Intel's runtime returns CL_DEVICE_NOT_AVAILABLE if memory is short.
  TARTAN_RETURN_IF_ERROR(
      ExplainByShortage(ToStatus(error, absl::StrCat("clCreateContext for ", found.info.name))));
  return std::make_shared<OpenClDevice>(std::move(found), std::move(context), std::move(cache),
                                        calibrations, quiet);
}

absl::StatusOr<HardwareSettings> OpenClDevice::Settings(hal::Knowledge knowledge) {
  switch (knowledge) {
    case hal::Knowledge::kReported:
      return info().settings;
    case hal::Knowledge::kCompiler:
      return this->knowledge().Compiler(context()).settings;
    case hal::Knowledge::kMeasured:
      break;
  }
  return this->knowledge().Measured(context(), [this]() -> absl::StatusOr<Calibration> {
    // Uses a second device object, whose memory is released afterwards.
    TARTAN_ASSIGN_OR_RETURN(const hal::DevicePtr device,
                            Open(found(), shared_cache(), Calibrations::kStored, quiet()));
    return Calibrate(*device);
  });
}

bool OpenClDevice::Knows(hal::Knowledge knowledge) const {
  switch (knowledge) {
    case hal::Knowledge::kReported:
      return true;
    case hal::Knowledge::kCompiler:
      return this->knowledge().KnowsCompiler();
    case hal::Knowledge::kMeasured:
      break;
  }
  return this->knowledge().KnowsMeasured();
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoAllocate(int64_t bytes) {
  // Some drivers accept more than the available memory, and fail or are killed when it is first
  // used.
  if (!CountAllocated(bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("allocation of ", bytes, " bytes: ", FreeMemoryText()));
  }
  cl_int error = CL_SUCCESS;
  // A CPU device uses host memory. It is allocated now, so that a shortage is an error here;
  // drivers that allocate at first use abort there.
  const bool is_cpu = info().type == hal::DeviceType::kCpu;
  const auto pages = is_cpu ? HugePages::Take(bytes) : nullptr;
  const cl_mem_flags taken_now = pages != nullptr ? CL_MEM_USE_HOST_PTR
                                 : is_cpu         ? CL_MEM_ALLOC_HOST_PTR
                                                  : cl_mem_flags{0};
  MemoryHandle memory(CreateCl(&error, clCreateBuffer, context(), CL_MEM_READ_WRITE | taken_now,
                               bytes, pages == nullptr ? nullptr : pages->data()));
  if (error != CL_SUCCESS) {
    CountReleased(bytes);
    if (!IsOutOfMemory(error)) return ToStatus(error, "clCreateBuffer");
    return absl::ResourceExhaustedError(absl::StrCat(
        "allocation of ", bytes, " bytes: ", ErrorName(error), "; ", FreeMemoryText()));
  }
  return std::make_shared<OpenClBuffer>(shared_from_this(), std::move(memory), bytes, pages);
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoSubBuffer(const hal::BufferPtr& parent,
                                                         int64_t offset, int64_t size) {
  const cl_buffer_region region = {static_cast<size_t>(offset), static_cast<size_t>(size)};
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateSubBuffer, MemoryOf(parent), CL_MEM_READ_WRITE,
                               CL_BUFFER_CREATE_TYPE_REGION, &region));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateSubBuffer"));
  auto made = std::make_shared<OpenClBuffer>(parent, std::move(memory), offset, size);
  // Tests of programs for drivers that crash (TARTAN_DISJOINT_VIEWS).
  if (!info().sub_buffers_may_overlap && !found().quirks.overlapping_sub_buffers_crash) {
    static auto& all = *new SubBuffers();
    TARTAN_RETURN_IF_ERROR(all.Add(made));
  }
  return made;
}

absl::StatusOr<hal::BufferPtr> OpenClDevice::DoWrap(absl::Span<const uint8_t> bytes,
                                                    std::shared_ptr<const void> owner) {
  // Kernels rely on the alignment of buffers. Devices other than CPUs would copy.
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

hal::HostMemory OpenClDevice::DoAllocateHost(int64_t bytes) {
  // A CPU device gains nothing from pinned memory.
  return info().type == hal::DeviceType::kGpu ? pinned_->Take(bytes) : hal::HostMemory();
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
