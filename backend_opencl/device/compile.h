// SPDX-License-Identifier: Apache-2.0
// Makes an executable of OpenCL C.
#pragma once

#include "hal/hal.h"

namespace tartan::opencl {

// `device` is one of this backend. Where the driver does not build a source that mentions
// TARTAN_PORTABLE, it is built once more with that defined, which must leave out what only some
// compilers know; told on stderr once a device that is not quiet. InvalidArgument for another
// format, Internal with the driver's log and the source lines it speaks of where the build fails.
absl::StatusOr<hal::ExecutablePtr> CompileExecutable(hal::DevicePtr device,
                                                     const hal::ExecutableSource& source);

// Whether the disk cache has all that the driver would make of it, so that the above compiles
// nothing. `device` is one of this backend.
bool IsCompiledOnDisk(const hal::DevicePtr& device, const hal::ExecutableSource& source);

}  // namespace tartan::opencl
