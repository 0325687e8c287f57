// SPDX-License-Identifier: Apache-2.0
// The command line as a whole: global options, the choice of a command, and how it ends.
#pragma once

#include "frontend/cli/exit_code.h"

namespace tartan::cli {

// Results go to stdout, one message per error to stderr.
ExitCode RunApp(int argc, char** argv);

}  // namespace tartan::cli
