// SPDX-License-Identifier: Apache-2.0
// Damages protobuf messages of any kind, field by field.
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

// What the fuzzer's choices come from: the same seed gives the same.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}
  size_t Below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  int BelowInt(int count) { return static_cast<int>(Below(static_cast<size_t>(count))); }
  bool OneIn(size_t count) { return Below(count) == 0; }
  // An element of an array or vector that is not empty.
  template <class Choices>
  auto& Among(Choices& choices) {
    return choices[Below(std::size(choices))];
  }
  // Mostly a limit of something: small numbers, sizes, numbers of enumerations, the greatest ones.
  int64_t OddNumber();

 private:
  std::mt19937 random_;
};

// The message and every message in it.
std::vector<google::protobuf::Message*> MessagesIn(google::protobuf::Message* root);

// Changes a field somewhere in the message: a number becomes an odd one, a string another one of
// the message or of `strings`, a part is left out, doubled, exchanged or made.
void DamageField(google::protobuf::Message* root, const std::vector<std::string>& strings,
                 Dice* dice);

// Changes serialised bytes: bits turned over, a piece left out or doubled, the end cut off.
void DamageBytes(std::string* bytes, Dice* dice);

}  // namespace tartan::onnx
