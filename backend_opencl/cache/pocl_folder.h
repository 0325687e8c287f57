// SPDX-License-Identifier: Apache-2.0
// The folder in which PoCL keeps compiled programs, its "cache": a private one of this process, so
// that PoCL never maps a file that Tartan has not verified or seen PoCL write. README.md tells why.
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

// PoCL reads the environment once, when its devices are first asked for: there is one folder for
// the whole process. All functions may be called by several threads at once.
class PoclFolder {
 public:
  // That of the process. It lives as long as the process; its files are deleted at exit.
  static PoclFolder& OfProcess();

  // Calls `find`, which asks for the devices, and until PoCL has taken the folder does so with
  // POCL_CACHE_DIR set to it. The folder is made in the $POCL_CACHE_DIR of the caller, else in
  // `cache_directory` (unless empty), $TMPDIR, /tmp, /var/tmp or /dev/shm, the first that no other
  // user can exchange (trusted_file.h). The environment belongs to the whole process: the first
  // call must not run beside threads that read or change it.
  void FindWith(const std::string& cache_directory, const std::function<void()>& find);

  // Why PoCL was given no folder; Ok where it was.
  absl::Status status() const;
  // Why the caller's $POCL_CACHE_DIR was not taken, where another user may write it. Ok from the
  // second call on.
  absl::Status TakeRefusal();
  // Where PoCL keeps programs; empty where that is not the folder made here: the process had used
  // PoCL before it came to Tartan.
  std::string root() const;

  // Held while a program is built: what appears in the folder meanwhile is that program's.
  std::mutex& building() { return building_; }
  // Takes building(), and makes root() anew where somebody has deleted it, with a cache say:
  // without it PoCL builds nothing.
  std::unique_lock<std::mutex> LockToBuild();
  // The programs in use by their ids; guarded by building().
  struct Program {
    std::string folder;
    int users = 0;
  };
  std::map<std::string, Program>& programs() { return programs_; }

 private:
  PoclFolder() = default;
  void Make(const std::string& cache_directory);
  void Remove();

  std::mutex building_;
  std::map<std::string, Program> programs_;
  mutable std::mutex mutex_;
  std::unique_ptr<ScratchFolder> scratch_;  // guarded by mutex_
  absl::Status status_;                     // guarded by mutex_
  absl::Status refusal_;                    // guarded by mutex_
  bool settled_ = false;                    // guarded by mutex_
};

// The folders of programs below `root`, relative to it.
std::vector<std::string> PoclProgramFolders(const std::string& root);

}  // namespace tartan::opencl
