// SPDX-License-Identifier: Apache-2.0
// Conversion of element types: numbers of all widths, strings, bit patterns.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/cast_elements.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "frontend/onnx/values/value_proto.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Element;
using api::Tensor;
using api::Value;
using Values = absl::StatusOr<std::vector<Value>>;

// --- Strings

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

// --- Cast

Values CastTo(NodeContext& context, const ElementType& to) {
  const Value x = context.value(0);
  if (!x.is_tensor()) return Invalid("operand 0 is not a tensor");
  if (TypeOf(x) == to) return std::vector<Value>{x};
  TARTAN_ASSIGN_OR_RETURN(const EncodingOptions how, ReadEncodingOptions(context));
  Tensor plain;
  if (x.is_strings()) {
    const bool is_plain = to.element == Element::kPlain;
    const DataType type = is_plain ? to.type : IsFloat(to) ? DataType::kFloat32 : DataType::kInt32;
    TARTAN_ASSIGN_OR_RETURN(plain, ParseStrings(context, x, type));
  } else {
    TARTAN_ASSIGN_OR_RETURN(plain, DecodeLowPrecision(context, x));
  }
  absl::StatusOr<Value> y = to.element == Element::kString
                                ? PrintNumbers(context, plain)
                                : EncodeElements(context, plain, to, how);
  TARTAN_RETURN_IF_ERROR(y.status());
  return std::vector<Value>{*std::move(y)};
}

// The first form gives the type by name: "FLOAT".
Values CastByName(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string name, context.String("to"));
  const std::string lower = absl::AsciiStrToLower(name);
  for (int32_t type = 1; type <= 13; ++type) {
    if (OnnxTypeName(type) != lower) continue;
    TARTAN_ASSIGN_OR_RETURN(const ElementType to, ElementFromOnnx(type));
    return CastTo(context, to);
  }
  return Invalid("attribute 'to': unknown type ", name);
}

absl::StatusOr<ElementType> TargetType(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t number, context.Int("to"));
  return ElementFromOnnx(static_cast<int32_t>(number));
}

Values CastOperator(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const ElementType to, TargetType(context));
  return CastTo(context, to);
}

Values CastLike(NodeContext& context) {
  if (!context.value(1).is_tensor()) return Invalid("operand 1 is not a tensor");
  return CastTo(context, TypeOf(context.value(1)));
}

// --- BitCast

int BitsOf(const ElementType& type) {
  return type.element == Element::kPlain ? static_cast<int>(8 * ByteWidth(type.type))
                                         : api::PackedBits(type.element);
}

// Integer types of one width share their bit patterns. Only the patterns of floats that Tile
// computes with are not accessible.
Values BitCast(NodeContext& context) {
  const Value x = context.value(0);
  TARTAN_ASSIGN_OR_RETURN(const ElementType to, TargetType(context));
  const ElementType from = TypeOf(x);
  if (!x.is_tensor() || BitsOf(from) == 0 || BitsOf(from) != BitsOf(to)) {
    return Invalid(NameOf(from), " and ", NameOf(to), " have different numbers of bits");
  }
  const bool hidden = tartan::IsFloat(from.type) || tartan::IsFloat(to.type);
  if (from == to) return std::vector<Value>{x};
  if (hidden) {
    const TensorShape shape{to.type, x.tensor().dims()};
    TARTAN_ASSIGN_OR_RETURN(
        std::vector<Tensor> y,
        context.RunOnHost({x.tensor()}, [shape](absl::Span<const HostTensor> operands) {
          return absl::StatusOr<std::vector<HostTensor>>(
              std::vector<HostTensor>{HostTensor(shape, operands[0].bytes())});
        }));
    return std::vector<Value>{Value(std::move(y[0]), to.element)};
  }
  if (BitsOf(to) < 8 && to.type == DataType::kInt8) {
    TARTAN_ASSIGN_OR_RETURN(Value y, EncodeElements(context, x.tensor(), to, EncodingOptions()));
    return std::vector<Value>{std::move(y)};
  }
  std::string bits = Cast("X", to.type);
  if (BitsOf(to) < 8) bits = absl::StrCat(bits, " & ", (1 << BitsOf(to)) - 1);
  TARTAN_ASSIGN_OR_RETURN(Tensor y,
                          context.ApplyOne(TileFunction("X", "Y", {"Y = " + bits}), {x.tensor()}));
  return std::vector<Value>{Value(std::move(y), to.element)};
}

constexpr OperatorRow kOperators[] = {
    ValueRow("BitCast", 26, {1, 1}, BitCast),
    ValueRow("Cast", 1, {1, 1}, CastByName),
    ValueRow("Cast", 6, {1, 1}, CastOperator),
    ValueRow("CastLike", 15, {2, 2}, CastLike),
};

}  // namespace

absl::Span<const OperatorRow> CastOperators() { return kOperators; }

}  // namespace tartan::onnx
