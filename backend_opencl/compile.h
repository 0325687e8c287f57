// Makes an executable of OpenCL C.
#pragma once

#include <memory>

#include "backend_opencl/opencl_device.h"
#include "hal/hal.h"

namespace tartan::opencl {

// InvalidArgument for another format, Internal with the driver's log and the source lines it speaks
// of where the build fails.
absl::StatusOr<hal::ExecutablePtr> CompileExecutable(std::shared_ptr<OpenClDevice> device,
                                                     const hal::ExecutableSource& source);

}  // namespace tartan::opencl
