// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/cast_elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/families/shared/words.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Element;

// The number that a word represents; false if it represents none.
bool ParseFloat(const std::string& word, double* number) { return absl::SimpleAtod(word, number); }

// Integers are exact; other numbers lose their fraction.
bool ParseInteger(const std::string& word, int64_t* number) {
  if (absl::SimpleAtoi(word, number)) return true;
  uint64_t large = 0;
  if (absl::SimpleAtoi(word, &large)) {
    *number = static_cast<int64_t>(large);
    return true;
  }
  double real = 0;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!ParseFloat(word, &real) || !(std::abs(real) < kLimit)) return false;
  *number = static_cast<int64_t>(real);
  return true;
}

// Each word as a number of `type`. Words without a number become NaN or 0, and are listed.
HostTensor ParseWords(const std::vector<std::string>& words, DataType type,
                      std::vector<int64_t>* no_numbers) {
  const TensorShape shape{type, {static_cast<int64_t>(words.size())}};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.dims[0]; ++i) {
    const std::string& word = words[static_cast<size_t>(i)];
    bool is_number = false;
    if (IsInteger(type)) {
      int64_t number = 0;
      is_number = ParseInteger(word, &number);
      StoreElement(type, number, i, bytes.data());
    } else {
      double number = 0;
      is_number = ParseFloat(word, &number);
      if (!is_number) number = type == DataType::kBool ? 0 : std::nan("");
      StoreElement(type, number, i, bytes.data());
    }
    if (!is_number) no_numbers->push_back(i);
  }
  return HostTensor(shape, bytes);
}

// The standard does not define the result for a word that is not a number. It is an error if the
// elements are known to contain such a word.
absl::StatusOr<Tensor> ParseStrings(const NodeContext& context, const Value& strings,
                                    DataType type) {
  std::vector<int64_t> no_numbers;
  const HostTensor numbers = ParseWords(*strings.words(), type, &no_numbers);
  if (!no_numbers.empty() && strings.tensor().constant() != nullptr) {
    for (const int64_t position : strings.tensor().constant()->ToInts()) {
      if (std::binary_search(no_numbers.begin(), no_numbers.end(), position)) {
        return Invalid("'", (*strings.words())[static_cast<size_t>(position)], "' is not a number");
      }
    }
  }
  return LookUp(context, strings, numbers);
}

// The shortest text that reads back to the same number, with a decimal point for floats.
template <class T>
std::string ShortestText(T number) {
  char buffer[64];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), number);
  std::string text(buffer, end.ptr);
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

std::string TextOf(const HostTensor& x, int64_t i) {
  if (x.type() == DataType::kUInt64) return absl::StrCat(static_cast<uint64_t>(x.GetInt(i)));
  if (!IsFloat(x.type())) return absl::StrCat(x.GetInt(i));
  const double number = x.GetDouble(i);
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "INF" : "-INF";
  return x.type() == DataType::kFloat64 ? ShortestText(number)
                                        : ShortestText(static_cast<float>(number));
}

absl::StatusOr<Value> PrintNumbers(NodeContext& context, const Tensor& x) {
  context.SetInput(0, Value(x));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor numbers, context.HostValue(0));
  std::vector<std::string> strings;
  for (int64_t i = 0; i < numbers.element_count(); ++i) strings.push_back(TextOf(numbers, i));
  return StringsValue(numbers.shape().dims, strings);
}

}  // namespace

absl::StatusOr<Value> CastElements(NodeContext& context, const Value& x, const ElementType& to) {
  if (TypeOf(x) == to) return x;
  TARTAN_ASSIGN_OR_RETURN(const EncodingOptions how, ReadEncodingOptions(context));
  Tensor plain;
  if (x.is_strings()) {
    const bool is_plain = to.element == Element::kPlain;
    const DataType type = is_plain ? to.type : IsFloat(to) ? DataType::kFloat32 : DataType::kInt32;
    TARTAN_ASSIGN_OR_RETURN(plain, ParseStrings(context, x, type));
  } else {
    TARTAN_ASSIGN_OR_RETURN(plain, DecodeLowPrecision(context, x));
  }
  if (to.element == Element::kString) return PrintNumbers(context, plain);
  return EncodeElements(context, plain, to, how);
}

}  // namespace tartan::onnx
