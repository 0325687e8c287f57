// SPDX-License-Identifier: Apache-2.0
#include "opencl_runner.h"

#include <algorithm>
#include <utility>

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/codegen/write_kernel.h"

namespace tartan::opencl {
namespace {

absl::Status Check(cl_int error, absl::string_view call) {
  if (error == CL_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, " failed with ", error));
}

}  // namespace

struct OpenClRunner::State {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;
  absl::Status status;

  ~State() {
    if (program != nullptr) clReleaseProgram(program);
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
  }

  // Takes the first device of any platform, because some platforms have none.
  absl::Status FindDevice() {
    cl_platform_id platforms[16];
    cl_uint count = 0;
    TARTAN_RETURN_IF_ERROR(Check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs"));
    cl_int error = CL_DEVICE_NOT_FOUND;
    for (cl_uint p = 0; p < std::min<cl_uint>(count, 16) && error != CL_SUCCESS; ++p) {
      error = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    }
    return Check(error, "clGetDeviceIDs");
  }

  absl::Status Build(const std::string& source) {
    cl_int error;
    TARTAN_RETURN_IF_ERROR(FindDevice());
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    TARTAN_RETURN_IF_ERROR(Check(error, "clCreateContext"));
    queue = clCreateCommandQueue(context, device, 0, &error);
    TARTAN_RETURN_IF_ERROR(Check(error, "clCreateCommandQueue"));
    const char* text = source.c_str();
    program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
    TARTAN_RETURN_IF_ERROR(Check(error, "clCreateProgramWithSource"));
    if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS) {
      return absl::OkStatus();
    }
    std::string log(1 << 16, '\0');
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    return absl::InternalError(absl::StrCat(log.c_str(), "\n", source));
  }

  absl::Status Run(const loop::Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers,
                   cl_kernel handle, std::vector<cl_mem>* memory) {
    cl_int error;
    for (std::vector<uint8_t>& buffer : buffers) {
      memory->push_back(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       buffer.size(), buffer.data(), &error));
      TARTAN_RETURN_IF_ERROR(Check(error, "clCreateBuffer"));
      const auto index = static_cast<cl_uint>(memory->size() - 1);
      TARTAN_RETURN_IF_ERROR(
          Check(clSetKernelArg(handle, index, sizeof(cl_mem), &memory->back()), "clSetKernelArg"));
    }
    size_t global[3], local[3];
    for (int i = 0; i < 3; ++i) {
      global[i] = kernel.global_size[i];
      local[i] = kernel.local_size[i];
    }
    TARTAN_RETURN_IF_ERROR(
        Check(clEnqueueNDRangeKernel(queue, handle, 3, nullptr, global, local, 0, nullptr, nullptr),
              "clEnqueueNDRangeKernel"));
    for (size_t i = 0; i < buffers.size(); ++i) {
      TARTAN_RETURN_IF_ERROR(
          Check(clEnqueueReadBuffer(queue, (*memory)[i], CL_TRUE, 0, buffers[i].size(),
                                    buffers[i].data(), 0, nullptr, nullptr),
                "clEnqueueReadBuffer"));
    }
    return absl::OkStatus();
  }
};

OpenClRunner::OpenClRunner(absl::Span<const loop::Kernel> kernels,
                           const OpenClDialectOptions& options)
    : OpenClRunner(codegen::WriteProgram(kernels, OpenClDialect(options))) {}

OpenClRunner::OpenClRunner(std::string source)
    : source_(std::move(source)), state_(std::make_unique<State>()) {
  state_->status = state_->Build(source_);
}

OpenClRunner::~OpenClRunner() = default;

absl::Status OpenClRunner::Run(const loop::Kernel& kernel,
                               absl::Span<std::vector<uint8_t>> buffers) {
  TARTAN_RETURN_IF_ERROR(state_->status);
  cl_int error;
  cl_kernel handle = clCreateKernel(state_->program, kernel.name.c_str(), &error);
  TARTAN_RETURN_IF_ERROR(Check(error, "clCreateKernel"));
  std::vector<cl_mem> memory;
  const absl::Status status = state_->Run(kernel, buffers, handle, &memory);
  for (cl_mem buffer : memory) clReleaseMemObject(buffer);
  clReleaseKernel(handle);
  return status;
}

}  // namespace tartan::opencl
