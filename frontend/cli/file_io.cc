// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/file_io.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontend/api/text_file.h"
#include "frontend/data/npy.h"
#include "frontend/onnx/values/tensor_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

absl::Status AtPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace

std::string Extension(absl::string_view path) {
  const size_t slash = path.find_last_of('/');
  if (slash != absl::string_view::npos) path.remove_prefix(slash + 1);
  const size_t dot = path.find_last_of('.');
  return dot == absl::string_view::npos ? "" : absl::AsciiStrToLower(path.substr(dot));
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
