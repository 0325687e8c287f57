// SPDX-License-Identifier: Apache-2.0
// Damages protobuf messages of any type, field by field.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace tartan::onnx {

// The random generator of the fuzzers; a seed determines the sequence.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  size_t Below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  int BelowInt(int count) { return static_cast<int>(Below(static_cast<size_t>(count))); }
  bool OneIn(size_t count) { return Below(count) == 0; }
  // A random element of a non-empty array or vector.
  template <class Choices>
  auto& Among(Choices& choices) {
    return choices[Below(std::size(choices))];
  }
  // A random integer, usually a boundary value: a small number, a size, an enumeration value or a
  // limit of an integer type.
  int64_t OddNumber();

 private:
  std::mt19937 random_;
};

// The message and all messages nested in it.
std::vector<google::protobuf::Message*> MessagesIn(google::protobuf::Message* root);

// Changes one random field in the message or in a nested one. It changes a number or a string
// (`strings` adds candidates), or removes, duplicates, exchanges or adds an element.
void DamageField(google::protobuf::Message* root, const std::vector<std::string>& strings,
                 Dice* dice);

// Damages serialised bytes: flips bits, removes or duplicates a piece, or cuts off the end.
void DamageBytes(std::string* bytes, Dice* dice);

}  // namespace tartan::onnx
