// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_event.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

cl_int StateOf(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int error = CallCl(clGetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                              sizeof(state), &state, nullptr);
  return error == CL_SUCCESS ? state : error;
}

}  // namespace

// A negative execution status is the error that ended the command.
absl::Status FailureOf(cl_event event) {
  const cl_int state = StateOf(event);
  if (state >= 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("work on the device failed: ", ErrorName(state)));
}

bool IsOver(cl_event event) { return StateOf(event) <= CL_COMPLETE; }

absl::Status OpenClEvent::Wait() {
  const cl_event event = event_.get();
  const cl_int error = CallCl(clWaitForEvents, 1, &event);
  TARTAN_RETURN_IF_ERROR(FailureOf(event));
  return ToStatus(error, "clWaitForEvents");
}

absl::StatusOr<hal::Timing> OpenClEvent::GetTiming() {
  TARTAN_RETURN_IF_ERROR(Wait());
  if (!profiling_) return hal::Timing{};
  cl_ulong start = 0;
  cl_ulong end = 0;
  TARTAN_CL_CALL(clGetEventProfilingInfo, event_.get(), CL_PROFILING_COMMAND_START, sizeof(start),
                 &start, nullptr);
  TARTAN_CL_CALL(clGetEventProfilingInfo, event_.get(), CL_PROFILING_COMMAND_END, sizeof(end), &end,
                 nullptr);
  return hal::Timing{static_cast<int64_t>(start), static_cast<int64_t>(end)};
}

}  // namespace tartan::opencl
