// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/pocl_program.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/cache/cache_file.h"
#include "backend_opencl/cache/file_io.h"
#include "backend_opencl/cache/pocl_folder.h"
#include "backend_opencl/context/build_program.h"
#include "proto/hal.pb.h"

namespace tartan::opencl {
namespace {

namespace fs = std::filesystem;

constexpr char kProgramFile[] = "program.bc";
constexpr char kKernelSuffix[] = ".so";
// PoCL touches this file when it builds from the folder.
constexpr char kUsedFile[] = "/last_accessed";
constexpr int64_t kMaxFileBytes = int64_t{256} << 20;

// Returns the paths of the compiled kernels, relative to the folder. Files that are still being
// written have other names.
std::vector<std::string> CompiledKernels(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (absl::EndsWith(it->path().native(), kKernelSuffix)) {
      paths.push_back(it->path().lexically_relative(folder).string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<std::string> Pack(const std::string& folder, std::vector<std::string> paths) {
  paths.push_back(kProgramFile);
  proto::ProgramFiles packed;
  packed.set_folder(folder);
  for (std::string& path : paths) {
    const std::string from = absl::StrCat(PoclFolder::OfProcess().root(), "/", folder, "/", path);
    proto::ProgramFiles::File* file = packed.add_files();
    file->set_path(std::move(path));
    if (!ReadWholeFile(from, kMaxFileBytes, file->mutable_content())) return std::nullopt;
  }
  return packed.SerializeAsString();
}

bool StaysBelow(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return !normal.empty() && normal.is_relative() && *normal.begin() != ".." && normal != ".";
}

bool Write(const proto::ProgramFiles& packed, const std::string& root) {
  for (const proto::ProgramFiles::File& file : packed.files()) {
    const fs::path to = fs::path(root) / packed.folder() / file.path();
    if (!MakePrivateDirectories(to.parent_path().string()) ||
        !WriteFileByRename(to.string() + "-", to.string(), file.content())) {
      return false;
    }
  }
  return true;
}

void Delete(const std::string& folder) {
  const std::string root = PoclFolder::OfProcess().root();
  std::error_code ignored;
  if (!root.empty()) fs::remove_all(fs::path(root) / folder, ignored);
}

// Returns no value if the bytes were not written by Pack.
std::optional<proto::ProgramFiles> Parse(const std::string& bytes) {
  proto::ProgramFiles packed;
  if (!packed.ParseFromString(bytes) || !StaysBelow(packed.folder())) return std::nullopt;
  for (const proto::ProgramFiles::File& file : packed.files()) {
    if (!StaysBelow(file.path())) return std::nullopt;
  }
  return packed;
}

// Returns the only folder that is not in `before`, or no value if there is not exactly one. A
// failed build also leaves a folder.
std::optional<std::string> NewFolder(const std::string& root, std::vector<std::string> before) {
  std::sort(before.begin(), before.end());
  std::optional<std::string> found;
  for (std::string& folder : PoclProgramFolders(root)) {
    if (std::binary_search(before.begin(), before.end(), folder)) continue;
    if (found.has_value()) return std::nullopt;
    found = std::move(folder);
  }
  return found;
}

// Implements BuildOnPocl; used while building() is held.
class Builder {
 public:
  Builder(const OpenClContext& device, absl::string_view source, std::string options, int kernels,
          DiskCache* cache, const std::string& key)
      : device_(device),
        source_(source),
        id_(CacheFileName(key).substr(0, 32)),
        // Distinguishes programs that differ only in comments, which would share a folder.
        options_(absl::StrCat(options, " -DTARTAN_PROGRAM=0x", id_)),
        kernels_(kernels),
        cache_(cache),
        key_(key),
        root_(PoclFolder::OfProcess().root()) {}

  absl::StatusOr<PoclBuild> Build() {
    const auto& programs = PoclFolder::OfProcess().programs();
    const auto in_use = programs.find(id_);
    if (root_.empty() || in_use != programs.end()) {
      absl::StatusOr<ProgramHandle> program = BuildFromSource(device_, source_, options_);
      if (!program.ok()) return program.status();
      if (root_.empty()) return PoclBuild{*std::move(program), nullptr, false};
      return Result(*std::move(program), in_use->second.folder, /*kept=*/0, cache_ != nullptr);
    }
    if (std::optional<PoclBuild> build = BuildFromCache(); build.has_value()) {
      return *std::move(build);
    }
    const std::vector<std::string> before = PoclProgramFolders(root_);
    absl::StatusOr<ProgramHandle> program = BuildFromSource(device_, source_, options_);
    const std::optional<std::string> folder = NewFolder(root_, before);
    if (program.ok() && folder.has_value()) {
      return Result(*std::move(program), *folder, /*kept=*/-1, /*from_cache=*/false);
    }
    if (folder.has_value()) Delete(*folder);
    if (!program.ok()) return program.status();
    return PoclBuild{*std::move(program), nullptr, false};
  }

 private:
  std::optional<PoclBuild> BuildFromCache() {
    const std::optional<std::string> bytes = cache_ == nullptr ? std::nullopt : cache_->Load(key_);
    if (!bytes.has_value()) return std::nullopt;
    const std::optional<proto::ProgramFiles> packed = Parse(*bytes);
    if (!packed.has_value()) {
      cache_->Remove(key_);
      return std::nullopt;
    }
    // An entry may be sound although unpacking it failed or the build ran short of memory or disk.
    bool is_rejected = false;
    if (Write(*packed, root_)) {
      absl::StatusOr<ProgramHandle> program = BuildFromSource(device_, source_, options_);
      if (program.ok() && fs::exists(absl::StrCat(root_, "/", packed->folder(), kUsedFile))) {
        const int kept = packed->files_size() - 1;
        return Result(*std::move(program), packed->folder(), kept, /*from_cache=*/true);
      }
      is_rejected = program.ok() || !IsShortage(program.status());
    }
    Delete(packed->folder());
    if (is_rejected) cache_->Remove(key_);
    return std::nullopt;
  }

  PoclBuild Result(ProgramHandle program, const std::string& folder, int kept, bool from_cache) {
    PoclFolder::Program& in_use = PoclFolder::OfProcess().programs()[id_];
    in_use.folder = folder;
    ++in_use.users;
    return {std::move(program),
            std::make_unique<PoclProgram>(cache_, key_, id_, folder, kernels_, kept), from_cache,
            from_cache && kept >= kernels_};
  }

  const OpenClContext& device_;
  const absl::string_view source_;
  const std::string id_;
  const std::string options_;
  const int kernels_;
  DiskCache* const cache_;
  const std::string& key_;
  const std::string root_;
};

}  // namespace

PoclProgram::PoclProgram(DiskCache* cache, std::string key, std::string id, std::string folder,
                         int kernels, int kept)
    : cache_(cache),
      key_(std::move(key)),
      id_(std::move(id)),
      folder_(std::move(folder)),
      kernels_(kernels),
      kept_(kept) {}

PoclProgram::~PoclProgram() {
  std::lock_guard<std::mutex> lock(PoclFolder::OfProcess().building());
  Keep();
  auto& programs = PoclFolder::OfProcess().programs();
  if (--programs[id_].users > 0) return;
  Delete(folder_);
  programs.erase(id_);
}

void PoclProgram::KeepCompiled() {
  // After all kernels are stored, further variants appear only for kernels that are launched with
  // very different grid sizes. The destructor stores them.
  if (cache_ == nullptr || kept_ >= kernels_) return;
  std::lock_guard<std::mutex> lock(PoclFolder::OfProcess().building());
  const int compiled = CompiledKernels(fs::path(PoclFolder::OfProcess().root()) / folder_).size();
  if (compiled >= std::min(kernels_, 2 * std::max(kept_.load(), 1))) Keep();
}

void PoclProgram::Keep() {
  const std::string root = PoclFolder::OfProcess().root();
  if (cache_ == nullptr || root.empty() || IsDriverLost()) return;
  std::vector<std::string> paths = CompiledKernels(fs::path(root) / folder_);
  const int compiled = static_cast<int>(paths.size());
  if (compiled <= kept_) return;
  try {
    const std::optional<std::string> packed = Pack(folder_, std::move(paths));
    if (packed.has_value()) cache_->Store(key_, *packed);
  } catch (const std::bad_alloc&) {  // runs in destructors, which must not throw
  }
  kept_ = compiled;
}

bool HoldsKernels(const std::string& entry, int kernels) {
  if (PoclFolder::OfProcess().root().empty()) return false;
  const std::optional<proto::ProgramFiles> packed = Parse(entry);
  return packed.has_value() && packed->files_size() > kernels;
}

absl::StatusOr<PoclBuild> BuildOnPocl(const OpenClContext& device, absl::string_view source,
                                      const std::string& options, int kernels, DiskCache* cache,
                                      const std::string& key) {
  const auto lock = PoclFolder::OfProcess().LockToBuild();
  return Builder(device, source, options, kernels, cache, key).Build();
}

}  // namespace tartan::opencl
