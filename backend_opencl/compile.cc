#include "backend_opencl/compile.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/build_log.h"
#include "backend_opencl/opencl_executable.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

using Clock = std::chrono::steady_clock;

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size == 0 || clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                                         nullptr) != CL_SUCCESS) {
    return "(the driver left no log)";
  }
  log.resize(std::min(log.size(), log.find('\0')));
  return log;
}

std::string JoinSource(const hal::ExecutableSource& source) {
  std::string text = source.prologue;
  for (const hal::KernelSource& kernel : source.kernels)
    absl::StrAppend(&text, "\n", kernel.source);
  return text;
}

absl::StatusOr<ProgramHandle> BuildFromSource(const OpenClDevice& device, const std::string& text,
                                              const std::string& options) {
  const char* begin = text.data();
  const size_t size = text.size();
  cl_int error = CL_SUCCESS;
  ProgramHandle program(clCreateProgramWithSource(device.context(), 1, &begin, &size, &error));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateProgramWithSource"));
  const cl_device_id id = device.id();
  error = clBuildProgram(program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return program;
  if (IsOutOfMemory(error)) return ToStatus(error, "clBuildProgram");
  return absl::InternalError(absl::StrCat("clBuildProgram on ", device.info().name, ": ",
                                          ErrorName(error), "\n",
                                          ExplainBuildLog(BuildLog(program.get(), id), text)));
}

// Reads what the launch checks of hal need to know of a kernel.
absl::StatusOr<hal::EntryPoint> Inspect(cl_program program, cl_device_id device,
                                        const std::string& name) {
  cl_int error = CL_SUCCESS;
  KernelHandle kernel(clCreateKernel(program, name.c_str(), &error));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clCreateKernel of ", name)));
  cl_uint arguments = 0;
  TARTAN_CL_CALL(clGetKernelInfo, kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments,
                 nullptr);
  size_t local_size[3] = {0, 0, 0};
  TARTAN_CL_CALL(clGetKernelWorkGroupInfo, kernel.get(), device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                 sizeof(local_size), local_size, nullptr);
  hal::EntryPoint entry_point;
  entry_point.name = name;
  entry_point.argument_count = static_cast<int>(arguments);
  for (int i = 0; i < 3; ++i) entry_point.local_size[i] = static_cast<int64_t>(local_size[i]);
  return entry_point;
}

}  // namespace

absl::StatusOr<hal::ExecutablePtr> CompileExecutable(std::shared_ptr<OpenClDevice> device,
                                                     const hal::ExecutableSource& source) {
  if (source.format != "opencl-c") {
    return absl::InvalidArgumentError(absl::StrCat(
        "the OpenCL backend compiles the format \"opencl-c\", not \"", source.format, "\""));
  }
  const Clock::time_point start = Clock::now();
  hal::CompileStatistics statistics;
  std::vector<ProgramHandle> programs;
  std::vector<int> program_of_entry(source.kernels.size(), 0);
  TARTAN_ASSIGN_OR_RETURN(ProgramHandle program,
                          BuildFromSource(*device, JoinSource(source), source.options));
  programs.push_back(std::move(program));
  ++statistics.cache_misses;
  std::vector<hal::EntryPoint> entry_points;
  for (size_t i = 0; i < source.kernels.size(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(
        hal::EntryPoint entry_point,
        Inspect(programs[program_of_entry[i]].get(), device->id(), source.kernels[i].name));
    entry_points.push_back(std::move(entry_point));
  }
  statistics.compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::make_shared<OpenClExecutable>(std::move(device), std::move(entry_points), statistics,
                                            std::move(programs), std::move(program_of_entry));
}

}  // namespace tartan::opencl
