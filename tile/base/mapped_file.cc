// SPDX-License-Identifier: Apache-2.0
#include "tile/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "tile/base/process_limits.h"

namespace tartan {
namespace {

absl::Status SystemError(const std::string& path, int error) {
  std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

// All mapped ranges, by start address.
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> sizes;  // guarded by mutex
};

Mappings& AllMappings() {
  static auto* const mappings = new Mappings;
  return *mappings;
}

// Requires that the caller holds the lock.
bool IsMapped(const Mappings& mappings, absl::Span<const uint8_t> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  auto found = mappings.sizes.upper_bound(begin);
  if (found == mappings.sizes.begin()) return false;
  --found;
  return begin + bytes.size() <= found->first + found->second;
}

}  // namespace

MappedFile::MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {
  if (data_ == nullptr) return;
  Mappings& mappings = AllMappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);
  mappings.sizes[reinterpret_cast<uintptr_t>(data_)] = size_;
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK avoids waiting for a named pipe, which is rejected below.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, errno);
  struct stat info = {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(info.st_mode) ? ": is a folder" : ": is not a regular file"));
  }
  if (absl::Status status = CheckFileSize(path, info.st_size); !status.ok()) {
    close(fd);
    return status;
  }
  const size_t size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      close(fd);
      return SystemError(path, error);
    }
  }
  close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<const uint8_t*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  Mappings& mappings = AllMappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);
  mappings.sizes.erase(reinterpret_cast<uintptr_t>(data_));
  munmap(const_cast<uint8_t*>(data_), size_);
}

bool MappedFile::Holds(absl::Span<const uint8_t> bytes) {
  Mappings& mappings = AllMappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);
  return IsMapped(mappings, bytes);
}

void MappedFile::ReleasePages(absl::Span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t end = begin + bytes.size();
  Mappings& mappings = AllMappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);
  if (!IsMapped(mappings, bytes)) return;
  // Rounds down to a page. Mappings begin at a page, and other data in the page can be read again,
  // too.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = begin / page * page;
  madvise(const_cast<uint8_t*>(bytes.data()) - (begin - first), end - first, MADV_DONTNEED);
}

}  // namespace tartan
