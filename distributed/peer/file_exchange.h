// SPDX-License-Identifier: Apache-2.0
// Passes open files between the ranks of one host. A file of device memory has no name, so a Unix
// socket carries it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "distributed/host_transport.h"

namespace tartan::distributed {

// Files of all ranks, which are closed with the object.
class RankFiles {
 public:
  explicit RankFiles(size_t ranks) : files_(ranks, -1) {}
  RankFiles(RankFiles&& other) noexcept { files_.swap(other.files_); }
  ~RankFiles();

  int operator[](size_t rank) const { return files_[rank]; }  // -1: none
  void Set(size_t rank, int file);

 private:
  std::vector<int> files_;
};

// Sends `own` to each other rank. Returns files that are open copies of the ranks' files; this
// rank's is -1. All ranks are on one host; else Unavailable. `own` may be -1: then it sends no
// file, and all ranks get Unavailable.
absl::StatusOr<RankFiles> ExchangeFiles(HostTransport& transport, int own);

}  // namespace tartan::distributed
