// SPDX-License-Identifier: Apache-2.0
// Stores PoCL's programs in the disk cache. PoCL compiles a kernel at its first launch and writes
// it to its folder (pocl_folder.h). Those files become one cache entry. Before the next process
// builds the program, the entry is verified and its files are written to that process's folder.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/context/opencl_context.h"

namespace tartan::opencl {

// The files of one built program. They exist as long as its kernels may be launched.
class PoclProgram {
 public:
  // `key` names the program in `cache`, which may be null and must outlive this object. `id`
  // identifies the program in PoclFolder::programs(). `kernels` is the number of kernels in the
  // source, `kept` the number of kernels in the entry.
  PoclProgram(DiskCache* cache, std::string key, std::string id, std::string folder, int kernels,
              int kept);
  PoclProgram(const PoclProgram&) = delete;
  // Stores the compiled kernels, and deletes the files if no other object uses them.
  ~PoclProgram();

  // Stores the kernels that PoCL has compiled since the last call, once their number has grown
  // enough. Requires that all launched kernels have finished.
  void KeepCompiled();

 private:
  void Keep();

  DiskCache* const cache_;
  const std::string key_;
  const std::string id_;
  const std::string folder_;
  const int kernels_;  // number of kernels in the program's source
  // Written under PoclFolder::building(). Read without the lock to see whether all kernels are
  // stored.
  std::atomic<int> kept_;
};

struct PoclBuild {
  ProgramHandle program;
  std::unique_ptr<PoclProgram> files;  // null if PoCL does not use Tartan's folder
  bool from_cache = false;
  bool has_all_kernels = false;  // the entry contained all compiled kernels
};

// True if the entry contains `kernels` or more compiled kernels and PoCL can use it.
bool HoldsKernels(const std::string& entry, int kernels);

// Builds `source`, which has `kernels` kernels, from the files of the entry `key` if there is one.
// `cache` may be null, but `key` is always required.
absl::StatusOr<PoclBuild> BuildOnPocl(const OpenClContext& device, absl::string_view source,
                                      const std::string& options, int kernels, DiskCache* cache,
                                      const std::string& key);

}  // namespace tartan::opencl
