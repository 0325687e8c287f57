// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/file_io.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/api/text_file.h"
#include "frontend/data/npy.h"
#include "frontend/onnx/model/tensor_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

absl::Status AtPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written: ", std::strerror(error)));
}

// 0 or an errno.
int WriteInPlace(const std::string& path, absl::string_view contents) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  const bool is_whole = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
  const int error = is_whole ? 0 : errno;
  return std::fclose(file) != 0 && is_whole ? errno : error;
}

}  // namespace

std::string Extension(absl::string_view path) {
  const size_t slash = path.find_last_of('/');
  if (slash != absl::string_view::npos) path.remove_prefix(slash + 1);
  const size_t dot = path.find_last_of('.');
  return dot == absl::string_view::npos ? "" : absl::AsciiStrToLower(path.substr(dot));
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  struct stat found;
  const bool is_special = stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode);
  const std::string written = is_special ? path : absl::StrCat(path, ".", getpid(), ".partial");
  int error = WriteInPlace(written, contents);
  if (error == 0 && !is_special && std::rename(written.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return absl::OkStatus();
  if (!is_special) std::remove(written.c_str());
  return CannotWrite(path, error);
}

absl::Status CheckWritable(const std::string& path) {
  struct stat found;
  const bool exists = stat(path.c_str(), &found) == 0;
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int error = 0;
  if (exists && S_ISDIR(found.st_mode)) error = EISDIR;
  if (exists && !S_ISREG(found.st_mode) && error == 0) {
    error = access(path.c_str(), W_OK) == 0 ? 0 : errno;
  } else if (error == 0) {
    error = access(folder.c_str(), W_OK | X_OK) == 0 ? 0 : errno;
  }
  return error == 0 ? absl::OkStatus() : CannotWrite(path, error);
}

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(const std::string text, api::ReadTextFile(path));
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    lines.emplace_back(absl::StripSuffix(line, "\r"));
  }
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool IsTensorExtension(absl::string_view extension) {
  return extension == ".npy" || extension == ".pb";
}

absl::StatusOr<HostTensor> ReadTensor(const std::string& path) {
  if (Extension(path) == ".pb") return onnx::ReadTensorFile(path);
  TARTAN_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  absl::StatusOr<HostTensor> tensor = data::ParseNpy(file->bytes());
  if (!tensor.ok()) return AtPath(path, tensor.status());
  return tensor;
}

absl::Status WriteTensor(const std::string& path, absl::string_view name,
                         const HostTensor& tensor) {
  if (Extension(path) == ".pb") {
    onnx::TensorProto proto;
    onnx::ToTensorProto(tensor, &proto);
    proto.set_name(std::string(name));
    std::string bytes;
    if (!proto.SerializeToString(&bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": a .pb file holds at most 2 GiB; write a .npy file instead"));
    }
    return WriteFile(path, bytes);
  }
  absl::StatusOr<std::string> bytes = data::FormatNpy(tensor);
  if (!bytes.ok()) return AtPath(path, bytes.status());
  return WriteFile(path, *bytes);
}

}  // namespace tartan::cli
