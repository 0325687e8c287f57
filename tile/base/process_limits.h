// SPDX-License-Identifier: Apache-2.0
// Reads the limits with which the process was started (ulimit), so that errors can name the limit
// and the current use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tartan {

// The maximum size in bytes of a file that this process may write; nothing if unlimited. Safe in
// signal handlers.
std::optional<int64_t> FileSizeLimit();

// The number of files that this process may still open, counted up to `most`. Safe in signal
// handlers.
int FreeFileDescriptors(int most);
// The maximum number of open files.
int64_t OpenFileLimit();

struct MemoryLimit {
  int64_t left = 0;  // bytes
  // "the address space is limited to 400000000 bytes (ulimit -v), 390000000 are in use"
  std::string text;
};
// The limit on address space (ulimit -v) or data (ulimit -d) that leaves less memory; nothing if
// both are unlimited.
std::optional<MemoryLimit> FindMemoryLimit();

// Environment variable: the maximum size in bytes of files that are read, also when decompressed,
// for processes that read untrusted files. Not set: unlimited.
inline constexpr char kMaxFileSizeVariable[] = "TARTAN_MAX_FILE_SIZE";

// Aborted, with `what` and both sizes, if `bytes` exceeds that maximum. InvalidArgument if the
// variable is not a number.
absl::Status CheckFileSize(absl::string_view what, int64_t bytes);

// Describes `error`, the errno of a failed write. A limit on file sizes is named.
std::string WriteErrorText(int error);

}  // namespace tartan
