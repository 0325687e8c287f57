// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/file_io.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace tartan::opencl {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }
  // Network file systems report a full disk only when the file is closed.
  bool Close() { return close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

bool WriteAll(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(written);
  }
  return true;
}

// O_NONBLOCK prevents waiting for a pipe in a file's place.
int OpenToRead(int folder, const std::string& path, int flags) {
  return openat(folder, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
}

// Reads all bytes of a regular file and closes the descriptor.
bool ReadAll(int descriptor, int64_t max_bytes, std::string* bytes, struct stat* info) {
  const File file(descriptor);
  if (file.get() < 0 || fstat(file.get(), info) != 0) return false;
  if (!S_ISREG(info->st_mode) || info->st_size > max_bytes) {
    errno = EFBIG;
    return false;
  }
  bytes->resize(info->st_size);
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got = read(file.get(), bytes->data() + done, bytes->size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;  // the file was truncated meanwhile
    done += got;
  }
  bytes->resize(done);
  return true;
}

// Creates a file named `path` plus random characters, and stores the full name in `path`. Returns
// -1 if that is impossible.
int MakeFile(int folder, std::string* path) {
  constexpr char kDigits[] = "abcdefghijklmnopqrstuvwxyz012345";
  constexpr int kAttempts = 100;
  const std::string prefix = *path;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    unsigned char random[6];
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) return -1;
    *path = prefix;
    for (const unsigned char number : random) *path += kDigits[number % (sizeof(kDigits) - 1)];
    const int file = openat(folder, path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

bool ReadWholeFile(const std::string& path, int64_t max_bytes, std::string* bytes) {
  struct stat info;
  return ReadAll(OpenToRead(AT_FDCWD, path, 0), max_bytes, bytes, &info);
}

bool ReadWholeFileIn(int folder, const std::string& name, int64_t max_bytes, std::string* bytes,
                     struct stat* info) {
  return ReadAll(OpenToRead(folder, name, O_NOFOLLOW), max_bytes, bytes, info);
}

bool TouchFile(const std::string& path, int folder) {
  return utimensat(folder, path.c_str(), nullptr, 0) == 0;
}

bool WriteFileByRename(const std::string& prefix, const std::string& path, absl::string_view bytes,
                       int folder) {
  std::string temporary = prefix;
  {
    File file(MakeFile(folder, &temporary));
    if (file.get() < 0) return false;
    if (WriteAll(file.get(), bytes) && file.Close() &&
        renameat(folder, temporary.c_str(), folder, path.c_str()) == 0) {
      return true;
    }
  }
  const int error = errno;
  unlinkat(folder, temporary.c_str(), 0);
  errno = error;
  return false;
}

bool MakePrivateDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      // An existing directory may also cause other errors (read-only file system).
      struct stat info;
      const int error = errno;
      if (stat(part.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
        errno = error;
        return false;
      }
    }
    if (slash == std::string::npos) return true;
  }
}

FileLock::FileLock(const std::string& path, Others others, int folder)
    : descriptor_(openat(folder, path.c_str(),
                         O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) return;
  int result;
  do {
    result = flock(descriptor_, others == Others::kWaitFor ? LOCK_EX : LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  // Another process may have deleted the file between open and flock.
  struct stat info;
  held_ = result == 0 && fstat(descriptor_, &info) == 0 && info.st_nlink > 0;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tartan::opencl
