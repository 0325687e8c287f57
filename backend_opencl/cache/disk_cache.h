// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk: a bounded set of files, each a key and the payload stored under it.
// What is loaded has been verified: drivers may crash on a damaged binary. A cache that cannot be
// read or written is no error, only a cache that never hits.
//
// One file per entry, named by the XXH3-128 of its key: magic, sizes, checksum, key, payload. The
// full key is compared, so that a collision is a miss. Files appear by rename, whole or not at
// all; a file's modification time is that of its last use, the oldest are evicted first. Any
// number of processes and threads may use one directory.
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

// $TARTAN_CACHE_DIR, else $XDG_CACHE_HOME/tartan, else $HOME/.cache/tartan, else empty.
std::string DefaultCacheDirectory();

class DiskCache {
 public:
  // Keeps its files in `directory`/kernels, made with mode 0700 at the first Store; an empty
  // `directory` is a cache that never hits. `verbose`: the first failure is told on stderr. A
  // folder or entry that another user may have written is told unless `quiet`.
  DiskCache(absl::string_view directory, int64_t limit_bytes, bool verbose, bool quiet = false);

  // The payload stored under `key`. A damaged file is deleted and not found.
  std::optional<std::string> Load(absl::string_view key);
  // False where it could not be written.
  bool Store(absl::string_view key, absl::string_view payload);
  // Stores what `change` makes of the payload under `key`. No other Update of this directory, in
  // this process or another, comes between.
  bool Update(absl::string_view key,
              const std::function<std::string(std::optional<std::string>)>& change);
  // Deletes the entry, if it is there (its payload turned out to be unusable).
  void Remove(absl::string_view key);

 private:
  std::string PathOf(absl::string_view key) const;
  // Returns false.
  bool TellFailure(const absl::Status& failure);
  // Adds to the estimate of what is stored and evicts when it exceeds the limit.
  void CountStored(int64_t bytes);

  const std::string root_;
  const std::string directory_;  // root_/kernels
  const int64_t limit_bytes_;
  const bool verbose_;
  const bool quiet_;
  std::atomic<bool> told_failure_{false};
  std::mutex mutex_;
  int64_t stored_bytes_ = -1;  // guarded by mutex_; as of the last look, -1 before the first
  int stores_since_look_ = 0;  // guarded by mutex_
};

// What `tartan cache` does, on the same `directory`. A directory that does not exist is an empty
// cache; PermissionDenied or Internal where it cannot be read or changed, FailedPrecondition where
// another user may write it.
struct CacheContents {
  int64_t entries = 0;
  int64_t bytes = 0;
};
absl::StatusOr<CacheContents> InspectCache(absl::string_view directory);
// Deletes damaged entries and those of other users, and returns how many there were. An entry that
// cannot be read stays; PermissionDenied or Internal tells the first such, after all have been
// looked at.
absl::StatusOr<int64_t> VerifyCache(absl::string_view directory);
// Deletes the least recently used entries until at most `limit_bytes` remain, and what interrupted
// writers and killed processes left (scratch_folder.h); returns what remains.
absl::StatusOr<CacheContents> PruneCache(absl::string_view directory, int64_t limit_bytes);
// The same with every entry; returns how many there were.
absl::StatusOr<int64_t> ClearCache(absl::string_view directory);

}  // namespace tartan::opencl
