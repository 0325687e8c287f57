// SPDX-License-Identifier: Apache-2.0
// Disk cache of compiled kernels: a size-limited set of files, each with a key and its payload.
// Loaded entries are verified, because drivers may crash on a damaged binary. A cache that cannot
// be read or written is no error; it never hits.
//
// Each entry is one file, named by the XXH3-128 hash of its key: magic, sizes, checksum, key,
// payload. Load compares the full key, so a hash collision is a miss. Files are written atomically
// by rename. A file's modification time is the time of its last use; eviction removes the oldest
// files first. Any number of processes and threads may share a directory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tartan::opencl {

// Returns $TARTAN_CACHE_DIR, or else $XDG_CACHE_HOME/tartan, $HOME/.cache/tartan, or an empty
// string.
std::string DefaultCacheDirectory();

class DiskCache {
 public:
  // Stores files in `directory`/kernels, which the first Store creates with mode 0700. A cache with
  // an empty `directory` never hits. `verbose`: the first failure is reported on stderr. Unless
  // `quiet`, folders and entries that another user may have written are reported, too.
  DiskCache(absl::string_view directory, int64_t limit_bytes, bool verbose, bool quiet = false);

  // Returns the payload stored under `key`. A damaged file is deleted and counts as missing.
  std::optional<std::string> Load(absl::string_view key);
  // Returns false if the entry could not be written.
  bool Store(absl::string_view key, absl::string_view payload);
  // Replaces the payload under `key` by change(payload). The update is atomic with respect to other
  // updates of this directory by any process.
  bool Update(absl::string_view key,
              const std::function<std::string(std::optional<std::string>)>& change);
  // Deletes the entry if it exists; used for payloads that turn out to be unusable.
  void Remove(absl::string_view key);

 private:
  std::string PathOf(absl::string_view key) const;
  // Reports the failure according to the options and returns false.
  bool ReportFailure(const absl::Status& failure);
  // Adds to the estimate of stored bytes, and evicts entries if it exceeds the limit.
  void CountStored(int64_t bytes);

  const std::string root_;
  const std::string directory_;  // root_/kernels
  const int64_t limit_bytes_;
  const bool verbose_;
  const bool quiet_;
  std::atomic<bool> reported_failure_{false};
  std::mutex mutex_;
  // Estimate since the last listing, -1 before the first; guarded by mutex_.
  int64_t stored_bytes_ = -1;
  int stores_since_look_ = 0;  // guarded by mutex_
};

// The operations of `tartan cache` on a `directory`. A missing directory is an empty cache. Errors:
// PermissionDenied or Internal if the directory cannot be read or changed, FailedPrecondition if
// another user may write it.
struct CacheContents {
  int64_t entries = 0;
  int64_t bytes = 0;
};
absl::StatusOr<CacheContents> InspectCache(absl::string_view directory);
// Deletes damaged entries and entries of other users, and returns their number. Unreadable entries
// remain; after all entries were checked, the first such error (PermissionDenied or Internal) is
// returned.
absl::StatusOr<int64_t> VerifyCache(absl::string_view directory);
// Deletes entries in LRU order until at most `limit_bytes` remain, and the leftovers of
// interrupted writers and killed processes (scratch_folder.h). Returns the remaining contents.
absl::StatusOr<CacheContents> PruneCache(absl::string_view directory, int64_t limit_bytes);
// Deletes all entries and leftovers, and returns the number of entries.
absl::StatusOr<int64_t> ClearCache(absl::string_view directory);

}  // namespace tartan::opencl
