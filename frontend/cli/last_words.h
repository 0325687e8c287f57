// SPDX-License-Identifier: Apache-2.0
// What the program says, and the code it ends with, where the OpenCL driver ends it: drivers abort,
// crash, call exit and throw in threads of their own when memory or the disk runs out.
#pragma once

#include "frontend/cli/exit_code.h"

namespace tartan::cli {

// Of the whole process, once, before the driver is used. A crash for no such reason remains one.
void InstallLastWords();

// The code to return from main, to which `code` led. Ends the process here and now where the driver
// holds locks that would be waited for at exit.
int EndProgram(ExitCode code);

}  // namespace tartan::cli
