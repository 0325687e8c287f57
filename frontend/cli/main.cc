// The program `tartan`.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "frontend/cli/app.h"
#include "frontend/cli/exit_code.h"

namespace {

// Nothing needs tidying up: files that others read appear by rename, whole or not at all.
void OnInterrupt(int) {
  constexpr char kMessage[] = "\ntartan: interrupted\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1);
  _exit(static_cast<int>(tartan::cli::ExitCode::kInterrupted));
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGINT, OnInterrupt);
  signal(SIGPIPE, SIG_IGN);  // a reader that goes away is seen where stdout is written
  return tartan::cli::RunApp(argc, argv);
}
