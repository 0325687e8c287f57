// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checked_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status OutOfRange(const Check& check, const Bounds& bounds, int64_t value) {
  std::string text;
  if (!check.node.empty()) text = absl::StrCat(check.node, ": ");
  absl::StrAppend(&text, check.noun, " ", value, " is out of range [", bounds.least, ", ",
                  bounds.greatest, "]");
  if (!bounds.place.empty()) absl::StrAppend(&text, " of ", bounds.place);
  if (check.exempt.has_value()) absl::StrAppend(&text, " and is not ", *check.exempt);
  return absl::OutOfRangeError(text);
}

bool IsFine(const Check& check, const Bounds& bounds, int64_t value) {
  return (value >= bounds.least && value <= bounds.greatest) || value == check.exempt;
}

// Elements per decision. It is a constant so that the compiler vectorises the loop over them.
constexpr size_t kBlock = 256;

// The bounds of each element in a number of blocks that together make whole rows.
template <class Word>
struct BoundsOfBlocks {
  explicit BoundsOfBlocks(const std::vector<Bounds>& bounds) : blocks(bounds.size()) {
    for (size_t i = 0; i < blocks * kBlock; ++i) {
      least.push_back(static_cast<Word>(bounds[i % bounds.size()].least));
      greatest.push_back(static_cast<Word>(bounds[i % bounds.size()].greatest));
    }
  }
  size_t blocks;
  std::vector<Word> least;
  std::vector<Word> greatest;
};

// Returns true if all elements of a block, converted to Word, are within their bounds or exempt.
template <class T, class Word>
bool IsBlockFine(const uint8_t* elements, const Word* least, const Word* greatest, Word exempt) {
  // For a value outside, one of the differences is negative: its top bit is set. The bounds include
  // 0, so a difference that wraps is outside, too. The subtraction vectorises even on processors
  // without 64-bit vector comparisons.
  Word outside = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    T element;
    std::memcpy(&element, elements + i * sizeof(T), sizeof(T));
    const auto value = static_cast<Word>(static_cast<std::make_signed_t<Word>>(element));
    // If it is not 0, the top bit of it or of its negative is set.
    const Word other = value ^ exempt;
    outside |= ((value - least[i]) | (greatest[i] - value)) & (other | (0 - other));
  }
  return outside >> (8 * sizeof(Word) - 1) == 0;
}

template <class T, class Word>
int64_t CountFineIn(const Check& check, absl::Span<const uint8_t> bytes) {
  const size_t blocks = bytes.size() / sizeof(T) / kBlock;
  if (blocks == 0) return 0;
  const BoundsOfBlocks<Word> bounds(check.bounds);
  const auto exempt = static_cast<Word>(check.exempt.value_or(0));  // 0 is within all bounds
  size_t block = 0;
  for (; block < blocks; ++block) {
    const size_t at = block % bounds.blocks * kBlock;
    const uint8_t* const elements = bytes.data() + block * kBlock * sizeof(T);
    if (!IsBlockFine<T>(elements, &bounds.least[at], &bounds.greatest[at], exempt)) break;
  }
  return static_cast<int64_t>(block * kBlock);
}

bool IsInt32(int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; }

// Returns true if bounds, and differences from them that do not wrap, fit into 32 bits.
bool HasShortBounds(const Check& check) {
  if (!IsInt32(check.exempt.value_or(0))) return false;
  return std::all_of(check.bounds.begin(), check.bounds.end(), [](const Bounds& bounds) {
    return IsInt32(bounds.least) && IsInt32(bounds.greatest) &&
           IsInt32(bounds.greatest - bounds.least);
  });
}

// Counts the elements at the front that are in range, in whole blocks. Works at the speed of
// memory: converting 32-bit elements to 64 bits would take twice as long.
template <class T>
int64_t CountFine(const Check& check, absl::Span<const uint8_t> bytes) {
  if constexpr (std::numeric_limits<T>::max() <= INT32_MAX) {
    if (HasShortBounds(check)) return CountFineIn<T, uint32_t>(check, bytes);
  }
  return CountFineIn<T, uint64_t>(check, bytes);
}

int64_t CountFine(const Check& check, const HostTensor& values) {
  switch (values.type()) {
    case DataType::kInt8:
      return CountFine<int8_t>(check, values.bytes());
    case DataType::kInt16:
      return CountFine<int16_t>(check, values.bytes());
    case DataType::kInt32:
      return CountFine<int32_t>(check, values.bytes());
    case DataType::kInt64:
      return CountFine<int64_t>(check, values.bytes());
    case DataType::kUInt8:
      return CountFine<uint8_t>(check, values.bytes());
    case DataType::kUInt16:
      return CountFine<uint16_t>(check, values.bytes());
    case DataType::kUInt32:
      return CountFine<uint32_t>(check, values.bytes());
    default:
      return 0;
  }
}

// StatusOf encodes an element out of range as (value << 1) ^ (value >> 63). The code is never 0,
// since 0 is in range, and grows with the distance from 0.
int64_t Decode(uint64_t code) {
  return static_cast<int64_t>(code >> 1) ^ -static_cast<int64_t>(code & 1);
}

}  // namespace

absl::Status CheckValues(const Check& check, const HostTensor& values) {
  const size_t count = check.bounds.size();
  for (int64_t i = CountFine(check, values); i < values.element_count(); ++i) {
    const Bounds& bounds = check.bounds[static_cast<size_t>(i) % count];
    const int64_t value = values.GetInt(i);
    if (!IsFine(check, bounds, value)) return OutOfRange(check, bounds, value);
  }
  return absl::OkStatus();
}

absl::Status CheckIfKnown(const Check& check, const Tensor& values) {
  if (values.shape().element_count() == 0) return absl::OkStatus();
  for (const Bounds& bounds : check.bounds) {
    if (bounds.least > bounds.greatest) return OutOfRange(check, bounds, 0);
  }
  const std::optional<HostTensor> known = KnownValue(values);
  return known.has_value() ? CheckValues(check, *known) : absl::OkStatus();
}

std::vector<CheckedTensor> ChecksOf(absl::Span<const Tensor> tensors) {
  std::vector<CheckedTensor> found;
  std::unordered_set<const TensorNode*> seen;
  std::vector<Tensor> stack(tensors.begin(), tensors.end());
  while (!stack.empty()) {
    const Tensor tensor = std::move(stack.back());
    stack.pop_back();
    const TensorNode& node = *tensor.node();
    // Known values were checked when they were computed.
    if (KnownValue(tensor).has_value() || !seen.insert(&node).second) continue;
    const absl::Span<const NodeResult> inputs = InputsOf(node);
    if (node.check != nullptr) found.push_back({node.check, inputs[0]});
    stack.insert(stack.end(), inputs.begin(), inputs.end());
  }
  std::stable_sort(found.begin(), found.end(), [](const CheckedTensor& a, const CheckedTensor& b) {
    return a.check->order < b.check->order;
  });
  return found;
}

std::vector<uint64_t> StatusNumbers(const HostTensor& status) {
  std::vector<uint64_t> numbers(static_cast<size_t>(status.element_count()));
  std::memcpy(numbers.data(), status.bytes().data(), status.bytes().size());
  return numbers;
}

absl::Status ReadStatus(const Check& check, absl::Span<const uint64_t> status) {
  for (size_t i = 0; i < status.size(); ++i) {
    if (status[i] != 0) return OutOfRange(check, check.bounds[i], Decode(status[i]));
  }
  return absl::OkStatus();
}

}  // namespace tartan::api
