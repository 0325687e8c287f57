// The command line as a whole: global options, the choice of a command, and how it ends.
#pragma once

namespace tartan::cli {

// Returns the exit code. Results go to stdout, one message per error to stderr.
int RunApp(int argc, char** argv);

}  // namespace tartan::cli
