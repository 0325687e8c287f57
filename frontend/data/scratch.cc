// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/scratch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/base/process_limits.h"

namespace tartan::data {
namespace {

constexpr int64_t kHeapBytes = int64_t{64} << 20;

absl::Status NoPlace(const std::string& folder, int64_t size, int error) {
  return absl::ResourceExhaustedError(absl::StrCat(
      folder, ": not enough space for ", size,
      " bytes of unpacked data (TMPDIR chooses another folder): ", WriteErrorText(error)));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Scratch>> Scratch::Create(int64_t size) {
  const absl::Status allowed = CheckFileSize("unpacked data", size);
  if (!allowed.ok()) return allowed;
  if (size <= kHeapBytes) {
    void* data = std::calloc(size > 0 ? static_cast<size_t>(size) : 1, 1);
    if (data == nullptr) return absl::ResourceExhaustedError("out of memory");
    return std::shared_ptr<Scratch>(new Scratch(static_cast<uint8_t*>(data), size, false));
  }
  const char* named = std::getenv("TMPDIR");
  const std::string folder = named != nullptr && *named != '\0' ? named : "/tmp";
  std::string path = absl::StrCat(folder, "/tartan-data-XXXXXX");
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return NoPlace(folder, size, errno);
  unlink(path.c_str());
  // Allocates the disk space now: writing to a hole of a mapped file on a full disk would kill the
  // process.
  const int error = posix_fallocate(fd, 0, size);
  void* data = MAP_FAILED;
  if (error == 0) data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int map_error = errno;
  close(fd);
  if (data == MAP_FAILED) return NoPlace(folder, size, error != 0 ? error : map_error);
  return std::shared_ptr<Scratch>(new Scratch(static_cast<uint8_t*>(data), size, true));
}

Scratch::~Scratch() {
  if (is_mapped_) {
    munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

}  // namespace tartan::data
