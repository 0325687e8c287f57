// SPDX-License-Identifier: Apache-2.0
// Compiles OpenCL C into an executable.
#pragma once

#include "hal/hal.h"

namespace tartan::opencl {

// Requires a `device` of this backend. If the driver rejects a source that mentions
// TARTAN_PORTABLE, the source is built again with that macro defined. The macro must exclude code
// that only some compilers accept. The first such rebuild on a device is reported on stderr unless
// the device is quiet. Returns InvalidArgument for another format, and Internal if the build fails,
// with the driver's log and the source lines that the log mentions.
absl::StatusOr<hal::ExecutablePtr> CompileExecutable(hal::DevicePtr device,
                                                     const hal::ExecutableSource& source);

// True if the disk cache has a complete build of `source`, so that CompileExecutable compiles
// nothing. Requires a `device` of this backend.
bool IsCompiledOnDisk(const hal::DevicePtr& device, const hal::ExecutableSource& source);

}  // namespace tartan::opencl
