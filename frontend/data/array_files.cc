// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/array_files.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontend/data/npy.h"
#include "frontend/data/zip_archive.h"
#include "tile/base/mapped_file.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

absl::Status At(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

std::string ArrayName(const ZipMember& member) {
  return std::string(absl::StripSuffix(member.name, ".npy"));
}

absl::Status KeepOnly(absl::string_view array, std::vector<ZipMember>* members) {
  for (const ZipMember& member : *members) {
    if (ArrayName(member) != array) continue;
    *members = {ZipMember(member)};
    return absl::OkStatus();
  }
  const auto quoted = [](std::string* out, const ZipMember& member) {
    absl::StrAppend(out, "\"", Printable(ArrayName(member)), "\"");
  };
  return absl::NotFoundError(
      absl::StrCat("has no array \"", array, "\", but ", absl::StrJoin(*members, ", ", quoted)));
}

absl::StatusOr<HostTensor> ReadArray(const ZipMember& member,
                                     const std::shared_ptr<const MappedFile>& file) {
  const std::string place = absl::StrCat("member \"", Printable(member.name), "\"");
  if (!absl::EndsWith(member.name, ".npy")) {
    return absl::InvalidArgumentError(absl::StrCat(place, " is not a .npy array"));
  }
  TARTAN_ASSIGN_OR_RETURN(SharedBytes unpacked, Unpack(member, file));
  absl::StatusOr<HostTensor> tensor = ParseNpy(unpacked.bytes, std::move(unpacked.owner));
  return tensor.ok() ? tensor : At(place, tensor.status());
}

absl::StatusOr<ArrayFile> ReadArchive(const std::string& path, absl::string_view array,
                                      const std::shared_ptr<const MappedFile>& file) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ReadZip(file->bytes()));
  if (!array.empty()) TARTAN_RETURN_IF_ERROR(KeepOnly(array, &members));
  ArrayFile result;
  for (const ZipMember& member : members) {
    TARTAN_ASSIGN_OR_RETURN(HostTensor tensor, ReadArray(member, file));
    result.arrays.push_back({ArrayName(member), std::move(tensor)});
  }
  result.verify = [path, file, members = std::move(members)] {
    for (const ZipMember& member : members) {
      TARTAN_RETURN_IF_ERROR(At(path, VerifyStored(member)));
    }
    return absl::OkStatus();
  };
  return result;
}

}  // namespace

absl::StatusOr<ArrayFile> OpenNpy(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<HostTensor> tensor = ParseNpy(file->bytes(), file);
  if (!tensor.ok()) return At(path, tensor.status());
  return ArrayFile{{{"x", *std::move(tensor)}}, [] { return absl::OkStatus(); }};
}

absl::StatusOr<ArrayFile> OpenNpz(const std::string& path, absl::string_view array) {
  TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<ArrayFile> result = ReadArchive(path, array, file);
  return result.ok() ? std::move(result) : At(path, result.status());
}

}  // namespace tartan::data
