// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/value.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace tartan::api {
namespace {

Words SortedWords(absl::Span<const std::string> strings) {
  std::vector<std::string> words(strings.begin(), strings.end());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return std::make_shared<const std::vector<std::string>>(std::move(words));
}

int64_t PositionOf(const std::vector<std::string>& words, const std::string& word) {
  return std::lower_bound(words.begin(), words.end(), word) - words.begin();
}

template <class To>
ValueOf<To> ReplaceTensors(const Value& value, absl::Span<const To>* tensors) {
  if (value.is_tensor()) {
    ValueOf<To> result(tensors->front(), value.element(), value.words());
    tensors->remove_prefix(1);
    return result;
  }
  if (value.is_nothing()) return {};
  std::vector<ValueOf<To>> elements;
  for (const Value& element : value.elements()) {
    elements.push_back(ReplaceTensors(element, tensors));
  }
  if (value.is_map()) return ValueOf<To>::Map(elements[0], elements[1]);
  return ValueOf<To>::Sequence(std::move(elements));
}

std::string ElementName(const HostValue& tensor) {
  return std::string(tensor.element() == Element::kPlain ? tartan::Name(tensor.tensor().type())
                                                         : Name(tensor.element()));
}

std::string DescribeMap(const HostValue& map) {
  const std::vector<int64_t>& dims = map.values().tensor().shape().dims;
  return absl::StrCat(dims.size() == 2 ? absl::StrCat("sequence of ", dims[0], " maps") : "map",
                      " of ", map.keys().tensor().element_count(), " from ",
                      ElementName(map.keys()), " to ", ElementName(map.values()));
}

}  // namespace

HostValue HostStrings(std::vector<int64_t> dims, absl::Span<const std::string> strings) {
  Words words = SortedWords(strings);
  std::vector<int64_t> positions;
  for (const std::string& string : strings) positions.push_back(PositionOf(*words, string));
  return HostValue(HostTensor::FromVector({DataType::kInt64, std::move(dims)}, positions),
                   Element::kString, std::move(words));
}

std::vector<std::string> StringsOf(const HostValue& value) {
  std::vector<std::string> strings;
  for (int64_t position : value.tensor().ToInts()) {
    strings.push_back((*value.words())[static_cast<size_t>(position)]);
  }
  return strings;
}

std::string Describe(const HostValue& value) {
  if (value.is_nothing()) return "nothing";
  if (value.is_sequence()) return absl::StrCat("sequence of ", value.elements().size());
  if (value.is_map()) return DescribeMap(value);
  const TensorShape& shape = value.tensor().shape();
  if (value.element() == Element::kPlain) return shape.ToString();
  return absl::StrCat(Name(value.element()), DimsToString(shape.dims));
}

Value ToLazy(const HostValue& value, const std::string& name) {
  if (value.is_nothing()) return {};
  if (value.is_tensor()) {
    return Value(Tensor::Constant(value.tensor(), name), value.element(), value.words());
  }
  std::vector<Value> elements;
  for (const HostValue& element : value.elements()) elements.push_back(ToLazy(element, name));
  if (value.is_map()) return Value::Map(elements[0], elements[1]);
  return Value::Sequence(std::move(elements));
}

void AppendTensors(const Value& value, std::vector<Tensor>* tensors) {
  if (value.is_tensor()) tensors->push_back(value.tensor());
  if (!value.is_sequence() && !value.is_map()) return;
  for (const Value& element : value.elements()) AppendTensors(element, tensors);
}

HostValue Replace(const Value& value, absl::Span<const HostTensor>* tensors) {
  return ReplaceTensors<HostTensor>(value, tensors);
}

Value Replace(const Value& value, absl::Span<const Tensor>* tensors) {
  return ReplaceTensors<Tensor>(value, tensors);
}

Words Merge(const Words& a, const Words& b) {
  if (a == b) return a;
  std::vector<std::string> all;
  std::set_union(a->begin(), a->end(), b->begin(), b->end(), std::back_inserter(all));
  return std::make_shared<const std::vector<std::string>>(std::move(all));
}

std::vector<int64_t> PositionsIn(const Words& words, const Words& from) {
  std::vector<int64_t> positions;
  for (const std::string& word : *from) positions.push_back(PositionOf(*words, word));
  return positions;
}

void AppendKey(const HostValue& value, std::string* key) {
  absl::StrAppend(key, Describe(value), ":");
  if (value.is_sequence() || value.is_map()) {
    for (const HostValue& element : value.elements()) AppendKey(element, key);
    return;
  }
  if (value.is_nothing()) return;
  if (value.is_strings()) {
    for (const std::string& string : StringsOf(value)) {
      absl::StrAppend(key, string.size(), ":", string);
    }
    return;
  }
  const absl::Span<const uint8_t> bytes = value.tensor().bytes();
  key->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace tartan::api
