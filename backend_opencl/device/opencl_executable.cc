// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_executable.h"

#include <algorithm>
#include <new>

#include "absl/strings/str_cat.h"
#include "backend_opencl/device/opencl_buffer.h"
#include "backend_opencl/device/opencl_context.h"
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
  } catch (const std::bad_alloc&) {  // it is released instead
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

std::shared_ptr<OpenClExecutable> OpenClRecording::TakeCompiling() const {
  auto executable = std::static_pointer_cast<OpenClExecutable>(executable_);
  if (executable->pocl_files() == nullptr || is_taken_.exchange(true)) return nullptr;
  return executable;
}

absl::StatusOr<std::shared_ptr<OpenClRecording>> RecordLaunches(
    const hal::ExecutablePtr& executable, absl::Span<const hal::Launch> launches) {
  auto& built = static_cast<OpenClExecutable&>(*executable);
  const auto is_in_sequence = [&](const hal::Launch& launch) {
    return built.cases()[launch.entry_point] >= 0 && MayBeInSequence(launch);
  };
  std::vector<RecordedWork> prepared;
  std::vector<hal::BufferPtr> buffers;
  for (size_t begin = 0, end = 0; begin < launches.size(); begin = end) {
    while (end < launches.size() && is_in_sequence(launches[end])) ++end;
    if (end > begin) {
      TARTAN_ASSIGN_OR_RETURN(
          prepared.emplace_back(),
          LaunchSequence::Create(ContextOf(built.device()), built.program(), built.cases(),
                                 launches.subspan(begin, end - begin)));
    } else {
      TARTAN_ASSIGN_OR_RETURN(prepared.emplace_back(), Prepare(built, launches[end++]));
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
