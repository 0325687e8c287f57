// SPDX-License-Identifier: Apache-2.0
// Reports an error message and a proper exit code when the OpenCL driver ends the process. Drivers
// abort, crash, call exit and throw in their own threads when memory or disk space runs out.
#pragma once

#include <memory>

#include "frontend/cli/process/exit_code.h"

namespace tartan::cli {

// Installs the handlers for the whole process; call it once, before using the driver. Crashes for
// other reasons remain crashes.
void InstallCrashReporter();

// Returns the exit code for main. Ends the process immediately if the driver holds locks that an
// ordinary exit would wait for, or if objects are kept.
int EndProgram(ExitCode code);

// Keeps an object that the process never destroys. A GPU's driver takes seconds to release the
// memory of a large training, which the system frees with the process.
void KeepUntilEnd(std::shared_ptr<const void> object);

}  // namespace tartan::cli
