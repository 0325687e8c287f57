// SPDX-License-Identifier: Apache-2.0
#include "tile/base/process_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tartan {
namespace {

// The soft limit, which is the effective one; nothing if unlimited.
std::optional<int64_t> LimitOf(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(std::min<uint64_t>(limit.rlim_cur, INT64_MAX));
}

struct MemoryUse {
  int64_t addresses = 0;  // bytes
  int64_t data = 0;
};

MemoryUse UseOfProcess() {
  // Columns of statm, in pages: total, resident, shared, text, 0, data and stack.
  int64_t all = 0, skipped = 0, data = 0;
  std::ifstream pages("/proc/self/statm");
  pages >> all >> skipped >> skipped >> skipped >> skipped >> data;
  const int64_t page = sysconf(_SC_PAGESIZE);
  return {all * page, data * page};
}

}  // namespace

std::optional<int64_t> FileSizeLimit() { return LimitOf(RLIMIT_FSIZE); }

int64_t OpenFileLimit() { return LimitOf(RLIMIT_NOFILE).value_or(INT64_MAX); }

int FreeFileDescriptors(int most) {
  const int64_t limit = OpenFileLimit();
  int free = 0;
  for (int64_t file = 0; file < limit && file <= INT32_MAX && free < most; ++file) {
    if (fcntl(static_cast<int>(file), F_GETFD) < 0 && errno == EBADF) ++free;
  }
  return free;
}

std::optional<MemoryLimit> FindMemoryLimit() {
  const std::optional<int64_t> addresses = LimitOf(RLIMIT_AS);
  const std::optional<int64_t> data = LimitOf(RLIMIT_DATA);
  if (!addresses.has_value() && !data.has_value()) return std::nullopt;
  const MemoryUse use = UseOfProcess();
  const auto limit = [](absl::string_view what, absl::string_view option, int64_t most,
                        int64_t used) {
    return MemoryLimit{most - used, absl::StrCat(what, " is limited to ", most, " bytes (ulimit ",
                                                 option, "), ", used, " are in use")};
  };
  const MemoryLimit of_addresses =
      limit("the address space", "-v", addresses.value_or(INT64_MAX), use.addresses);
  const MemoryLimit of_data = limit("data", "-d", data.value_or(INT64_MAX), use.data);
  return of_data.left < of_addresses.left ? of_data : of_addresses;
}

absl::Status CheckFileSize(absl::string_view what, int64_t bytes) {
  const char* const most = std::getenv(kMaxFileSizeVariable);
  if (most == nullptr || *most == '\0') return absl::OkStatus();
  int64_t limit = 0;
  if (!absl::SimpleAtoi(most, &limit) || limit < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kMaxFileSizeVariable, " is '", most, "', not a number of bytes"));
  }
  if (bytes <= limit) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(what, ": ", bytes, " bytes are more than the ", limit,
                                         " that --max-file-size or ", kMaxFileSizeVariable,
                                         " allows"));
}

std::string WriteErrorText(int error) {
  const std::optional<int64_t> limit = FileSizeLimit();
  if (error != EFBIG || !limit.has_value()) return std::strerror(error);
  return absl::StrCat("no file may be larger than ", *limit, " bytes (ulimit -f)");
}

}  // namespace tartan
