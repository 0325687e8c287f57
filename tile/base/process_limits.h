// SPDX-License-Identifier: Apache-2.0
// Limits that a process was started with (ulimit): a failure that comes from one is told by its
// name, with the limit and what is in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tartan {

// The largest size of a file that this process may write, in bytes; nothing where it is unlimited.
// May be called in a signal handler.
std::optional<int64_t> FileSizeLimit();

// How many more files this process may open, counted up to `most`. May be called in a signal
// handler.
int FreeFileDescriptors(int most);
// How many files it may have open at once.
int64_t OpenFileLimit();

struct MemoryLimit {
  int64_t left = 0;  // bytes
  // "the address space is limited to 400000000 bytes (ulimit -v), 390000000 are in use"
  std::string text;
};
// The limit on addresses (ulimit -v) or data (ulimit -d), whichever leaves less; nothing where
// neither is limited.
std::optional<MemoryLimit> FindMemoryLimit();

// The largest size of a file that is read, and of what is unpacked from one, for processes that
// work on files of others: a number of bytes. Not set: any size.
inline constexpr char kMaxFileSizeVariable[] = "TARTAN_MAX_FILE_SIZE";

// Aborted, with `what` and both sizes, where `bytes` are more than that. InvalidArgument where the
// variable is no number.
absl::Status CheckFileSize(absl::string_view what, int64_t bytes);

// What `error`, an errno of a call that writes files, means. A limit on their size is named.
std::string WriteErrorText(int error);

}  // namespace tartan
