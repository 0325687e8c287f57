// SPDX-License-Identifier: Apache-2.0
// Conversion between maps and tensors for ai.onnx.ml.
#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/shared/cast_elements.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::HostValue;

// A map with the columns as values, one key each; a vector is one row.
OutputValues ZipMap(NodeContext& context) {
  if (!context.value(0).is_tensor() || context.value(0).element() != api::Element::kPlain) {
    return Invalid("operand 0: a tensor of numbers is expected");
  }
  TARTAN_ASSIGN_OR_RETURN(const HostValue keys,
                          ReadLabels(context, "classlabels_int64s", "classlabels_strings"));
  TARTAN_ASSIGN_OR_RETURN(Tensor rows, RowsOf(context));
  const int64_t count = keys.tensor().element_count();
  if (rows.dims()[1] != count) {
    return Invalid(count, " keys for ", context.input(0).shape().ToString());
  }
  return std::vector<Value>{Value::Map(api::ToLazy(keys), Value(std::move(rows)))};
}

// A single map. Its keys are known, because map inputs are bound by value.
struct OneMap {
  HostValue keys;
  Value values;  // a vector
};

absl::StatusOr<OneMap> ReadMap(const NodeContext& context) {
  const Value& map = context.value(0);
  if (!map.is_map() || map.values().tensor().rank() != 1) {
    return Invalid("operand 0: a map is expected");
  }
  const HostTensor* keys = map.keys().tensor().constant();
  if (keys == nullptr) return Unsupported("a map whose keys are not known at import");
  return OneMap{HostValue(*keys, map.keys().element(), map.keys().words()), map.values()};
}

// A row whose element i is the map's value at position places[i], or 0 (the empty string) for -1.
absl::StatusOr<Value> Arrange(const NodeContext& context, const OneMap& map,
                              const std::vector<int64_t>& places) {
  Value values = map.values;
  const int64_t count = values.tensor().dims()[0];
  // An additional last element is the value for -1.
  if (values.is_strings()) {
    const HostTensor* positions = values.tensor().constant();
    if (positions == nullptr) return Unsupported("a map whose strings are not known at import");
    std::vector<std::string> strings =
        api::StringsOf(HostValue(*positions, values.element(), values.words()));
    strings.push_back("");
    values = api::ToLazy(api::HostStrings({count + 1}, strings));
  } else {
    TARTAN_ASSIGN_OR_RETURN(
        Tensor longer,
        context.ApplyOne("function (X[N]) -> (Y) { Y[i : N + 1] = =(X[i]); }", {values.tensor()}));
    values = values.With(std::move(longer));
  }
  std::vector<int64_t> at = places;
  for (int64_t& place : at) place = place < 0 ? count : place;
  TARTAN_ASSIGN_OR_RETURN(
      Tensor y,
      context.ApplyOne(
          absl::StrCat("function (X, I) -> (Y) { Y = reshape(gather(X, I), 1, ", at.size(), "); }"),
          {values.tensor(), ConstantInts(at)}));
  return values.With(std::move(y));
}

template <class T>
std::vector<int64_t> PlacesOf(const std::vector<T>& keys, const std::vector<T>& vocabulary) {
  std::map<T, int64_t> place_of;
  for (size_t i = 0; i < keys.size(); ++i) place_of.emplace(keys[i], static_cast<int64_t>(i));
  std::vector<int64_t> places;
  for (const T& word : vocabulary) {
    const auto found = place_of.find(word);
    places.push_back(found == place_of.end() ? -1 : found->second);
  }
  return places;
}

// The values of the vocabulary's keys, [1, size of the vocabulary]; 0 for absent keys.
OutputValues DictVectorizer(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const OneMap map, ReadMap(context));
  TARTAN_ASSIGN_OR_RETURN(const HostValue vocabulary,
                          ReadLabels(context, "int64_vocabulary", "string_vocabulary"));
  if (vocabulary.is_strings() != map.keys.is_strings()) {
    return Invalid("the vocabulary's keys and the map's keys differ in type");
  }
  const std::vector<int64_t> places =
      map.keys.is_strings() ? PlacesOf(api::StringsOf(map.keys), api::StringsOf(vocabulary))
                            : PlacesOf(map.keys.tensor().ToInts(), vocabulary.tensor().ToInts());
  TARTAN_ASSIGN_OR_RETURN(Value y, Arrange(context, map, places));
  return std::vector<Value>{std::move(y)};
}

// The position of each result element's value in the map, for the map_form DENSE or SPARSE.
absl::StatusOr<std::vector<int64_t>> PlacesOfForm(const NodeContext& context,
                                                  const std::vector<int64_t>& keys) {
  TARTAN_ASSIGN_OR_RETURN(const std::string form, context.String("map_form", "DENSE"));
  if (form == "DENSE") {
    std::vector<int64_t> places(keys.size());
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
      return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    return places;
  }
  if (form != "SPARSE") return Invalid("attribute 'map_form' is ", form, ", not DENSE or SPARSE");
  TARTAN_ASSIGN_OR_RETURN(const int64_t size, context.Int("max_map", 1));
  constexpr int64_t kMost = int64_t{1} << 24;
  if (size < 1 || size > kMost) return Invalid("attribute 'max_map' is ", size);
  std::vector<int64_t> places(static_cast<size_t>(size), -1);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] < 0 || keys[i] >= size) {
      return Invalid("key ", keys[i], " with attribute 'max_map' ", size);
    }
    places[static_cast<size_t>(keys[i])] = static_cast<int64_t>(i);
  }
  return places;
}

absl::StatusOr<ElementType> TargetOfCast(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string to, context.String("cast_to", "TO_FLOAT"));
  if (to == "TO_FLOAT") return ElementFromOnnx(TensorProto::FLOAT);
  if (to == "TO_INT64") return ElementFromOnnx(TensorProto::INT64);
  if (to == "TO_STRING") return ElementFromOnnx(TensorProto::STRING);
  return Invalid("attribute 'cast_to': expected TO_FLOAT, TO_INT64 or TO_STRING, got ", to);
}

// The values of int64 keys, [1, elements]. Words and numbers are converted as by Cast.
OutputValues CastMap(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(OneMap map, ReadMap(context));
  if (map.keys.is_strings()) return Invalid("operand 0: a map of int64 is expected");
  TARTAN_ASSIGN_OR_RETURN(const ElementType to, TargetOfCast(context));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                          PlacesOfForm(context, map.keys.tensor().ToInts()));
  TARTAN_ASSIGN_OR_RETURN(map.values, CastElements(context, map.values, to));
  TARTAN_ASSIGN_OR_RETURN(Value y, Arrange(context, map, places));
  return std::vector<Value>{std::move(y)};
}

constexpr OperatorRow kOperators[] = {
    In(kMlDomain, ValueRow("CastMap", 1, {1, 1}, CastMap)),
    In(kMlDomain, ValueRow("DictVectorizer", 1, {1, 1}, DictVectorizer)),
    In(kMlDomain, ValueRow("ZipMap", 1, {1, 1}, ZipMap)),
};

}  // namespace

absl::Span<const OperatorRow> MlMapOperators() { return kOperators; }

}  // namespace tartan::onnx
