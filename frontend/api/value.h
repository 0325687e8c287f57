// SPDX-License-Identifier: Apache-2.0
// Values that a model takes and returns: a tensor (of numbers, strings or low-precision elements),
// a sequence, a map, or nothing, which also represents an empty optional.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "frontend/api/element.h"
#include "frontend/api/tensor.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// Distinct words, sorted.
using Words = std::shared_ptr<const std::vector<std::string>>;

// T is Tensor during the import of a model and HostTensor at run time. Cheap to copy.
template <class T>
class ValueOf {
 public:
  enum class Kind : uint8_t { kNothing, kTensor, kSequence, kMap };

  ValueOf() = default;
  ValueOf(T tensor) : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}
  // `tensor` has the type StorageType(element); `words` is set for strings.
  ValueOf(T tensor, Element element, Words words = nullptr)
      : kind_(Kind::kTensor),
        tensor_(std::move(tensor)),
        element_(element),
        words_(std::move(words)) {}
  static ValueOf Sequence(std::vector<ValueOf> elements) {
    ValueOf value;
    value.kind_ = Kind::kSequence;
    value.elements_ = std::make_shared<const std::vector<ValueOf>>(std::move(elements));
    return value;
  }
  // `keys` is a vector of distinct int64 or strings. `values` is a vector of the same length, or a
  // matrix with one row per map for a sequence of maps with the same keys: the scores of a
  // classifier.
  static ValueOf Map(ValueOf keys, ValueOf values) {
    ValueOf value = Sequence({std::move(keys), std::move(values)});
    value.kind_ = Kind::kMap;
    return value;
  }

  Kind kind() const { return kind_; }
  bool is_nothing() const { return kind_ == Kind::kNothing; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_map() const { return kind_ == Kind::kMap; }
  bool is_strings() const { return is_tensor() && element_ == Element::kString; }

  // The tensor of a tensor value. Strings and low-precision elements are stored in it as `element`
  // says.
  const T& tensor() const { return tensor_; }
  Element element() const { return element_; }
  const Words& words() const { return words_; }
  // A tensor with the same kind of elements, computed by moving this value's elements.
  ValueOf With(T tensor) const { return ValueOf(std::move(tensor), element_, words_); }

  // The elements of a sequence; a map has two, its keys and its values.
  const std::vector<ValueOf>& elements() const { return *elements_; }
  const ValueOf& keys() const { return (*elements_)[0]; }
  const ValueOf& values() const { return (*elements_)[1]; }

 private:
  Kind kind_ = Kind::kNothing;
  T tensor_;
  Element element_ = Element::kPlain;
  Words words_;
  std::shared_ptr<const std::vector<ValueOf>> elements_;
};

using Value = ValueOf<Tensor>;
using HostValue = ValueOf<HostTensor>;

// Makes a tensor of strings, row-major.
HostValue HostStrings(std::vector<int64_t> dims, absl::Span<const std::string> strings);
// The strings of a tensor of strings, row-major.
std::vector<std::string> StringsOf(const HostValue& value);

// "float32[2, 3]", "string[4]", "sequence of 3", "map of 2 from string to float32", "sequence of 4
// maps of 2 from int64 to float32", "nothing".
std::string Describe(const HostValue& value);

// A known value as a lazy value of constants.
Value ToLazy(const HostValue& value, const std::string& name = "");

// Every tensor in the value, in order.
void AppendTensors(const Value& value, std::vector<Tensor>* tensors);
// Returns `value` with its tensors replaced by the first of `tensors`, which are removed from the
// span.
HostValue Replace(const Value& value, absl::Span<const HostTensor>* tensors);
Value Replace(const Value& value, absl::Span<const Tensor>* tensors);

// Helpers for two tensors of strings with one shared word list. Merge unites the lists; PositionsIn
// returns the index in `words` of each word of `from`.
Words Merge(const Words& a, const Words& b);
std::vector<int64_t> PositionsIn(const Words& words, const Words& from);

// Appends to `key` a string that identifies the value.
void AppendKey(const HostValue& value, std::string* key);

}  // namespace tartan::api
