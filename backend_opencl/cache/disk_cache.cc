// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend_opencl/cache/cache_file.h"
#include "backend_opencl/cache/cache_folder.h"
#include "backend_opencl/cache/file_io.h"
#include "backend_opencl/cache/scratch_folder.h"
#include "backend_opencl/cache/trusted_file.h"
#include "tile/base/environment.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kLockFile[] = "update.lock";

// Maximum size of a cache entry in bytes. A larger file is not an entry.
constexpr int64_t kMaxEntryBytes = int64_t{1} << 30;
// A process lists the folder after this number of its own stores, to see what other processes
// stored.
constexpr int kStoresBetweenLooks = 64;
// Fraction of the limit that eviction keeps, so that a full cache does not evict at every store.
constexpr double kKeptByEviction = 0.9;
// A temporary file older than this is a leftover of an interrupted writer.
constexpr std::chrono::hours kAbandonedAfter(1);

struct StoredFile {
  fs::path path;
  int64_t bytes = 0;  // 0 if it is not a file
  fs::file_time_type used = fs::file_time_type::min();
};

struct Listing {
  std::vector<StoredFile> entries;
  std::vector<StoredFile> temporaries;

  int64_t bytes() const {
    int64_t total = 0;
    for (const StoredFile& file : entries) total += file.bytes;
    return total;
  }
};

// True if reading failed because the name is not a cache entry: not a regular file, too large, or a
// dangling link. Other errors leave the entry's contents unknown.
bool IsNoFile(int error) {
  return error == EFBIG || error == ENXIO || error == ELOOP || error == ENOENT;
}

absl::Status FileError(const std::error_code& error, absl::string_view what, const fs::path& path) {
  return CacheFileError(error.value(), what, path.string());
}

// Reads an entry of `folder`, whose path is `directory`. Returns FailedPrecondition if another user
// may have written it, NotFound if it is missing, and DataLoss if it is not a cache entry.
absl::Status ReadEntry(const CacheFolder& folder, absl::string_view directory,
                       const std::string& name, std::string* bytes) {
  struct stat info;
  const std::string path = absl::StrCat(directory, "/", name);
  if (ReadWholeFileIn(folder.descriptor(), name, kMaxEntryBytes, bytes, &info)) {
    return CheckTrusted(path, info, Sharing::kNone);
  }
  const int error = errno;
  if (error == ENOENT) return absl::NotFoundError(path);
  if (IsNoFile(error)) return absl::DataLossError(path);
  return CacheFileError(error, "cannot read the cache entry", path);
}

// A file that vanishes during the listing was deleted by another process.
absl::StatusOr<Listing> List(const std::string& directory) {
  Listing listing;
  if (directory.empty()) return listing;
  std::error_code error;
  fs::directory_iterator it(directory, error);
  if (error == std::errc::no_such_file_or_directory) return listing;
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code gone;
    StoredFile file;
    file.path = it->path();
    const fs::file_status status = it->symlink_status(gone);
    if (!fs::exists(status)) continue;
    const bool is_file = fs::is_regular_file(status);
    if (!gone && is_file) file.bytes = static_cast<int64_t>(it->file_size(gone));
    if (!gone && is_file) file.used = it->last_write_time(gone);
    if (gone) continue;
    const std::string name = file.path.filename().string();
    if (absl::StartsWith(name, kTemporaryPrefix)) {
      listing.temporaries.push_back(std::move(file));
    } else if (absl::EndsWith(name, kCacheFileSuffix) || (name == kLockFile && !is_file)) {
      listing.entries.push_back(std::move(file));
    }
  }
  if (error) return FileError(error, "cannot read the cache directory", directory);
  return listing;
}

// Deletes a directory in an entry's place with its contents.
absl::Status Delete(const StoredFile& file) {
  std::error_code error;
  fs::remove_all(file.path, error);
  return error ? FileError(error, "cannot delete", file.path) : absl::OkStatus();
}

absl::StatusOr<CacheContents> PruneDirectory(const std::string& directory, int64_t limit_bytes) {
  TARTAN_ASSIGN_OR_RETURN(Listing listing, List(directory));
  const auto abandoned = fs::file_time_type::clock::now() - kAbandonedAfter;
  for (const StoredFile& file : listing.temporaries) {
    if (file.used < abandoned) TARTAN_RETURN_IF_ERROR(Delete(file));
  }
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const StoredFile& a, const StoredFile& b) { return a.used < b.used; });
  CacheContents contents;
  contents.entries = static_cast<int64_t>(listing.entries.size());
  contents.bytes = listing.bytes();
  for (const StoredFile& file : listing.entries) {
    if (contents.bytes <= limit_bytes) break;
    TARTAN_RETURN_IF_ERROR(Delete(file));
    contents.bytes -= file.bytes;
    --contents.entries;
  }
  return contents;
}

}  // namespace

std::string DefaultCacheDirectory() {
  if (const std::string own(EnvironmentValue("TARTAN_CACHE_DIR")); !own.empty()) return own;
  if (const std::string xdg(EnvironmentValue("XDG_CACHE_HOME")); !xdg.empty())
    return xdg + "/tartan";
  if (const std::string home(EnvironmentValue("HOME")); !home.empty())
    return home + "/.cache/tartan";
  return "";
}

DiskCache::DiskCache(absl::string_view directory, int64_t limit_bytes, bool verbose, bool quiet)
    : root_(directory),
      directory_(KernelDirectory(directory)),
      limit_bytes_(limit_bytes),
      verbose_(verbose),
      quiet_(quiet) {}

std::string DiskCache::PathOf(absl::string_view key) const {
  return absl::StrCat(directory_, "/", CacheFileName(key));
}

bool DiskCache::ReportFailure(const absl::Status& failure) {
  const bool is_foreign = absl::IsFailedPrecondition(failure);
  const bool is_reported = verbose_ || (is_foreign && !quiet_);
  if (!is_reported || reported_failure_.exchange(true)) return false;
  const std::string message =
      absl::StrCat("tartan: continuing without ", is_foreign ? "an entry of " : "",
                   "the disk cache: ", failure.message());
  std::fprintf(stderr, "%s\n", message.c_str());
  return false;
}

std::optional<std::string> DiskCache::Load(absl::string_view key) {
  if (directory_.empty()) return std::nullopt;
  const auto folder = CacheFolder::Open(root_, CacheFolder::Missing::kStays);
  const std::string name = CacheFileName(key);
  std::string bytes;
  const absl::Status status =
      folder.ok() ? ReadEntry(*folder, directory_, name, &bytes) : folder.status();
  if (absl::IsNotFound(status)) return std::nullopt;
  if (absl::IsDataLoss(status)) {
    Remove(key);
    return std::nullopt;
  }
  if (!status.ok()) {
    ReportFailure(status);
    return std::nullopt;
  }
  std::optional<CacheEntry> entry = DecodeCacheEntry(bytes);
  if (!entry.has_value()) {
    Remove(key);
    return std::nullopt;
  }
  if (entry->key != key) return std::nullopt;
  TouchFile(name, folder->descriptor());  // if this fails, the entry is only evicted too early
  return std::move(entry->payload);
}

bool DiskCache::Store(absl::string_view key, absl::string_view payload) {
  if (directory_.empty()) return false;
  const std::string bytes = EncodeCacheEntry(key, payload);
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (size > limit_bytes_ || size > kMaxEntryBytes) return false;
  const auto folder = CacheFolder::Open(root_, CacheFolder::Missing::kIsMade);
  if (!folder.ok()) return ReportFailure(folder.status());
  if (!WriteFileByRename(std::string(kTemporaryPrefix), CacheFileName(key), bytes,
                         folder->descriptor())) {
    return ReportFailure(CacheFileError(errno, "cannot write", PathOf(key)));
  }
  CountStored(size);
  return true;
}

bool DiskCache::Update(absl::string_view key,
                       const std::function<std::string(std::optional<std::string>)>& change) {
  if (directory_.empty()) return false;
  const auto folder = CacheFolder::Open(root_, CacheFolder::Missing::kIsMade);
  if (!folder.ok()) return ReportFailure(folder.status());
  const FileLock lock(kLockFile, FileLock::Others::kWaitFor, folder->descriptor());
  if (!lock.held()) {
    return ReportFailure(
        CacheFileError(errno, "cannot lock", absl::StrCat(directory_, "/", kLockFile)));
  }
  return Store(key, change(Load(key)));
}

void DiskCache::Remove(absl::string_view key) {
  const auto folder = CacheFolder::Open(root_, CacheFolder::Missing::kStays);
  if (directory_.empty() || !folder.ok()) return;
  std::error_code ignored;
  if (unlinkat(folder->descriptor(), CacheFileName(key).c_str(), 0) != 0 && errno == EISDIR) {
    fs::remove_all(PathOf(key), ignored);
  }
}

void DiskCache::CountStored(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stored_bytes_ < 0 || ++stores_since_look_ >= kStoresBetweenLooks) {
    const absl::StatusOr<Listing> listing = List(directory_);
    if (!listing.ok()) return;
    stored_bytes_ = listing->bytes();
    stores_since_look_ = 0;
  } else {
    stored_bytes_ += bytes;
  }
  if (stored_bytes_ <= limit_bytes_) return;
  const absl::StatusOr<CacheContents> kept =
      PruneDirectory(directory_, static_cast<int64_t>(limit_bytes_ * kKeptByEviction));
  if (kept.ok()) stored_bytes_ = kept->bytes;
}

absl::StatusOr<CacheContents> InspectCache(absl::string_view directory) {
  TARTAN_RETURN_IF_ERROR(CheckCacheFolder(directory));
  TARTAN_ASSIGN_OR_RETURN(const Listing listing, List(KernelDirectory(directory)));
  return CacheContents{static_cast<int64_t>(listing.entries.size()), listing.bytes()};
}

absl::StatusOr<int64_t> VerifyCache(absl::string_view directory) {
  TARTAN_RETURN_IF_ERROR(CheckCacheFolder(directory));
  const std::string kernels = KernelDirectory(directory);
  TARTAN_ASSIGN_OR_RETURN(const Listing listing, List(kernels));
  if (listing.entries.empty()) return 0;
  TARTAN_ASSIGN_OR_RETURN(const CacheFolder folder,
                          CacheFolder::Open(directory, CacheFolder::Missing::kStays));
  int64_t damaged = 0;
  absl::Status unread;  // first error
  for (const StoredFile& file : listing.entries) {
    std::string bytes;
    const absl::Status status = ReadEntry(folder, kernels, file.path.filename().string(), &bytes);
    if (absl::IsNotFound(status)) continue;
    if (!status.ok() && !absl::IsDataLoss(status) && !absl::IsFailedPrecondition(status)) {
      unread.Update(status);
      continue;
    }
    const std::optional<CacheEntry> entry = status.ok() ? DecodeCacheEntry(bytes) : std::nullopt;
    if (entry.has_value() && CacheFileName(entry->key) == file.path.filename()) continue;
    ++damaged;
    TARTAN_RETURN_IF_ERROR(Delete(file));
  }
  TARTAN_RETURN_IF_ERROR(unread);
  return damaged;
}

absl::StatusOr<CacheContents> PruneCache(absl::string_view directory, int64_t limit_bytes) {
  TARTAN_RETURN_IF_ERROR(CheckCacheFolder(directory));
  if (!directory.empty()) RemoveAbandonedFolders(std::string(directory));
  return PruneDirectory(KernelDirectory(directory), limit_bytes);
}

absl::StatusOr<int64_t> ClearCache(absl::string_view directory) {
  TARTAN_RETURN_IF_ERROR(CheckCacheFolder(directory));
  if (!directory.empty()) RemoveAbandonedFolders(std::string(directory));
  TARTAN_ASSIGN_OR_RETURN(const Listing listing, List(KernelDirectory(directory)));
  for (const StoredFile& file : listing.entries) TARTAN_RETURN_IF_ERROR(Delete(file));
  for (const StoredFile& file : listing.temporaries) TARTAN_RETURN_IF_ERROR(Delete(file));
  return static_cast<int64_t>(listing.entries.size());
}

}  // namespace tartan::opencl
