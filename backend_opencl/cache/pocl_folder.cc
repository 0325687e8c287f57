// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/pocl_folder.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/cache/file_io.h"
#include "backend_opencl/cache/trusted_file.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kVariable[] = "POCL_CACHE_DIR";
// PoCL creates the folder. If it cannot, it keeps its programs elsewhere.
constexpr char kRoot[] = "/programs";
// Free bytes that a place for the folder should have: several times the kernels of a large model.
// Empirical.
constexpr int64_t kRoomBytes = int64_t{128} << 20;

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

void SetEnvironment(const char* name, const std::optional<std::string>& value) {
  if (value.has_value()) {
    setenv(name, value->c_str(), 1);
  } else {
    unsetenv(name);
  }
}

std::vector<ScratchPlace> Places(const std::string& cache_directory) {
  std::vector<ScratchPlace> places;
  const std::string of_user = Environment(kVariable).value_or("");
  if (!of_user.empty()) places.push_back({of_user, /*may_be_made=*/true});
  if (!cache_directory.empty()) places.push_back({cache_directory, /*may_be_made=*/true});
  const std::string temporary = Environment("TMPDIR").value_or("");
  if (!temporary.empty()) places.push_back({temporary});
  for (const char* directory : {"/tmp", "/var/tmp", "/dev/shm"}) places.push_back({directory});
  return places;
}

std::vector<fs::path> FoldersIn(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code gone;
    if (it->is_directory(gone)) folders.push_back(it->path());
  }
  return folders;
}

}  // namespace

PoclFolder& PoclFolder::OfProcess() {
  // Never destroyed, because programs may outlive objects that are destroyed at exit.
  static PoclFolder* const folder = [] {
    auto made = new PoclFolder;
    std::atexit([] { OfProcess().Remove(); });
    return made;
  }();
  return *folder;
}

void PoclFolder::Make(const std::string& cache_directory) {
  absl::StatusOr<std::unique_ptr<ScratchFolder>> made =
      ScratchFolder::Make(Places(cache_directory), kRoomBytes);
  const std::string of_user = Environment(kVariable).value_or("");
  const absl::Status trusted =
      of_user.empty() ? absl::OkStatus() : CheckPathTrusted(of_user).status();
  if (absl::IsFailedPrecondition(trusted)) refusal_ = trusted;
  status_ = made.status();
  if (!made.ok()) return;
  scratch_ = *std::move(made);
  WatchFolder(scratch_->path());
}

void PoclFolder::Remove() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (scratch_ != nullptr && scratch_->IsOfThisProcess()) UnwatchFolder();
  scratch_.reset();
}

void PoclFolder::FindWith(const std::string& cache_directory, const std::function<void()>& find) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!settled_) {
      if (scratch_ == nullptr) Make(cache_directory);
      if (scratch_ != nullptr) {
        const std::optional<std::string> before = Environment(kVariable);
        SetEnvironment(kVariable, scratch_->path() + kRoot);
        find();
        // Child processes choose their own folder.
        SetEnvironment(kVariable, before);
        settled_ = fs::exists(scratch_->path() + kRoot);
        return;
      }
    }
  }
  find();
}

absl::Status PoclFolder::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

absl::Status PoclFolder::TakeRefusal() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(refusal_, absl::OkStatus());
}

std::string PoclFolder::root() const {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool is_ours = settled_ && scratch_ != nullptr && scratch_->IsOfThisProcess();
  return is_ours ? scratch_->path() + kRoot : "";
}

std::unique_lock<std::mutex> PoclFolder::LockToBuild() {
  std::unique_lock<std::mutex> lock(building_);
  const std::string folder = root();
  if (!folder.empty()) MakePrivateDirectories(folder);
  return lock;
}

std::vector<std::string> PoclProgramFolders(const std::string& root) {
  std::vector<std::string> folders;
  for (const fs::path& shard : FoldersIn(root)) {
    for (const fs::path& folder : FoldersIn(shard)) {
      folders.push_back((shard.filename() / folder.filename()).string());
    }
  }
  return folders;
}

}  // namespace tartan::opencl
