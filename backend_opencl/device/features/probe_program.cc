// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/probe_program.h"

#include <utility>

#include "tile/base/status_macros.h"

namespace tartan::opencl {

absl::StatusOr<ProgramHandle> BuildProbe(cl_context context, cl_device_id device,
                                         absl::string_view text) {
  const char* begin = text.data();
  const size_t length = text.size();
  cl_int error = CL_SUCCESS;
  ProgramHandle program(CreateCl(&error, clCreateProgramWithSource, context, 1, &begin, &length));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, "clCreateProgramWithSource"));
  TARTAN_CL_CALL(clBuildProgram, program.get(), 1, &device, "-w", nullptr, nullptr);
  return program;
}

}  // namespace tartan::opencl
