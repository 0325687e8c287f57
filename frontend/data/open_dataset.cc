// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/open_dataset.h"

#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/data/array_files.h"
#include "tile/base/mapped_file.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

using SharedDataset = std::shared_ptr<const Dataset>;

std::string Extension(absl::string_view path) {
  return absl::AsciiStrToLower(std::filesystem::path(std::string(path)).extension().string());
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Opens "file.npy" or "file.npz:array"; ":array" may be omitted if there is only one.
absl::StatusOr<ArrayFile> OpenArray(const std::string& place) {
  const std::string extension = Extension(place);
  if (extension == ".npy") return OpenNpy(place);
  const size_t colon = place.rfind(':');
  const std::string path = place.substr(0, colon);
  if (Extension(path) != ".npz") {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": is not of the form FILE.npy or FILE.npz:ARRAY"));
  }
  TARTAN_ASSIGN_OR_RETURN(ArrayFile file,
                          OpenNpz(path, colon == std::string::npos ? "" : place.substr(colon + 1)));
  if (file.arrays.size() == 1) return file;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has ", file.arrays.size(), " arrays; name one as ", path, ":",
                   file.arrays.empty() ? "ARRAY" : file.arrays[0].name));
}

// Opens "x=a.npy,y=b.npz:y".
absl::StatusOr<SharedDataset> OpenColumns(const std::string& list) {
  std::vector<NamedTensor> columns;
  std::vector<std::function<absl::Status()>> verifications;
  for (absl::string_view part : absl::StrSplit(list, ',')) {
    const std::pair<std::string, std::string> named = absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (named.first.empty() || named.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(list, ": \"", part, "\" is not of the form COLUMN=FILE"));
    }
    TARTAN_ASSIGN_OR_RETURN(ArrayFile file, OpenArray(named.second));
    columns.push_back({named.first, std::move(file.arrays[0].tensor)});
    verifications.push_back(std::move(file.verify));
  }
  return DatasetOf(list, std::move(columns), [verifications = std::move(verifications)] {
    for (const auto& verify : verifications) TARTAN_RETURN_IF_ERROR(verify());
    return absl::OkStatus();
  });
}

absl::StatusOr<SharedDataset> OpenCsv(const std::string& path, const CsvOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  const absl::Span<const uint8_t> bytes = file->bytes();
  absl::StatusOr<std::vector<NamedTensor>> columns =
      ParseCsv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options);
  if (columns.ok()) return DatasetOf(path, *std::move(columns));
  const absl::Status& status = columns.status();
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<SharedDataset> Open(const std::string& name, const OpenOptions& options) {
  if (!Exists(name) && absl::StrContains(name, '=')) return OpenColumns(name);
  if (IsFolder(name)) return OpenPictureFolder(name, options.pictures);
  const std::string extension = Extension(name);
  if (extension == ".csv") return OpenCsv(name, options.csv);
  if (extension == ".npz" || extension == ".npy") {
    TARTAN_ASSIGN_OR_RETURN(ArrayFile file, extension == ".npz" ? OpenNpz(name) : OpenNpy(name));
    return DatasetOf(name, std::move(file.arrays), std::move(file.verify));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name,
                   ": is not known data: expected an .npz, .npy or .csv file, a folder of "
                   "pictures, or a list as x=FILE.npy,y=FILE.npz:ARRAY"));
}

}  // namespace

absl::StatusOr<SharedDataset> OpenDataset(const std::string& name, const OpenOptions& options) {
  return CatchOutOfMemory([&] { return Open(name, options); });
}

}  // namespace tartan::data
