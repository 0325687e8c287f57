// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/low_precision.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Element;

// A float format: bit patterns of a sign, an exponent and a mantissa in this order. The magnitude
// is mantissa * 2^(least_exponent - mantissa_bits) if the exponent field is 0, otherwise (1 +
// mantissa / 2^mantissa_bits) * 2^(least_exponent + exponent - 1).
struct FloatFormat {
  int mantissa_bits;
  int least_exponent;
  int greatest;  // the pattern of the maximum finite value
  int beyond;    // the pattern of larger values
  int nan;
  int sign;          // the sign bit
  bool signs_zero;   // both zeros exist; otherwise the sign bit alone is NaN
  int largest_step;  // a power of two that is more than half of the exponent range

  int greatest_exponent() const { return (greatest >> mantissa_bits) - 1 + least_exponent; }
};

FloatFormat FormatOf(Element element) {
  switch (element) {
    case Element::kFloat8E4M3FN:
      return {3, -6, 0x7E, 0x7F, 0x7F, 0x80, true, 8};
    case Element::kFloat8E4M3FNUZ:
      return {3, -7, 0x7F, 0x80, 0x80, 0x80, false, 8};
    case Element::kFloat8E5M2:
      return {2, -14, 0x7B, 0x7C, 0x7E, 0x80, true, 16};
    case Element::kFloat8E5M2FNUZ:
      return {2, -15, 0x7F, 0x80, 0x80, 0x80, false, 16};
    // The remaining formats have neither infinity nor NaN: NaN becomes a zero.
    case Element::kFloat6E2M3:
      return {3, 0, 0x1F, 0x1F, 0x20, 0x20, true, 2};
    case Element::kFloat6E3M2:
      return {2, -2, 0x1F, 0x1F, 0x20, 0x20, true, 4};
    default:  // kFloat4E2M1
      return {1, 0, 0x7, 0x7, 0x8, 0x8, true, 2};
  }
}

double ValueOf(const FloatFormat& format, int pattern) {
  const int magnitude = pattern & (format.sign - 1);
  const double sign = (pattern & format.sign) != 0 ? -1 : 1;
  if (magnitude == 0 && sign < 0 && !format.signs_zero) return std::nan("");
  if (magnitude > format.greatest) {
    const bool is_infinity = magnitude == format.beyond && format.beyond != format.nan;
    return is_infinity ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  }
  const int exponent = magnitude >> format.mantissa_bits;
  const int hidden = exponent == 0 ? 0 : 1 << format.mantissa_bits;
  const int mantissa = (magnitude & ((1 << format.mantissa_bits) - 1)) + hidden;
  const int shift = format.least_exponent + (exponent == 0 ? 0 : exponent - 1);
  return sign * std::ldexp(mantissa, shift - format.mantissa_bits);
}

// The values of all patterns of a low-precision float.
HostTensor Table(Element element) {
  std::vector<float> values;
  for (int pattern = 0; pattern < 256; ++pattern) {
    if (element == Element::kFloat8E8M0) {
      values.push_back(pattern == 255 ? std::nanf("") : std::ldexp(1.0F, pattern - 127));
    } else {
      values.push_back(static_cast<float>(ValueOf(FormatOf(element), pattern & 0xFF)));
    }
  }
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {256}}, values);
}

bool IsNarrowFloat(Element element) {
  return element >= Element::kFloat8E4M3FN && element <= Element::kFloat4E2M1;
}

bool IsNarrowInteger(Element element) { return element >= Element::kInt4; }

// Adds N and the quotient `b` / 2^N, where N is the maximum n >= 0 with 2^n <= `b`, or 0. It takes
// one comparison per bit of N and exact scalings by powers of two. Returns the name of the
// quotient.
std::string AddExponent(std::string b, int largest_step, const std::string& first,
                        std::vector<std::string>* lines) {
  std::string sum = first;
  for (int step = largest_step; step > 0; step /= 2) {
    const std::string power = Literal(std::ldexp(1.0, step));
    const std::string next = absl::StrCat("B", step);
    lines->push_back(absl::StrCat("C", step, " = ", b, " >= ", power));
    lines->push_back(absl::StrCat(next, " = C", step, " ? ", b, " * ",
                                  Literal(std::ldexp(1.0, -step)), " : ", b));
    absl::StrAppend(&sum, " + (C", step, " ? ", Literal(double{1} * step), " : 0.0)");
    b = next;
  }
  lines->push_back(absl::StrCat("N = ", sum));
  return b;
}

// Encodes a float tensor X as patterns Y. The mantissa is rounded as an integer. A carry into the
// exponent gives the right pattern, because patterns are ordered like their values.
std::string EncodeText(const FloatFormat& format, bool saturate) {
  std::vector<std::string> lines;
  const int most = format.greatest_exponent() + 1;
  lines.push_back(absl::StrCat("A = min(abs(X), ", Literal(std::ldexp(1.0, most)), ") * ",
                               Literal(std::ldexp(1.0, -format.least_exponent))));
  const std::string scaled = AddExponent("A", format.largest_step, "0.0", &lines);
  const std::string units = Literal(std::ldexp(1.0, format.mantissa_bits));
  lines.push_back(absl::StrCat("M = round(", scaled, " * ", units, ") + N * ", units));
  const std::string greatest = Literal(double{1} * format.greatest);
  lines.push_back(absl::StrCat("P = M > ", greatest, " ? ",
                               saturate ? greatest : Literal(double{1} * format.beyond), " : M"));
  const std::string sign = Literal(double{1} * format.sign);
  lines.push_back(format.signs_zero ? "S = X < 0 || (X == 0 && recip(X) < 0)"
                                    : absl::StrCat("S = X < 0 && P > 0 && P < ", sign));
  lines.push_back(absl::StrCat("R = isnan(X) ? ", Literal(double{1} * format.nan), " : (S ? P + ",
                               sign, " : P)"));
  lines.push_back(absl::StrCat("Y = ", Cast("R", DataType::kUInt8)));
  return TileFunction("X", "Y", lines);
}

// Encodes a float tensor X as float8e8m0: a pattern is an exponent plus 127, and 255 is NaN.
std::string EncodePowerText(const EncodingOptions& how) {
  std::vector<std::string> lines;
  lines.push_back("IS_SMALL = X < 1");
  lines.push_back(absl::StrCat("A = IS_SMALL ? X * ", Literal(std::ldexp(1.0, 127)), " : X"));
  const std::string scaled = AddExponent("A", 64, "(IS_SMALL ? 0.0 : 127.0)", &lines);
  const char* up = how.powers == PowerRounding::kUp        ? " > 1.0"
                   : how.powers == PowerRounding::kNearest ? " >= 1.5"
                                                           : "";
  lines.push_back(how.powers == PowerRounding::kDown
                      ? "P = N"
                      : absl::StrCat("P = N + (", scaled, up, " ? 1.0 : 0.0)"));
  // The scaled value is below 1 only for X below 2^-127; infinity stays infinity.
  const std::string outside = absl::StrCat(scaled, " < 1.0 || isinf(X) || P > 254.0 ? 255.0 : P");
  lines.push_back(absl::StrCat("R = isnan(X) || X < 0 ? 255.0 : (",
                               how.saturate ? "min(P, 254.0)" : outside, ")"));
  lines.push_back(absl::StrCat("Y = ", Cast("R", DataType::kUInt8)));
  return TileFunction("X", "Y", lines);
}

// The lowest bits of the integers X, sign-extended for signed types.
std::string WrapText(Element element, DataType from) {
  const int bits = api::PackedBits(element);
  const int mask = (1 << bits) - 1;
  const bool has_sign = api::StorageType(element) == DataType::kInt8;
  const std::string whole = IsInteger(from) ? "X" : Cast("X", DataType::kInt32);
  std::string value = Cast(whole, DataType::kInt32);
  value = absl::StrCat("(", value, " & ", mask, ")");
  if (has_sign)
    value = absl::StrCat("((", value, " ^ ", 1 << (bits - 1), ") - ", 1 << (bits - 1), ")");
  return TileFunction("X", "Y", {absl::StrCat("Y = ", Cast(value, api::StorageType(element)))});
}

}  // namespace

absl::StatusOr<EncodingOptions> ReadEncodingOptions(const NodeContext& context) {
  EncodingOptions how;
  TARTAN_ASSIGN_OR_RETURN(const int64_t saturate, context.Int("saturate", 1));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode,
                          context.OneOf("round_mode", "up", {"up", "down", "nearest"}));
  how.saturate = saturate != 0;
  if (mode == "up") return how;
  how.powers = mode == "down" ? PowerRounding::kDown : PowerRounding::kNearest;
  return how;
}

absl::StatusOr<Tensor> DecodeLowPrecision(const NodeContext& context, const Value& value) {
  if (!value.is_tensor()) return Invalid("a tensor of numbers is expected");
  if (value.is_strings()) return Unsupported("elements of type string");
  if (!IsNarrowFloat(value.element())) return value.tensor();
  return context.ApplyOne(
      absl::StrCat("function (T, X) -> (Y) { Y = gather(T, ", Cast("X", DataType::kInt32), "); }"),
      {Tensor::Constant(Table(value.element())), value.tensor()});
}

absl::StatusOr<Value> EncodeElements(const NodeContext& context, const Tensor& x,
                                     const ElementType& to, const EncodingOptions& how) {
  if (to.element == Element::kPlain) {
    TARTAN_ASSIGN_OR_RETURN(Tensor y, ConvertTo(context, x, to.type));
    return Value(std::move(y));
  }
  if (IsNarrowInteger(to.element)) {
    TARTAN_ASSIGN_OR_RETURN(Tensor y, context.ApplyOne(WrapText(to.element, x.type()), {x}));
    return Value(std::move(y), to.element);
  }
  if (!IsNarrowFloat(to.element)) return Unsupported("conversion to ", NameOf(to));
  const DataType type = x.type() == DataType::kFloat64 ? x.type() : DataType::kFloat32;
  TARTAN_ASSIGN_OR_RETURN(const Value wide,
                          EncodeElements(context, x, {type, Element::kPlain}, how));
  const bool is_power = to.element == Element::kFloat8E8M0;
  const std::string text =
      is_power ? EncodePowerText(how) : EncodeText(FormatOf(to.element), how.saturate);
  TARTAN_ASSIGN_OR_RETURN(Tensor y, context.ApplyOne(text, {wide.tensor()}));
  return Value(std::move(y), to.element);
}

IntegerLimits LimitsOf(const ElementType& type) {
  if (type.element == Element::kPlain) return {MinInteger(type.type), MaxInteger(type.type)};
  const int64_t count = int64_t{1} << api::PackedBits(type.element);
  if (type.type == DataType::kInt8) return {-count / 2, count / 2 - 1};
  return {0, count - 1};
}

bool IsFloat(const ElementType& type) {
  return type.element == Element::kPlain ? IsFloat(type.type) : IsNarrowFloat(type.element);
}

bool IsInteger(const ElementType& type) {
  return type.element == Element::kPlain ? IsInteger(type.type) : IsNarrowInteger(type.element);
}

ElementType TypeOf(const Value& value) {
  return value.tensor().defined() ? ElementType{value.tensor().type(), value.element()}
                                  : ElementType();
}

std::string NameOf(const ElementType& type) {
  return std::string(type.element == Element::kPlain ? Name(type.type) : api::Name(type.element));
}

}  // namespace tartan::onnx
