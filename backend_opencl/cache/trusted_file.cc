// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/cache/trusted_file.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

// Bytes reserved for an entry of the user database. User and group names are looked up only for
// messages and private groups, because the database may be remote.
constexpr size_t kNameBytes = 16 << 10;

struct User {
  std::string name;
  gid_t group = 0;
};

std::optional<User> FindUser(uid_t id) {
  std::vector<char> buffer(kNameBytes);
  struct passwd entry;
  struct passwd* found = nullptr;
  if (getpwuid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::nullopt;
  }
  return User{entry.pw_name, entry.pw_gid};
}

std::string NameOf(uid_t id) {
  const std::optional<User> user = FindUser(id);
  return user.has_value() ? absl::StrCat(user->name, " (uid ", id, ")") : absl::StrCat("uid ", id);
}

// True for the user's primary group if it has the user's name and no other members. A umask of 002
// makes the user's files writable for this group.
bool IsPrivateGroup(gid_t id) {
  const std::optional<User> user = FindUser(geteuid());
  if (!user.has_value() || user->group != id) return false;
  std::vector<char> buffer(kNameBytes);
  struct group entry;
  struct group* found = nullptr;
  if (getgrgid_r(id, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return false;
  }
  if (user->name != entry.gr_name) return false;
  for (char** member = entry.gr_mem; *member != nullptr; ++member) {
    if (user->name != *member) return false;
  }
  return true;
}

// True if users other than the owner may write the file or folder. A sticky folder protects the
// files in it.
bool OthersMayWrite(const struct stat& info, Sharing sharing) {
  const bool is_sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if (sharing == Sharing::kSticky && is_sticky) return false;
  if ((info.st_mode & S_IWOTH) != 0) return true;
  return (info.st_mode & S_IWGRP) != 0 && !IsPrivateGroup(info.st_gid);
}

// True for the owner that represents unmapped users (usually the machine's root) in a user
// namespace.
bool IsUnknownOwner(uid_t owner) {
  uint64_t first = 0, outside = 0, count = 0;
  std::ifstream map("/proc/self/uid_map");
  if (!(map >> first >> outside >> count) || count >= UINT32_MAX) return false;
  uid_t unknown = 0;
  std::ifstream overflow("/proc/sys/kernel/overflowuid");
  return (overflow >> unknown) && owner == unknown;
}

absl::Status CheckMode(const std::string& path, const struct stat& info, Sharing sharing) {
  if (!OthersMayWrite(info, sharing)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "other users may write %s (mode %04o): remove that right with chmod -R go-w %s", path,
      info.st_mode & 07777, path));
}

absl::Status CheckFolderAbove(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  const absl::Status trusted = CheckTrusted(path, info, Sharing::kSticky);
  if (trusted.ok() || !IsUnknownOwner(info.st_uid)) return trusted;
  return CheckMode(path, info, Sharing::kSticky);
}

}  // namespace

absl::Status CheckTrusted(const std::string& path, const struct stat& info, Sharing sharing) {
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " belongs to ", NameOf(info.st_uid), ", but this process runs as ",
                     NameOf(geteuid()), ": delete it, or use a folder of your own"));
  }
  return CheckMode(path, info, sharing);
}

absl::StatusOr<std::string> CheckPathTrusted(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);
  if (real == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  const std::string resolved = real;
  std::free(real);
  TARTAN_RETURN_IF_ERROR(CheckFolderAbove("/"));
  for (std::string part = resolved; part.size() > 1; part.resize(part.rfind('/'))) {
    TARTAN_RETURN_IF_ERROR(CheckFolderAbove(part));
  }
  return resolved;
}

}  // namespace tartan::opencl
