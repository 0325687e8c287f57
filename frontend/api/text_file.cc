// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tile/base/process_limits.h"

namespace tartan::api {
namespace {

absl::Status SystemError(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

struct Descriptor {
  explicit Descriptor(int descriptor) : fd(descriptor) {}
  ~Descriptor() { close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

bool MayHoldText(int fd, mode_t mode) {
  return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || isatty(fd) == 1;
}

}  // namespace

absl::StatusOr<std::string> ReadTextFile(const std::string& path, int64_t max_bytes) {
  // O_NONBLOCK: opening must not wait for a writer of a named pipe.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, errno);
  const Descriptor closing(fd);
  struct stat info = {};
  if (fstat(fd, &info) != 0) return SystemError(path, errno);
  if (S_ISDIR(info.st_mode)) return SystemError(path, EISDIR);
  if (!MayHoldText(fd, info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file, pipe or terminal"));
  }
  // Reading waits for a pipe that has a writer.
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) return SystemError(path, errno);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, errno);
    text.append(buffer, static_cast<size_t>(count));
    const absl::Status allowed = CheckFileSize(path, static_cast<int64_t>(text.size()));
    if (!allowed.ok()) return allowed;
    if (static_cast<int64_t>(text.size()) > max_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": is longer than ", max_bytes, " bytes, the limit for a text"));
    }
  }
}

}  // namespace tartan::api
