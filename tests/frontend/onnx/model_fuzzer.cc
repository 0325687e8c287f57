#include "tests/frontend/onnx/model_fuzzer.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "frontend/onnx/onnx_model.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/onnx/node_case.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Inputs beyond this are not made.
constexpr int64_t kMaxInputElements = 1 << 16;

void CollectMessages(Message* message, std::vector<Message*>* found) {
  found->push_back(message);
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CollectMessages(reflection->MutableMessage(message, field), found);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      CollectMessages(reflection->MutableRepeatedMessage(message, field, i), found);
    }
  }
}

// Names and other strings that occur in the model.
std::vector<std::string> CollectStrings(const std::vector<Message*>& messages) {
  std::vector<std::string> strings = {"", "ai.onnx", "x"};
  for (const Message* message : messages) {
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      if (field->is_repeated()) {
        strings.push_back(reflection->GetRepeatedString(*message, field, 0));
      } else {
        strings.push_back(reflection->GetString(*message, field));
      }
    }
  }
  return strings;
}

// Adds an element to a repeated field, or sets a single one.
template <class Add, class Set>
void Put(bool is_repeated, Add add, Set set) {
  if (is_repeated) {
    add();
  } else {
    set();
  }
}

void PutNumber(Message* message, const FieldDescriptor* field, int64_t number) {
  const Reflection* r = message->GetReflection();
  const bool many = field->is_repeated();
  const auto narrow = static_cast<int32_t>(number);
  const auto real = static_cast<double>(number);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      Put(
          many, [&] { r->AddInt32(message, field, narrow); },
          [&] { r->SetInt32(message, field, narrow); });
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      Put(
          many, [&] { r->AddInt64(message, field, number); },
          [&] { r->SetInt64(message, field, number); });
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      Put(
          many, [&] { r->AddUInt64(message, field, static_cast<uint64_t>(number)); },
          [&] { r->SetUInt64(message, field, static_cast<uint64_t>(number)); });
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      Put(
          many, [&] { r->AddFloat(message, field, static_cast<float>(real)); },
          [&] { r->SetFloat(message, field, static_cast<float>(real)); });
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      Put(
          many, [&] { r->AddDouble(message, field, real); },
          [&] { r->SetDouble(message, field, real); });
      break;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* type = field->enum_type();
      const int value = type->value(static_cast<int>(static_cast<uint64_t>(number) %
                                                     static_cast<uint64_t>(type->value_count())))
                            ->number();
      Put(
          many, [&] { r->AddEnumValue(message, field, value); },
          [&] { r->SetEnumValue(message, field, value); });
      break;
    }
    default:
      break;
  }
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

// An input of the declared shape; nothing where it would be large.
absl::StatusOr<api::HostValue> MakeInput(const api::TensorSpec& spec) {
  if (spec.may_be_empty) return api::HostValue();
  if (spec.sequence_depth > 0) return api::HostValue::Sequence({});
  if (spec.map_keys) return api::HostValue();
  TensorShape shape{spec.type == DataType::kInvalid ? DataType::kFloat32 : spec.type, spec.dims};
  for (int64_t& dim : shape.dims) dim = dim < 0 ? 2 : dim;
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  if (shape.element_count() > kMaxInputElements) {
    return absl::ResourceExhaustedError("a large input");
  }
  if (spec.element == api::Element::kString) {
    return api::HostStrings(
        shape.dims, std::vector<std::string>(static_cast<size_t>(shape.element_count()), "1"));
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    StoreElement(shape.type, i % 2, i, bytes.data());
  }
  return api::HostValue(HostTensor(shape, bytes), spec.element);
}

}  // namespace

int64_t ModelFuzzer::OddNumber() {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  7,
                                  8,
                                  16,
                                  64,
                                  255,
                                  -2,
                                  -7,
                                  11,
                                  12,
                                  13,
                                  14,
                                  100,
                                  1 << 20,
                                  1 << 24,
                                  int64_t{1} << 31,
                                  (int64_t{1} << 31) - 1,
                                  int64_t{1} << 40,
                                  int64_t{1} << 62,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  return kNumbers[Below(std::size(kNumbers))];
}

void ModelFuzzer::ChangeField(Message* message, const std::vector<std::string>& names) {
  const Reflection* r = message->GetReflection();
  const auto* descriptor = message->GetDescriptor();
  if (descriptor->field_count() == 0) return;
  std::vector<const FieldDescriptor*> set;
  r->ListFields(*message, &set);
  const bool takes_set = !set.empty() && !OneIn(4);
  const FieldDescriptor* field =
      takes_set ? set[Below(set.size())]
                : descriptor->field(
                      static_cast<int>(Below(static_cast<size_t>(descriptor->field_count()))));
  const int size = field->is_repeated() ? r->FieldSize(*message, field) : 0;
  if (size > 0 && OneIn(3)) {
    r->RemoveLast(message, field);
  } else if (size > 1 && OneIn(3)) {
    r->SwapElements(message, field, 0, static_cast<int>(Below(static_cast<size_t>(size))));
  } else if (OneIn(8)) {
    r->ClearField(message, field);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    const std::string& name = names[Below(names.size())];
    Put(
        field->is_repeated(), [&] { r->AddString(message, field, name); },
        [&] { r->SetString(message, field, name); });
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (size > 0) {  // the same once more
      const Message& first = r->GetRepeatedMessage(
          *message, field, static_cast<int>(Below(static_cast<size_t>(size))));
      std::unique_ptr<Message> copy(first.New());
      copy->CopyFrom(first);
      r->AddMessage(message, field)->CopyFrom(*copy);
    } else {
      Put(
          field->is_repeated(), [&] { r->AddMessage(message, field); },
          [&] { r->MutableMessage(message, field); });
    }
  } else if (size > 0 && OneIn(2)) {
    r->RemoveLast(message, field);
    PutNumber(message, field, OddNumber());
  } else {
    PutNumber(message, field, OddNumber());
  }
}

void ModelFuzzer::Change(Message* root) {
  std::vector<Message*> messages;
  CollectMessages(root, &messages);
  const std::vector<std::string> names = CollectStrings(messages);
  ChangeField(messages[Below(messages.size())], names);
}

std::string ModelFuzzer::Next() {
  ModelProto model;
  model.ParseFromString(corpus_[Below(corpus_.size())]);
  const size_t changes = 1 + Below(4);
  for (size_t i = 0; i < changes; ++i) Change(&model);
  std::string bytes = model.SerializeAsString();
  if (OneIn(16) && !bytes.empty()) bytes[Below(bytes.size())] = static_cast<char>(Below(256));
  if (OneIn(32)) bytes.resize(Below(bytes.size() + 1));
  return bytes;
}

absl::Status LoadAndBind(const std::string& bytes) {
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  std::vector<api::HostValue> values;
  for (const api::TensorSpec& spec : model->inputs()) {
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), MakeInput(spec));
  }
  std::vector<api::InputBinding> bindings(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const api::TensorSpec& spec = model->inputs()[i];
    bindings[i].shape = values[i].tensor().shape();
    if (!spec.is_tensor() || spec.element != api::Element::kPlain) bindings[i].value = &values[i];
  }
  while (true) {
    TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model->Bind(bindings));
    if (bound.needed_values.empty()) return absl::OkStatus();
    for (int input : bound.needed_values) {
      const size_t i = static_cast<size_t>(input);
      if (bindings[i].value != nullptr) return absl::InternalError("a value is asked for again");
      bindings[i].value = &values[i];
    }
  }
}

std::vector<std::string> ReadSmallModels(size_t max_bytes) {
  std::vector<std::string> models;
  for (const char* group : {"node", "simple", "pytorch-operator"}) {
    for (const std::string& folder : ListCases(group)) {
      std::string bytes = ReadFile(std::filesystem::path(folder) / "model.onnx");
      if (bytes.size() <= max_bytes) models.push_back(std::move(bytes));
    }
  }
  return models;
}

}  // namespace tartan::onnx
