// SPDX-License-Identifier: Apache-2.0
// RAII handles and checked calls for the OpenCL C interface. Only core 1.2 is used, which every
// driver supports.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/api/driver_failure.h"

namespace tartan::opencl {

// Returns for example "CL_OUT_OF_RESOURCES", or "error -9999" for an unknown error.
std::string ErrorName(cl_int error);

// True for errors that report exhausted memory of the host or the device.
bool IsOutOfMemory(cl_int error);

// Returns Ok for CL_SUCCESS. Other errors become ResourceExhausted, Unavailable or Internal, with
// `call` and the error's name in the message.
absl::Status ToStatus(cl_int error, absl::string_view call);

// Writes one line to stderr if the release failed. Destructors use it because they cannot return a
// status.
void LogFailedRelease(cl_int error, absl::string_view call);

// Calls an OpenCL function that returns an error code. Returns CL_OUT_OF_HOST_MEMORY if the driver
// is lost.
template <class... Parameters, class... Arguments>
cl_int CallCl(cl_int (*function)(Parameters...), Arguments... arguments) {
  return CallDriver([&] { return function(arguments...); }, cl_int{CL_OUT_OF_HOST_MEMORY});
}

// Calls an OpenCL function that returns a new object and stores its error code through its last
// parameter.
template <class Object, class... Parameters, class... Arguments>
Object CreateCl(cl_int* error, Object (*function)(Parameters...), Arguments... arguments) {
  *error = CL_OUT_OF_HOST_MEMORY;
  return CallDriver([&] { return function(arguments..., error); }, Object{nullptr});
}

// Owns one reference to an OpenCL object. Movable, not copyable.
template <class T, cl_int (*kRelease)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ == nullptr || IsDriverLost()) return;
    LogFailedRelease(CallCl(kRelease, object_), "release");
  }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Output parameter for calls that return a new object through a pointer.
  T* Receive() { return &object_; }

 private:
  T object_ = nullptr;
};

using ContextHandle = Handle<cl_context, clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, clReleaseCommandQueue>;
using MemoryHandle = Handle<cl_mem, clReleaseMemObject>;
using ProgramHandle = Handle<cl_program, clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, clReleaseKernel>;
using EventHandle = Handle<cl_event, clReleaseEvent>;

}  // namespace tartan::opencl

// TARTAN_CL_CALL(clFinish, queue); returns from the enclosing function with the call's name if the
// call fails.
#define TARTAN_CL_CALL(function, ...) \
  TARTAN_RETURN_IF_ERROR(             \
      ::tartan::opencl::ToStatus(::tartan::opencl::CallCl(function, __VA_ARGS__), #function))
