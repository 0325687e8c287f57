// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_executable.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "backend_opencl/context/opencl_buffer.h"
#include "backend_opencl/context/opencl_context.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

absl::StatusOr<PreparedLaunch> Prepare(OpenClExecutable& executable, const hal::Launch& launch) {
  const std::string& name = executable.entry_points()[launch.entry_point].name;
  PreparedLaunch prepared;
  prepared.entry_point = launch.entry_point;
  TARTAN_ASSIGN_OR_RETURN(prepared.kernel, executable.TakeKernel(launch.entry_point));
  cl_int error = CL_SUCCESS;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const cl_mem memory = MemoryOf(launch.arguments[i]);
    error = CallCl(clSetKernelArg, prepared.kernel.get(), i, sizeof(memory), &memory);
    TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clSetKernelArg ", i, " of ", name)));
  }
  for (size_t i = 0; i < launch.numbers.size(); ++i) {
    const auto narrow = static_cast<int32_t>(launch.numbers[i]);
    const size_t bytes = static_cast<size_t>(launch.number_bytes);
    const void* number = bytes == sizeof(narrow) ? static_cast<const void*>(&narrow)
                                                 : static_cast<const void*>(&launch.numbers[i]);
    const auto position = static_cast<cl_uint>(launch.arguments.size() + i);
    error = CallCl(clSetKernelArg, prepared.kernel.get(), position, bytes, number);
    TARTAN_RETURN_IF_ERROR(
        ToStatus(error, absl::StrCat("clSetKernelArg ", position, " of ", name)));
  }
  std::copy(launch.global_size.begin(), launch.global_size.end(), prepared.global_size.begin());
  std::copy(launch.local_size.begin(), launch.local_size.end(), prepared.local_size.begin());
  return prepared;
}

PreparedCopy PrepareCopy(const hal::Launch& copy) {
  return {MemoryOf(copy.arguments[0]), MemoryOf(copy.arguments[1]),
          static_cast<size_t>(copy.numbers[0]), static_cast<size_t>(copy.numbers[1]),
          static_cast<size_t>(copy.numbers[2])};
}

bool IsGpu(const OpenClExecutable& executable) {
  return executable.device()->info().type == hal::DeviceType::kGpu;
}

// Returns the number of launches from the start of `launches` that form one batch. Copies join the
// batch of adjacent launches. A single launch is not batched on a GPU, where it would not be
// faster.
size_t LaunchBatchLength(const OpenClExecutable& executable,
                         absl::Span<const hal::Launch> launches) {
  const bool of_groups = IsGpu(executable);
  size_t length = 0;
  size_t kernels = 0;
  for (const hal::Launch& launch : launches) {
    const bool is_copy = launch.entry_point == hal::kCopy;
    if (!is_copy && executable.cases()[launch.entry_point] < 0) break;
    if (!(of_groups ? CanBeInMegakernel(launch) : is_copy || MayBeInSequence(launch))) break;
    kernels += is_copy ? 0 : 1;
    ++length;
  }
  return kernels == 0 || (of_groups && length == 1) ? 0 : length;
}

absl::StatusOr<RecordedWork> MakeSequence(const OpenClExecutable& executable,
                                          absl::Span<const hal::Launch> launches) {
  const OpenClContext& context = ContextOf(executable.device());
  if (IsGpu(executable)) {
    return Megakernel::Create(context, executable.program(), executable.cases(), executable.kept(),
                              launches, context.info().settings.compute_units);
  }
  return LaunchBatch::Create(context, executable.program(), executable.cases(), launches);
}

}  // namespace

absl::StatusOr<KernelHandle> OpenClExecutable::TakeKernel(int entry_point) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<KernelHandle>& idle = idle_[entry_point];
    if (!idle.empty()) {
      KernelHandle kernel = std::move(idle.back());
      idle.pop_back();
      return kernel;
    }
  }
  const std::string& name = entry_points()[entry_point].name;
  cl_int error = CL_SUCCESS;
  KernelHandle kernel(CreateCl(&error, clCreateKernel, program(), name.c_str()));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clCreateKernel of ", name)));
  return kernel;
}

void OpenClExecutable::GiveBack(int entry_point, KernelHandle kernel) {
  std::lock_guard<std::mutex> lock(mutex_);
  try {
    idle_[entry_point].push_back(std::move(kernel));
  } catch (const std::bad_alloc&) {  // the kernel object is released instead of reused
  }
}

OpenClRecording::~OpenClRecording() {
  auto& executable = static_cast<OpenClExecutable&>(*executable_);
  for (RecordedWork& work : work_) {
    if (auto* launch = std::get_if<PreparedLaunch>(&work)) {
      executable.GiveBack(launch->entry_point, std::move(launch->kernel));
    }
  }
}

bool OpenClRecording::may_run_on_host() const {
  return std::all_of(work_.begin(), work_.end(), [](const RecordedWork& work) {
    const auto* sequence = std::get_if<std::unique_ptr<LaunchBatch>>(&work);
    return sequence != nullptr && (*sequence)->may_run_on_host();
  });
}

std::shared_ptr<OpenClExecutable> OpenClRecording::TakeCompiling() const {
  auto executable = std::static_pointer_cast<OpenClExecutable>(executable_);
  if (executable->pocl_files() == nullptr || is_taken_.exchange(true)) return nullptr;
  return executable;
}

absl::StatusOr<std::shared_ptr<OpenClRecording>> RecordLaunches(
    const hal::ExecutablePtr& executable, absl::Span<const hal::Launch> launches) {
  auto& built = static_cast<OpenClExecutable&>(*executable);
  std::vector<RecordedWork> prepared;
  std::vector<hal::BufferPtr> buffers;
  for (size_t next = 0; next < launches.size();) {
    const hal::Launch& launch = launches[next];
    if (const size_t length = LaunchBatchLength(built, launches.subspan(next)); length > 0) {
      TARTAN_ASSIGN_OR_RETURN(prepared.emplace_back(),
                              MakeSequence(built, launches.subspan(next, length)));
      next += length;
      continue;
    }
    ++next;
    if (launch.entry_point == hal::kCopy) {
      prepared.emplace_back(PrepareCopy(launch));
    } else {
      TARTAN_ASSIGN_OR_RETURN(prepared.emplace_back(), Prepare(built, launch));
    }
  }
  for (const hal::Launch& launch : launches) {
    buffers.insert(buffers.end(), launch.arguments.begin(), launch.arguments.end());
  }
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  return std::make_shared<OpenClRecording>(executable, std::move(buffers), std::move(prepared));
}

}  // namespace tartan::opencl
