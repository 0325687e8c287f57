// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/cli/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace tartan::cli {
namespace {

std::string Environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// Runs in the child process and never returns.
void Execute(const std::vector<std::string>& arguments, const ProgramOptions& options, int out,
             int err) {
  signal(SIGPIPE, SIG_DFL);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& setting : options.environment) {
    putenv(const_cast<char*>(setting.c_str()));
  }
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  _exit(127);
}

// Appends the available data; false at the end of the stream.
bool ReadSome(int fd, std::string* text) {
  char buffer[4096];
  const ssize_t count = read(fd, buffer, sizeof(buffer));
  if (count > 0) text->append(buffer, count);
  return count > 0;
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  ProgramResult result;
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) return result;
  int child_out = out[1];
  if (!options.stdout_path.empty()) {
    child_out = open(options.stdout_path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (options.close_stdout) close(out[0]);
  const pid_t child = fork();
  if (child == 0) Execute(arguments, options, child_out, err[1]);
  close(out[1]);
  close(err[1]);
  if (child_out != out[1]) close(child_out);

  pollfd ends[2] = {{options.close_stdout ? -1 : out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  bool interrupted = false;
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    if (poll(ends, 2, -1) < 0) break;
    if (ends[0].revents != 0 && !ReadSome(out[0], &result.out)) ends[0].fd = -1;
    if (ends[1].revents != 0 && !ReadSome(err[0], &result.err)) ends[1].fd = -1;
    if (options.interrupt_signal != 0 && !interrupted &&
        result.err.find(options.interrupt_at) != std::string::npos) {
      kill(child, options.interrupt_signal);
      interrupted = true;
    }
  }
  if (!options.close_stdout) close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(child, &status, 0);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

ProgramResult RunTartan(std::vector<std::string> arguments, const ProgramOptions& options) {
  arguments.insert(arguments.begin(), Environment("TARTAN_BINARY_DIR", "build") + "/tartan");
  return RunProgram(arguments, options);
}

std::string SourcePath(const std::string& relative) {
  return Environment("TARTAN_SOURCE_DIR", ".") + "/" + relative;
}

}  // namespace tartan::cli
