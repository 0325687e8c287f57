// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/model_reader.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/file_kind.h"
#include "frontend/onnx/model/nesting.h"
#include "proto/onnx.pb.h"
#include "tile/base/mapped_file.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr int kMessagesPerGraph = 3;  // node, attribute, graph

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// An error that names the file's actual format if it is known, else `why`.
absl::Status NotAModel(absl::string_view name, absl::Span<const uint8_t> bytes,
                       absl::string_view why) {
  const std::string kind = KindOfFile(bytes);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": not an ONNX model: ", kind.empty() ? why : absl::string_view(kind)));
}

absl::Status CheckVersions(const ModelProto& model, absl::string_view name) {
  if (model.ir_version() > kNewestIrVersion) {
    return absl::UnimplementedError(absl::StrCat(name, ": IR version ", model.ir_version(),
                                                 " is newer than ", kNewestIrVersion,
                                                 ", the newest supported"));
  }
  for (const OperatorSetIdProto& opset : model.opset_import()) {
    const bool is_default = opset.domain().empty() || opset.domain() == "ai.onnx";
    if (opset.version() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": operator set version ", opset.version(), " of domain '", opset.domain(), "'"));
    }
    if (is_default && opset.version() > kNewestOpset) {
      return absl::UnimplementedError(absl::StrCat(name, ": operator set ", opset.version(),
                                                   " is newer than ", kNewestOpset,
                                                   ", the newest supported"));
    }
  }
  return absl::OkStatus();
}

// Protobuf refuses messages nested deeper than 100, which are 32 nested graphs. After a failure,
// this parses again with a larger limit and a larger stack.
absl::StatusOr<bool> Parse(absl::Span<const uint8_t> bytes, ModelProto* model) {
  const int size = static_cast<int>(bytes.size());
  if (model->ParseFromArray(bytes.data(), size)) return true;
  bool is_parsed = false;
  TARTAN_RETURN_IF_ERROR(WithDeepStack(kMaxNestedGraphs, [&] {
    google::protobuf::io::CodedInputStream stream(bytes.data(), size);
    stream.SetRecursionLimit(kMessagesPerGraph * static_cast<int>(kMaxNestedGraphs));
    is_parsed = model->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  }));
  return is_parsed;
}

}  // namespace

absl::StatusOr<ModelFile> ReadModelBytes(absl::Span<const uint8_t> bytes, absl::string_view name) {
  if (bytes.empty()) return NotAModel(name, bytes, "");
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": ", bytes.size(),
                     " bytes, but a protobuf message has at most 2 GiB; save the model with its "
                     "weights as external data"));
  }
  auto model = NewModelProto();
  TARTAN_ASSIGN_OR_RETURN(const bool is_parsed, Parse(bytes, model.get()));
  if (!is_parsed) {
    return NotAModel(name, bytes,
                     absl::StrCat("its bytes are not a valid protobuf message, it is truncated, or "
                                  "its graphs are nested more than ",
                                  kMaxNestedGraphs, " levels deep"));
  }
  if (!model->has_graph()) return NotAModel(name, bytes, "it has no graph, or it is truncated");
  if (model->ir_version() < 1) {
    return NotAModel(name, bytes, absl::StrCat("its IR version is ", model->ir_version()));
  }
  TARTAN_RETURN_IF_ERROR(CheckVersions(*model, name));
  return ModelFile{std::move(model), std::string(name), ""};
}

absl::StatusOr<ModelFile> ReadModelFile(const std::string& path) {
  TARTAN_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  TARTAN_ASSIGN_OR_RETURN(ModelFile model, ReadModelBytes(file->bytes(), path));
  model.folder = FolderOf(path);
  return model;
}

}  // namespace tartan::onnx
