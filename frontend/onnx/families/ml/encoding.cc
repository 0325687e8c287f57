// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml that map elements through tables: integers, floats and strings as keys
// and values.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/words.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::HostValue;

HostValue HostFloats(const std::vector<float>& values) {
  const TensorShape shape{DataType::kFloat32, {static_cast<int64_t>(values.size())}};
  return HostValue(HostTensor::FromVector(shape, values));
}

HostValue HostIntegers(const std::vector<int64_t>& values) {
  return HostValue(*ConstantInts(values).constant());
}

HostValue HostWords(const std::vector<std::string>& values) {
  return api::HostStrings({static_cast<int64_t>(values.size())}, values);
}

// A table with one value per key. `otherwise` is the value for elements that are not keys.
struct Mapping {
  HostValue keys;
  HostValue values;
  HostValue otherwise;
};

// The table as a list: the default value, then the values.
HostValue TableOf(const Mapping& mapping) {
  if (mapping.values.is_strings()) {
    std::vector<std::string> all = api::StringsOf(mapping.otherwise);
    const std::vector<std::string> values = api::StringsOf(mapping.values);
    all.insert(all.end(), values.begin(), values.end());
    return HostWords(all);
  }
  const absl::Span<const uint8_t> first = mapping.otherwise.tensor().bytes();
  const absl::Span<const uint8_t> rest = mapping.values.tensor().bytes();
  std::vector<uint8_t> bytes(first.begin(), first.end());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  const int64_t count = mapping.values.tensor().element_count() + 1;
  return HostValue(HostTensor(TensorShape{mapping.values.tensor().type(), {count}}, bytes));
}

// For each string 1 + the position of the last equal key, or 0.
absl::StatusOr<Tensor> FindStrings(const NodeContext& context, const Value& x,
                                   const std::vector<std::string>& keys) {
  std::vector<int64_t> positions(x.words()->size());
  for (size_t k = 0; k < keys.size(); ++k) {
    const auto found = std::lower_bound(x.words()->begin(), x.words()->end(), keys[k]);
    if (found == x.words()->end() || *found != keys[k]) continue;
    positions[static_cast<size_t>(found - x.words()->begin())] = static_cast<int64_t>(k) + 1;
  }
  const TensorShape shape{DataType::kInt64, {static_cast<int64_t>(positions.size())}};
  return LookUp(context, x, HostTensor::FromVector(shape, positions));
}

// For each number 1 + the position of the last equal key, or 0. NaN equals NaN.
absl::StatusOr<Tensor> FindNumbers(const NodeContext& context, const Tensor& x,
                                   const HostTensor& keys) {
  const int64_t count = keys.element_count();
  std::vector<int64_t> positions;
  int64_t nan_position = 0;
  for (int64_t k = 0; k < count; ++k) {
    positions.push_back(k + 1);
    if (IsFloat(keys.type()) && std::isnan(keys.GetDouble(k))) nan_position = k + 1;
  }
  const std::vector<std::string> indices = IndexNames(x.rank());
  std::vector<std::string> lines = {
      absl::StrCat("L = ", Cast("K", x.type())),
      absl::StrCat(Write("F", indices, x.dims()), " = >(", Read("X", indices), " == L[k] ? P[k])"),
      nan_position == 0 ? "Y = F" : absl::StrCat("Y = isnan(X) ? ", nan_position, " : F")};
  return context.ApplyOne(TileFunction("X, K, P", "Y", lines),
                          {x, Tensor::Constant(keys), ConstantInts(positions)});
}

OutputValues MapElements(const NodeContext& context, const Value& x, const Mapping& mapping) {
  const int64_t count = mapping.keys.tensor().element_count();
  if (count != mapping.values.tensor().element_count()) {
    return Invalid(count, " keys for ", mapping.values.tensor().element_count(), " values");
  }
  const bool fits = x.is_tensor() && x.is_strings() == mapping.keys.is_strings() &&
                    mapping.values.element() == mapping.otherwise.element() &&
                    mapping.values.tensor().type() == mapping.otherwise.tensor().type() &&
                    mapping.otherwise.tensor().element_count() == 1;
  if (!fits) return Invalid("the types of operand, keys, values and default do not match");
  const bool is_float = !x.is_strings() && IsFloat(x.tensor().type());
  if (!x.is_strings() && is_float != IsFloat(mapping.keys.tensor().type())) {
    return Invalid("keys of type ", Name(mapping.keys.tensor().type()), " for elements of type ",
                   Name(x.tensor().type()));
  }
  const Value table = api::ToLazy(TableOf(mapping));
  absl::StatusOr<Tensor> positions =
      x.is_strings() ? FindStrings(context, x, api::StringsOf(mapping.keys))
      : count == 0   ? BroadcastTo(context, ConstantInt(0), x.tensor().dims())
                     : FindNumbers(context, x.tensor(), mapping.keys.tensor());
  TARTAN_RETURN_IF_ERROR(positions.status());
  TARTAN_ASSIGN_OR_RETURN(Tensor y, context.ApplyOne("function (T, I) -> (Y) { Y = gather(T, I); }",
                                                     {table.tensor(), *positions}));
  return std::vector<Value>{table.With(std::move(y))};
}

// The list in one of the attributes PREFIX_strings, _int64s, _floats and _tensor.
absl::StatusOr<HostValue> ReadList(const NodeContext& context, absl::string_view prefix) {
  const auto name = [&](absl::string_view kind) { return absl::StrCat(prefix, "_", kind); };
  if (context.HasAttribute(name("strings"))) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> words, context.Strings(name("strings")));
    return HostWords(words);
  }
  if (context.HasAttribute(name("int64s"))) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, context.Ints(name("int64s")));
    return HostIntegers(integers);
  }
  if (context.HasAttribute(name("floats"))) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<float> floats, context.Floats(name("floats")));
    return HostFloats(floats);
  }
  return context.ConstantValue(name("tensor"));
}

// The value for elements that are not keys, in the type of `values`.
absl::StatusOr<HostValue> ReadDefault(const NodeContext& context, const HostValue& values) {
  if (context.HasAttribute("default_tensor")) return context.ConstantValue("default_tensor");
  if (values.is_strings()) {
    TARTAN_ASSIGN_OR_RETURN(const std::string word, context.String("default_string", "_Unused"));
    return HostWords({word});
  }
  const DataType type = values.tensor().type();
  if (IsFloat(type)) {
    TARTAN_ASSIGN_OR_RETURN(const float number, context.Float("default_float", -0.0F));
    return HostValue(*ConstantScalar(type, number).constant());
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t number, context.Int("default_int64", -1));
  std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(type)));
  StoreElement(type, number, 0, bytes.data());
  return HostValue(HostTensor(TensorShape{type, {}}, bytes));
}

OutputValues LabelEncoder(NodeContext& context) {
  Mapping mapping;
  TARTAN_ASSIGN_OR_RETURN(mapping.keys, ReadList(context, "keys"));
  TARTAN_ASSIGN_OR_RETURN(mapping.values, ReadList(context, "values"));
  TARTAN_ASSIGN_OR_RETURN(mapping.otherwise, ReadDefault(context, mapping.values));
  return MapElements(context, context.value(0), mapping);
}

// Maps strings to integers, or integers to strings for an operand of integers.
OutputValues MapBetween(const NodeContext& context, const std::vector<std::string>& words,
                        const std::vector<int64_t>& integers) {
  const bool from_strings = context.value(0).is_strings();
  Mapping mapping;
  mapping.keys = from_strings ? HostWords(words) : HostIntegers(integers);
  mapping.values = from_strings ? HostIntegers(integers) : HostWords(words);
  TARTAN_ASSIGN_OR_RETURN(mapping.otherwise, ReadDefault(context, mapping.values));
  return MapElements(context, context.value(0), mapping);
}

// The first form maps strings to their positions in a list, and back.
OutputValues LabelEncoderOfClasses(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> words, context.Strings("classes_strings"));
  std::vector<int64_t> integers;
  for (size_t i = 0; i < words.size(); ++i) integers.push_back(static_cast<int64_t>(i));
  return MapBetween(context, words, integers);
}

OutputValues CategoryMapper(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> words, context.Strings("cats_strings"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, context.Ints("cats_int64s"));
  return MapBetween(context, words, integers);
}

// A row of zeros with a one for the element's category.
OutputValues OneHotEncoder(NodeContext& context) {
  const Value x = context.value(0);
  TARTAN_ASSIGN_OR_RETURN(const int64_t zeros, context.Int("zeros", 1));
  TARTAN_ASSIGN_OR_RETURN(const HostValue categories, ReadList(context, "cats"));
  if (!x.is_tensor() || x.is_strings() != categories.is_strings()) {
    return Invalid("the categories and operand 0 must both be strings, or both be numbers");
  }
  const int64_t count = categories.tensor().element_count();
  Tensor elements = x.tensor();
  if (!x.is_strings()) {
    TARTAN_ASSIGN_OR_RETURN(elements, ConvertTo(context, elements, DataType::kInt64));
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor found,
                          x.is_strings() ? FindStrings(context, x, api::StringsOf(categories))
                                         : FindNumbers(context, elements, categories.tensor()));
  if (zeros == 0) {
    context.SetInput(0, Value(found));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, context.HostInts(0));
    if (std::find(positions.begin(), positions.end(), 0) != positions.end()) {
      return Invalid("an element is not a category");
    }
  }
  std::vector<int64_t> dims = found.dims();
  dims.push_back(1);
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < count; ++k) positions.push_back(k + 1);
  TARTAN_ASSIGN_OR_RETURN(Tensor y,
                          context.ApplyOne(absl::StrCat("function (F, P) -> (Y) { Y = as_float(",
                                                        ReshapeCall("F", dims), " == P, 32); }"),
                                           {found, ConstantInts(positions)}));
  return std::vector<Value>{Value(std::move(y))};
}

constexpr OperatorRow kOperators[] = {
    In(kMlDomain, ValueRow("CategoryMapper", 1, {1, 1}, CategoryMapper)),
    In(kMlDomain, ValueRow("LabelEncoder", 1, {1, 1}, LabelEncoderOfClasses)),
    In(kMlDomain, ValueRow("LabelEncoder", 2, {1, 1}, LabelEncoder)),
    In(kMlDomain, ValueRow("OneHotEncoder", 1, {1, 1}, OneHotEncoder)),
};

}  // namespace

absl::Span<const OperatorRow> MlEncodingOperators() { return kOperators; }

}  // namespace tartan::onnx
