// SPDX-License-Identifier: Apache-2.0
// The folder in which PoCL keeps compiled programs (its cache). Each process uses a private folder,
// so that PoCL maps only files that Tartan verified or that PoCL wrote in this process. README.md
// has the reasons.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backend_opencl/cache/scratch_folder.h"

namespace tartan::opencl {

// One instance per process, because PoCL reads the environment only once, when its devices are
// first requested. Thread-safe.
class PoclFolder {
 public:
  // Returns the process's instance. It is never destroyed; its files are deleted at exit.
  static PoclFolder& OfProcess();

  // Calls `find`, which requests the devices. Until PoCL has adopted the folder, POCL_CACHE_DIR is
  // set to it during the call. The folder is created in the first safe location (trusted_file.h)
  // of: the caller's $POCL_CACHE_DIR, `cache_directory` (unless empty), $TMPDIR, /tmp, /var/tmp,
  // /dev/shm. The environment is shared by the whole process, so no other thread may read or change
  // it during the first call.
  void FindWith(const std::string& cache_directory, const std::function<void()>& find);

  // Deletes the folder, which exit does otherwise. PoCL can build nothing afterwards.
  void Remove();

  // Returns why PoCL was given no folder, or Ok if it has one.
  absl::Status status() const;
  // Returns why the caller's $POCL_CACHE_DIR was rejected (another user may write it). Later calls
  // return Ok.
  absl::Status TakeRefusal();
  // Returns PoCL's program folder. Empty if PoCL does not use the folder created here because the
  // process used PoCL before Tartan.
  std::string root() const;

  // Held while a program is built, so that new files in the folder belong to that program.
  std::mutex& building() { return building_; }
  // Locks building(), and recreates root() if it was deleted, for example together with a cache.
  // PoCL cannot build without the folder.
  std::unique_lock<std::mutex> LockToBuild();
  // Programs in use, by id; guarded by building().
  struct Program {
    std::string folder;
    int users = 0;
  };
  std::map<std::string, Program>& programs() { return programs_; }

 private:
  PoclFolder() = default;
  void Make(const std::string& cache_directory);

  std::mutex building_;
  std::map<std::string, Program> programs_;
  mutable std::mutex mutex_;
  std::unique_ptr<ScratchFolder> scratch_;  // guarded by mutex_
  absl::Status status_;                     // guarded by mutex_
  absl::Status refusal_;                    // guarded by mutex_
  bool settled_ = false;                    // guarded by mutex_
};

// Returns the folders of programs below `root`, relative to it.
std::vector<std::string> PoclProgramFolders(const std::string& root);

}  // namespace tartan::opencl
