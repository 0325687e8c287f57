// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/message_damage.h"

#include <limits>
#include <memory>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace tartan::onnx {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

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

// Names and other strings that occur in the messages.
void AppendStrings(const std::vector<Message*>& messages, std::vector<std::string>* strings) {
  for (const Message* message : messages) {
    const Reflection* reflection = message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
      if (field->type() == FieldDescriptor::TYPE_BYTES) continue;
      strings->push_back(field->is_repeated() ? reflection->GetRepeatedString(*message, field, 0)
                                              : reflection->GetString(*message, field));
    }
  }
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

void PutMessage(Message* message, const FieldDescriptor* field, int size, Dice* dice) {
  const Reflection* r = message->GetReflection();
  if (size == 0) {
    Put(
        field->is_repeated(), [&] { r->AddMessage(message, field); },
        [&] { r->MutableMessage(message, field); });
    return;
  }
  const Message& one = r->GetRepeatedMessage(*message, field, dice->BelowInt(size));
  const std::unique_ptr<Message> copy(one.New());
  copy->CopyFrom(one);
  r->AddMessage(message, field)->CopyFrom(*copy);
}

// Prefers fields that are set.
const FieldDescriptor* AnyField(const Message& message, Dice* dice) {
  const auto* descriptor = message.GetDescriptor();
  std::vector<const FieldDescriptor*> set;
  message.GetReflection()->ListFields(message, &set);
  if (!set.empty() && !dice->OneIn(4)) return dice->Among(set);
  if (descriptor->field_count() == 0) return nullptr;
  return descriptor->field(dice->BelowInt(descriptor->field_count()));
}

}  // namespace

int64_t Dice::OddNumber() {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  4,
                                  5,
                                  7,
                                  8,
                                  16,
                                  23,
                                  64,
                                  255,
                                  -2,
                                  -3,
                                  -7,
                                  -128,
                                  11,
                                  12,
                                  13,
                                  14,
                                  100,
                                  1000,
                                  1 << 16,
                                  1 << 20,
                                  1 << 24,
                                  int64_t{1} << 31,
                                  (int64_t{1} << 31) - 1,
                                  -(int64_t{1} << 31),
                                  int64_t{1} << 32,
                                  int64_t{1} << 40,
                                  int64_t{1} << 61,
                                  int64_t{1} << 62,
                                  std::numeric_limits<int64_t>::max() - 1,
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min() + 1,
                                  std::numeric_limits<int64_t>::min()};
  return Among(kNumbers);
}

std::vector<Message*> MessagesIn(Message* root) {
  std::vector<Message*> messages;
  CollectMessages(root, &messages);
  return messages;
}

void DamageField(Message* root, const std::vector<std::string>& strings, Dice* dice) {
  const std::vector<Message*> messages = MessagesIn(root);
  Message* message = dice->Among(messages);
  const FieldDescriptor* field = AnyField(*message, dice);
  if (field == nullptr) return;
  const Reflection* r = message->GetReflection();
  const int size = field->is_repeated() ? r->FieldSize(*message, field) : 0;
  if (size > 0 && dice->OneIn(3)) {
    r->SwapElements(message, field, dice->BelowInt(size), size - 1);
    r->RemoveLast(message, field);
  } else if (size > 1 && dice->OneIn(3)) {
    r->SwapElements(message, field, 0, dice->BelowInt(size));
  } else if (dice->OneIn(8)) {
    r->ClearField(message, field);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    std::vector<std::string> names = {"", "ai.onnx", "x"};
    AppendStrings(messages, &names);
    const std::string name =
        !strings.empty() && dice->OneIn(3) ? dice->Among(strings) : dice->Among(names);
    Put(
        field->is_repeated(), [&] { r->AddString(message, field, name); },
        [&] { r->SetString(message, field, name); });
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    PutMessage(message, field, size, dice);
  } else {
    if (size > 0 && dice->OneIn(2)) r->RemoveLast(message, field);
    PutNumber(message, field, dice->OddNumber());
  }
}

void DamageBytes(std::string* bytes, Dice* dice) {
  if (bytes->empty()) return;
  const size_t place = dice->Below(bytes->size());
  const size_t length = dice->Below(std::min<size_t>(bytes->size() - place, 64) + 1);
  switch (dice->Below(5)) {
    case 0:
      for (size_t flips = dice->Below(16) + 1; flips > 0; --flips) {
        (*bytes)[dice->Below(bytes->size())] ^= static_cast<char>(1 << dice->Below(8));
      }
      break;
    case 1:
      (*bytes)[place] = static_cast<char>(dice->Below(256));
      break;
    case 2:
      bytes->erase(place, length);
      break;
    case 3:
      bytes->insert(place, bytes->substr(place, length));
      break;
    default:
      bytes->resize(place);
  }
}

}  // namespace tartan::onnx
