#include "backend_opencl/driver_quirks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string PoclCacheDirectory() {
  if (const std::string own = Environment("POCL_CACHE_DIR"); !own.empty()) return own;
  if (const std::string xdg = Environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return xdg + "/pocl/kcache";
  }
  return Environment("HOME") + "/.cache/pocl/kcache";
}

}  // namespace

DriverQuirks QuirksOf(const hal::DeviceInfo& info) {
  DriverQuirks quirks;
  quirks.relies_on_own_cache = absl::StrContains(info.platform, "Portable Computing Language");
  // 94 MB of zeros: 32 ms as numbers of four bytes, 11 ms as bytes (PoCL 3.1).
  quirks.fills_bytes_faster = quirks.relies_on_own_cache;
  if (absl::StrContains(info.vendor, "NVIDIA")) {
    // The driver reports what a CUDA kernel may opt in to; OpenCL kernels get 48 KiB.
    quirks.max_local_memory_bytes = 48 * 1024;
    // Seen with 580.159: once both have been used, clReleaseMemObject of the one made first ends in
    // a null pointer. Parts with the same range are safe.
    quirks.overlapping_sub_buffers_crash = true;
  }
  return quirks;
}

std::optional<std::string> PoclCacheIdentity() {
  if (Environment("POCL_KERNEL_CACHE") == "0") return std::nullopt;
  const std::string directory = PoclCacheDirectory();
  struct statx info;
  if (statx(AT_FDCWD, directory.c_str(), 0, STATX_INO | STATX_BTIME, &info) != 0) {
    return std::nullopt;
  }
  // Inode numbers are used again; the time of birth, where the file system keeps it, is not.
  const bool has_birth = (info.stx_mask & STATX_BTIME) != 0;
  return absl::StrCat(directory, ":", info.stx_dev_major, ":", info.stx_dev_minor, ":",
                      info.stx_ino, ":", has_birth ? info.stx_btime.tv_sec : 0, ":",
                      has_birth ? info.stx_btime.tv_nsec : 0);
}

}  // namespace tartan::opencl
