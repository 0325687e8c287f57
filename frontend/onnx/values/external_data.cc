// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/values/external_data.h"

#include <climits>
#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

std::optional<std::string> RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return std::nullopt;
  std::string result = resolved;
  std::free(resolved);
  return result;
}

struct Place {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

absl::StatusOr<Place> ParsePlace(const TensorProto& tensor) {
  Place place;
  for (const StringStringEntryProto& entry : tensor.external_data()) {
    uint64_t number = 0;
    if (entry.key() == "location") {
      place.location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!absl::SimpleAtoi(entry.value(), &number)) {
        return absl::InvalidArgumentError(absl::StrCat("external data has ", entry.key(), " '",
                                                       entry.value(), "', expected a number"));
      }
      if (entry.key() == "offset") {
        place.offset = number;
      } else {
        place.length = number;
      }
    }
  }
  if (place.location.empty()) {
    return absl::InvalidArgumentError("external data without a location");
  }
  return place;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> ExternalData::File(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  if (folder_.empty()) {
    return absl::InvalidArgumentError("a model in memory has no folder for external data");
  }
  bool leaves_folder = absl::StartsWith(location, "/") || absl::StrContains(location, '\0');
  for (absl::string_view part : absl::StrSplit(location, '/')) leaves_folder |= part == "..";
  if (leaves_folder) {
    return absl::InvalidArgumentError("the location must be a path inside the model's folder");
  }
  const std::string path = absl::StrCat(folder_, "/", location);
  const std::optional<std::string> root = RealPath(folder_);
  const std::optional<std::string> real = RealPath(path);
  if (!root || !real) return absl::NotFoundError(absl::StrCat("there is no file ", path));
  if (*root != "/" && !absl::StartsWith(*real, absl::StrCat(*root, "/"))) {
    return absl::InvalidArgumentError(
        absl::StrCat("it links to ", *real, ", which is outside the model's folder"));
  }
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(*real));
  files_[location] = file;
  return file;
}

absl::StatusOr<ExternalData::Bytes> ExternalData::Read(const TensorProto& tensor, int64_t size) {
  TARTAN_ASSIGN_OR_RETURN(const Place place, ParsePlace(tensor));
  const auto fail = [&](absl::StatusCode code, absl::string_view why) {
    return absl::Status(code, absl::StrCat("external data in '", place.location, "': ", why));
  };
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = File(place.location);
  if (!file.ok()) return fail(file.status().code(), file.status().message());
  const uint64_t available = (*file)->bytes().size();
  const uint64_t wanted = static_cast<uint64_t>(size);
  if (place.length && *place.length != wanted) {
    return fail(absl::StatusCode::kInvalidArgument,
                absl::StrCat("length ", *place.length, ", but the tensor has ", wanted, " bytes"));
  }
  if (place.offset > available || wanted > available - place.offset) {
    return fail(absl::StatusCode::kInvalidArgument,
                absl::StrCat("the file has ", available, " bytes, but ", wanted, " at offset ",
                             place.offset, " are needed"));
  }
  return Bytes{(*file)->bytes().subspan(place.offset, wanted), *file};
}

}  // namespace tartan::onnx
