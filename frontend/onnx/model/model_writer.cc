// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/model_writer.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/model_reader.h"
#include "frontend/onnx/model/nesting.h"
#include "frontend/onnx/values/external_data.h"
#include "frontend/onnx/values/tensor_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/base/write_file.h"

namespace tartan::onnx {
namespace {

// Alignment of tensors in a data file, in bytes: the page size.
constexpr size_t kAlignment = 4096;
constexpr size_t kLargeTensor = 4096;  // bytes of raw data from which a tensor becomes external

std::string FileName(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

absl::string_view AsText(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Writer {
 public:
  Writer(const ModelFile& from, const std::map<std::string, HostTensor>& values)
      : from_(from), values_(values), external_(from.folder), proto_(NewModelProto()) {
    *proto_ = *from.proto;
  }

  absl::Status Write(const std::string& to) {
    data_name_ = absl::StrCat(FileName(to), ".data");
    for (TensorProto& tensor : *proto_->mutable_graph()->mutable_initializer()) {
      TARTAN_RETURN_IF_ERROR(SetInitializer(&tensor));
    }
    for (const auto& [name, value] : values_) {
      if (set_.count(name) > 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(from_.name, ": there is no initialiser '", name, "'"));
    }
    TARTAN_RETURN_IF_ERROR(MoveData(proto_->mutable_graph()));
    if (!pieces_.empty()) MoveLarge();
    std::string bytes;
    if (!proto_->SerializeToString(&bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(to, ": a model file can have at most 2 GiB"));
    }
    if (!pieces_.empty()) TARTAN_RETURN_IF_ERROR(WriteFile(absl::StrCat(to, ".data"), pieces_));
    return WriteFile(to, bytes);
  }

 private:
  static bool IsExternal(const TensorProto& tensor) {
    return tensor.data_location() == TensorProto::EXTERNAL;
  }

  absl::Status SetInitializer(TensorProto* tensor) {
    const auto value = values_.find(tensor->name());
    if (value == values_.end()) return absl::OkStatus();
    set_.insert(tensor->name());
    TensorProto made;
    ToTensorProto(value->second, &made);
    const std::vector<int64_t> dims(tensor->dims().begin(), tensor->dims().end());
    if (made.data_type() != tensor->data_type() || value->second.shape().dims != dims) {
      return absl::InvalidArgumentError(absl::StrCat(from_.name, ": the value of '", tensor->name(),
                                                     "' is ", value->second.shape().ToString(),
                                                     ", which does not match the initialiser"));
    }
    if (IsExternal(*tensor)) {
      Append(value->second.bytes(), tensor);
      return absl::OkStatus();
    }
    made.set_name(tensor->name());
    made.set_doc_string(tensor->doc_string());
    *tensor = std::move(made);
    return absl::OkStatus();
  }

  // Appends the bytes to the data file and records their place in the tensor.
  void Append(absl::Span<const uint8_t> bytes, TensorProto* tensor) {
    const size_t padding = (kAlignment - size_ % kAlignment) % kAlignment;
    static const auto& zeros = *new std::string(kAlignment, '\0');
    pieces_.push_back(absl::string_view(zeros).substr(0, padding));
    pieces_.push_back(AsText(bytes));
    tensor->clear_external_data();
    const auto add = [&](const char* key, const std::string& value) {
      StringStringEntryProto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", data_name_);
    add("offset", absl::StrCat(size_ + padding));
    add("length", absl::StrCat(bytes.size()));
    size_ += padding + bytes.size();
    moved_.insert(tensor);
  }

  // Copies the external data of this graph and its nested graphs.
  absl::Status MoveData(GraphProto* graph) {
    for (TensorProto& tensor : *graph->mutable_initializer()) {
      TARTAN_RETURN_IF_ERROR(MoveData(&tensor));
    }
    for (NodeProto& node : *graph->mutable_node()) {
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) TARTAN_RETURN_IF_ERROR(MoveData(attribute.mutable_t()));
        if (attribute.has_g()) TARTAN_RETURN_IF_ERROR(MoveData(attribute.mutable_g()));
        for (GraphProto& nested : *attribute.mutable_graphs()) {
          TARTAN_RETURN_IF_ERROR(MoveData(&nested));
        }
      }
    }
    return absl::OkStatus();
  }

  // Moves large initialisers of the model file into the data file.
  void MoveLarge() {
    for (TensorProto& tensor : *proto_->mutable_graph()->mutable_initializer()) {
      if (IsExternal(tensor) || tensor.raw_data().size() < kLargeTensor) continue;
      const auto bytes = std::make_shared<const std::string>(std::move(*tensor.mutable_raw_data()));
      tensor.clear_raw_data();
      tensor.set_data_location(TensorProto::EXTERNAL);
      texts_.push_back(bytes);
      Append({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}, &tensor);
    }
  }

  absl::Status MoveData(TensorProto* tensor) {
    if (!IsExternal(*tensor) || moved_.count(tensor) > 0) return absl::OkStatus();
    TARTAN_ASSIGN_OR_RETURN(const HostTensor value, ToHostTensor(*tensor, {proto_, &external_}));
    owners_.push_back(value);
    Append(value.bytes(), tensor);
    return absl::OkStatus();
  }

  const ModelFile& from_;
  const std::map<std::string, HostTensor>& values_;
  ExternalData external_;
  const std::shared_ptr<ModelProto> proto_;
  std::string data_name_;
  std::set<std::string> set_;
  std::set<const TensorProto*> moved_;
  std::vector<HostTensor> owners_;  // keep the data of `pieces_` alive
  std::vector<std::shared_ptr<const std::string>> texts_;
  std::vector<absl::string_view> pieces_;
  size_t size_ = 0;
};

}  // namespace

absl::Status WriteModel(const ModelFile& model, const std::string& to) {
  return CatchOutOfMemory([&] { return Writer(model, {}).Write(to); });
}

absl::Status WriteModel(const std::string& from, const std::string& to,
                        const std::map<std::string, HostTensor>& values) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TARTAN_ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(from));
    return Writer(file, values).Write(to);
  });
}

}  // namespace tartan::onnx
