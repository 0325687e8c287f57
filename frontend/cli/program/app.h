// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: global options, choice of the command, exit code.
#pragma once

#include "frontend/cli/process/exit_code.h"

namespace tartan::cli {

// Writes results to stdout, and one message per error to stderr.
ExitCode RunApp(int argc, char** argv);

}  // namespace tartan::cli
