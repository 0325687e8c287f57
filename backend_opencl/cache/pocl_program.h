// SPDX-License-Identifier: Apache-2.0
// Programs of PoCL through the disk cache. PoCL compiles a kernel when it is first executed and
// keeps it in its folder (pocl_folder.h); from there the files are kept as one entry of the disk
// cache, and put there again, verified, before the next process builds the program.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/opencl_context.h"

namespace tartan::opencl {

// The files of one built program, as long as something may execute its kernels.
class PoclProgram {
 public:
  // `key` is that of the program in `cache`, which may be null and must outlive this object. `id`
  // is what the program was announced by to PoCL, `kept` the number of kernels that the entry
  // holds.
  PoclProgram(DiskCache* cache, std::string key, std::string id, std::string folder, int kernels,
              int kept);
  PoclProgram(const PoclProgram&) = delete;
  // Keeps what has been compiled, and deletes the files if no other object has them in use.
  ~PoclProgram();

  // Keeps what PoCL has compiled since the last time, unless it is much less than what has been
  // kept. All kernels launched so far must have run.
  void KeepCompiled();

 private:
  void Keep();

  DiskCache* const cache_;
  const std::string key_;
  const std::string id_;
  const std::string folder_;
  const int kernels_;  // of the program's source
  // Written under PoclFolder::building(); read without it where all kernels are kept.
  std::atomic<int> kept_;
};

struct PoclBuild {
  ProgramHandle program;
  std::unique_ptr<PoclProgram> files;  // null where PoCL does not use Tartan's folder
  bool from_cache = false;
  bool has_all_kernels = false;  // from there
};

// Whether an entry holds as many compiled kernels, and PoCL would take them.
bool HoldsKernels(const std::string& entry, int kernels);

// Builds `source` with `kernels` kernels, from files of the entry `key` of `cache` if there are
// any. `cache` may be null; the key must then be one all the same.
absl::StatusOr<PoclBuild> BuildOnPocl(const OpenClContext& device, absl::string_view source,
                                      const std::string& options, int kernels, DiskCache* cache,
                                      const std::string& key);

}  // namespace tartan::opencl
