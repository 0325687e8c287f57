// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/vector_functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {
namespace {

// Placeholders: $T is the vector, $U and $S the unsigned and signed integers of the same width.
// Polynomials and rational functions minimize the maximum relative error. They use Horner's rule
// with fused multiply-add if available. Correctness does not depend on fusion: the argument
// reductions multiply exactly.
//
// select(a, b, c) with a comparison as c is one instruction that preserves NaN.
struct Function {
  absl::string_view name;
  absl::string_view text;
};

// exp: x = n ln 2 + r, and 2^n is applied as two factors, so that subnormal results are rounded
// once. Adding 1.5 * 2^23 rounds to an integer and leaves it, plus 254, in the lowest bits.
constexpr Function kExp = {"exp", R"(static inline $T tt_exp_$T($T x) {
#if defined(TARTAN_PTX) && !defined(TARTAN_PORTABLE)
  return exp(x);  // by an instruction, within 2 ulp
#endif
  $T y = select(x, ($T)(89.5f), x > 89.5f);
  y = select(y, ($T)(-104.0f), y < -104.0f);
  const $T shifted = TT_FMA(y, ($T)(1.44269504f), ($T)(12583166.0f));
  const $T n = shifted - 12583166.0f;
  $T r = TT_FMA(n, ($T)(-0x1.62ep-1f), y);
  r = TT_FMA(n, ($T)(-0x1.0bfbe8p-15f), r);
  $T p = TT_FMA(($T)(1.38146081e-03f), r, ($T)(8.36871137e-03f));
  p = TT_FMA(p, r, ($T)(4.16683875e-02f));
  p = TT_FMA(p, r, ($T)(1.66665207e-01f));
  p = TT_FMA(p, r, ($T)(4.99999935e-01f));
  p = TT_FMA(p, r, ($T)(1.0f));
  p = TT_FMA(p, r, ($T)(1.0f));
  const $U scale = as_$U(shifted) << 23;
  const $U half_scale = (scale >> 1) & 0xff800000u;
  return p * as_$T(scale - half_scale) * as_$T(half_scale);
}
)"};

// sigmoid: 1 / (1 + exp(-x)) with exp as above, except that subnormal results of exp are not
// needed. Computes 2 p times 2^(n - 1), which can reach infinity.
constexpr Function kSigmoid = {"sigmoid", R"(static inline $T tt_sigmoid_$T($T x) {
  $T y = select(x, ($T)(87.5f), x > 87.5f);
  y = select(y, ($T)(-89.0f), y < -89.0f);
  const $T shifted = TT_FMA(y, ($T)(-1.44269504f), ($T)(12583038.0f));
  const $T n = shifted - 12583038.0f;
  $T r = TT_FMA(n, ($T)(0x1.62ep-1f), y);
  r = TT_FMA(n, ($T)(0x1.0bfbe8p-15f), r);
  $T p = TT_FMA(($T)(2.76292162e-03f), r, ($T)(-1.67374227e-02f));
  p = TT_FMA(p, r, ($T)(8.33367750e-02f));
  p = TT_FMA(p, r, ($T)(-3.33330414e-01f));
  p = TT_FMA(p, r, ($T)(9.99999870e-01f));
  p = TT_FMA(p, r, ($T)(-2.0f));
  p = TT_FMA(p, r, ($T)(2.0f));
  return 1.0f / TT_FMA(p, as_$T(as_$U(shifted) << 23), ($T)(1.0f));
}
)"};

// round: adding and subtracting 2^23 removes the fraction; larger numbers have none. Zeros keep
// their sign. PoCL's rint is one call per part of a vector.
constexpr Function kRound = {"round", R"(static inline $T tt_round_$T($T x) {
  const $U sign = as_$U(x) & 0x80000000u;
  const $T far = as_$T(sign | 0x4b000000u);
  const $T whole = as_$T(as_$U((x + far) - far) | sign);
  return select(x, whole, fabs(x) < 8388608.0f);
}
)"};

// The result y p / q of tanh and erf, where q is between 1 and 1000. On a GPU one Newton step after
// an approximate reciprocal takes half the instructions of a correctly rounded division, and no
// branch. It adds half a unit in the last place.
constexpr absl::string_view kQuotient = R"(#if defined(TARTAN_PTX) && !defined(TARTAN_PORTABLE)
  const $T r = native_recip(q);
  $T result = y * p * TT_FMA(r, TT_FMA(-q, r, ($T)(1.0f)), r);
#else
  $T result = y * p / q;
#endif
)";

// x / d for a literal d of magnitude 1 and more: a correctly rounded division costs a GPU ten
// instructions and a branch. Markstein's correction of x times the rounded reciprocal gives the
// same quotient, unless it is subnormal. Zeros and infinities, whose rest is 0 or NaN, are not
// corrected.
constexpr Function kLiteralQuotient = {"quotient", R"(static inline $T tt_quotient_$T($T x, $T d) {
  const $T r = 1.0f / d;
  const $T q = x * r;
  const $T rest = TT_FMA(-q, d, x);
#ifdef TT_NO_FMA
  return x / d;
#else
  return select(q, TT_FMA(rest, r, q), fabs(rest) > 0.0f);
#endif
}
)"};

// tanh: x P(x^2) / Q(x^2), clamped where the function rounds to 1.
constexpr Function kTanh = {"tanh", R"(static inline $T tt_tanh_$T($T x) {
  $T y = select(x, ($T)(9.02f), x > 9.02f);
  y = select(y, ($T)(-9.02f), y < -9.02f);
  const $T s = y * y;
  $T p = TT_FMA(($T)(1.33199662e-08f), s, ($T)(2.05841980e-05f));
  p = TT_FMA(p, s, ($T)(3.49408102e-03f));
  p = TT_FMA(p, s, ($T)(1.33797580e-01f));
  p = TT_FMA(p, s, ($T)(1.0f));
  $T q = TT_FMA(($T)(7.76240683e-07f), s, ($T)(3.28316682e-04f));
  q = TT_FMA(q, s, ($T)(2.58712528e-02f));
  q = TT_FMA(q, s, ($T)(4.67130732e-01f));
  q = TT_FMA(q, s, ($T)(1.0f));
$QUOTIENT  result = select(result, ($T)(1.0f), result > 1.0f);
  return select(result, ($T)(-1.0f), result < -1.0f);
}
)"};

constexpr Function kErf = {"erf", R"(static inline $T tt_erf_$T($T x) {
  $T y = select(x, ($T)(3.93f), x > 3.93f);
  y = select(y, ($T)(-3.93f), y < -3.93f);
  const $T s = y * y;
  $T p = TT_FMA(($T)(2.04208173e-06f), s, ($T)(2.84801391e-04f));
  p = TT_FMA(p, s, ($T)(3.77916793e-03f));
  p = TT_FMA(p, s, ($T)(5.27889158e-02f));
  p = TT_FMA(p, s, ($T)(1.90773102e-01f));
  p = TT_FMA(p, s, ($T)(1.12837915e+00f));
  $T q = TT_FMA(($T)(3.80048672e-05f), s, ($T)(1.16511131e-03f));
  q = TT_FMA(q, s, ($T)(1.49965452e-02f));
  q = TT_FMA(q, s, ($T)(1.14253132e-01f));
  q = TT_FMA(q, s, ($T)(5.02400981e-01f));
  q = TT_FMA(q, s, ($T)(1.0f));
$QUOTIENT  result = select(result, ($T)(1.0f), result > 1.0f);
  return select(result, ($T)(-1.0f), result < -1.0f);
}
)"};

// log: x = 2^n (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) = f - f^2/2 + f^3 p(f).
constexpr Function kLog = {"log", R"(static inline $T tt_log_$T($T x) {
  const $S is_tiny = x < 0x1p-126f;
  const $U offset = as_$U(select(x, x * 0x1p24f, is_tiny)) - 0x3f3504f3u;
  const $T n = convert_$T(as_$S(offset) >> 23) - select(($T)(0.0f), ($T)(24.0f), is_tiny);
  const $T f = as_$T((offset & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  const $T s = f * f;
  $T p = TT_FMA(($T)(-7.63442027e-02f), f, ($T)(1.27615464e-01f));
  p = TT_FMA(p, f, ($T)(-1.31601968e-01f));
  p = TT_FMA(p, f, ($T)(1.42017631e-01f));
  p = TT_FMA(p, f, ($T)(-1.66233564e-01f));
  p = TT_FMA(p, f, ($T)(2.00012266e-01f));
  p = TT_FMA(p, f, ($T)(-2.50008211e-01f));
  p = TT_FMA(p, f, ($T)(3.33333317e-01f));
  $T result = TT_FMA(n, ($T)(0x1.0bfbe8p-15f), p * f * s);
  result = TT_FMA(($T)(-0.5f), s, result) + f;
  result = TT_FMA(n, ($T)(0x1.62ep-1f), result);
  result = select(x, result, x < INFINITY);
  result = select(result, ($T)(-INFINITY), x == 0.0f);
  return select(result, ($T)(NAN), x < 0.0f);
}
)"};

// Payne-Hanek reduction: x * 2 / pi for finite |x| >= 2^13. Multiplies the mantissa of x by the 96
// bits of 2 / pi that yield neither whole turns nor negligible values. Lanes with other arguments
// are unspecified.
constexpr Function kFarQuarters = {"farquarters",
                                   R"(static inline $T tt_farquarters_$T($T x, $S* quarter) {
  const $U bits = as_$U(x);
  const $U at = ((bits >> 23) & 255) - 128, word = at >> 5, shift = at & 31;
  const $S second = word > 0, third = word > 1, fourth = word > 2;
#define TT_WORD(a, b, c, d) \
  select(select(select(($U)(a), ($U)(b), second), ($U)(c), third), ($U)(d), fourth)
  const $U w0 = TT_WORD(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u);
  const $U w1 = TT_WORD(0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u);
  const $U w2 = TT_WORD(0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u);
  const $U w3 = TT_WORD(0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u);
#undef TT_WORD
  const $U m = (bits << 8) | 0x80000000u, back = 31 - shift;
  const $U carried = mul_hi(m, (w2 << shift) | ((w3 >> 1) >> back));
  const $U t1 = (w1 << shift) | ((w2 >> 1) >> back);
  const $U low = m * t1 + carried;
  const $U high = m * ((w0 << shift) | ((w1 >> 1) >> back)) + mul_hi(m, t1) +
                  select(($U)(0u), ($U)(1u), low < carried);
  const $U f1 = (high << 2) | (low >> 30);
  const $U above = as_$U(as_$S(f1) >> 31);
  const $U g1 = f1 ^ above, g0 = (low << 2) ^ above, zeros = clz(g1);
  const $U g = (g1 << zeros) | ((g0 >> 1) >> (31 - zeros));
  const $T upper = convert_$T(g & 0xffffff00u), lower = convert_$T(g & 0xffu);
  $T r = TT_FMA(upper, ($T)(-0x1.777a5cp-25f), lower * 0x1.921fb6p+0f);
  r = TT_FMA(upper, ($T)(0x1.921fb6p+0f), r) * as_$T((95 - zeros) << 23);
  const $U sign = bits & 0x80000000u;
  const $S q = as_$S((high >> 30) - above);
  *quarter = select(q, -q, sign != 0);
  return as_$T(as_$U(r) ^ sign ^ (above & 0x80000000u));
}
)"};

// Cody-Waite reduction: returns x - n pi / 2 for the nearest n, and n's lowest bits in `quarter`.
// The parts of pi / 2 have so few bits that multiplying them by n is exact or fused with the
// subtraction. NaN if x is infinite.
constexpr Function kQuarters = {"quarters", R"(static inline $T tt_quarters_$T($T x, $S* quarter) {
  const $T shifted = TT_FMA(x, ($T)(0x1.45f306p-1f), ($T)(12582912.0f));
  const $T n = shifted - 12582912.0f;
  *quarter = as_$S(shifted);
#ifdef TT_NO_FMA
  $T r = x - n * 0x1.92p+0f;
  r = r - n * 0x1.fb4p-12f;
  r = r - n * 0x1.444p-24f;
  r = r - n * 0x1.68cp-39f;
  r = r - n * 0x1.1a6264p-54f;
  const $S is_far = fabs(x) > 8192.0f & fabs(x) < INFINITY;
#else
  $T r = fma(n, ($T)(-0x1.921fb6p+0f), x);
  r = fma(n, ($T)(0x1.777a5cp-25f), r);
  r = fma(n, ($T)(0x1.ee59dap-50f), r);
  const $S is_far = fabs(x) > 1e5f & fabs(x) < INFINITY;
#endif
  if (any(is_far)) {
    $S far;
    r = select(r, tt_farquarters_$T(x, &far), is_far);
    *quarter = select(*quarter, far, is_far);
  }
  return r;
}
)"};

// sin and cos for arguments up to pi / 4.
constexpr Function kNearSin = {"nearsin", R"(static inline $T tt_nearsin_$T($T r) {
  const $T s = r * r;
  $T p = TT_FMA(($T)(-1.95149567e-04f), s, ($T)(8.3321584e-03f));
  p = TT_FMA(p, s, ($T)(-1.66666546e-01f));
  return TT_FMA(p, r * s, r);
}
)"};

constexpr Function kNearCos = {"nearcos", R"(static inline $T tt_nearcos_$T($T r) {
  const $T s = r * r;
  $T p = TT_FMA(($T)(2.44327841e-05f), s, ($T)(-1.38873131e-03f));
  p = TT_FMA(p, s, ($T)(4.16666456e-02f));
  return TT_FMA(p, s * s, TT_FMA(($T)(-0.5f), s, ($T)(1.0f)));
}
)"};

// Zero arguments are returned directly, because the additions lose the sign of zero.
constexpr Function kSin = {"sin", R"(static inline $T tt_sin_$T($T x) {
  $S q;
  const $T r = tt_quarters_$T(x, &q);
  const $T y = select(tt_nearsin_$T(r), tt_nearcos_$T(r), (q & 1) != 0);
  return select(as_$T(as_$U(y) ^ (as_$U(q & 2) << 30)), x, x == 0.0f);
}
)"};

constexpr Function kCos = {"cos", R"(static inline $T tt_cos_$T($T x) {
  $S q;
  const $T r = tt_quarters_$T(x, &q);
  const $T y = select(tt_nearcos_$T(r), tt_nearsin_$T(r), (q & 1) != 0);
  return as_$T(as_$U(y) ^ (as_$U((q + 1) & 2) << 30));
}
)"};

constexpr Function kTan = {"tan", R"(static inline $T tt_tan_$T($T x) {
  $S q;
  const $T r = tt_quarters_$T(x, &q);
  const $T a = tt_nearsin_$T(r), b = tt_nearcos_$T(r);
  const $S is_odd = (q & 1) != 0;
  return select(select(a, b, is_odd) / select(b, -a, is_odd), x, x == 0.0f);
}
)"};

// Extracts the signed integer of $B bits that starts at bit `shift` of each element, as a float.
// The bits, with the sign bit inverted, are placed in the mantissa of a power of two; subtracting
// that power and half of the range gives the value. Fields in the upper half of a word are used in
// place.
constexpr absl::string_view kSigned =
    R"(static inline $T tt_signed$B_$T($S x, uint shift) {$LOOKUP
  const uint at = shift & 16, sign = 1 << ($B - 1);
  const $U bits = (as_$U(x) >> (shift & 15)) & ((2 * sign - 1) << at);
  return as_$T(bits ^ ((150 - at) << 23 | sign << at)) - (float)((1 << (23 - at)) + sign);
}
)";
// AVX-512 form: a table lookup with 16 entries uses the lowest four bits of each index.
constexpr absl::string_view kSignedOfAvx512 = R"(
#if defined(__AVX512F__) && !defined(TARTAN_PORTABLE)
  const $T numbers = ($T)($NUMBERS);
  return __builtin_ia32_permvarsf512(numbers, as_$S(as_$U(x) >> shift));
#endif)";
constexpr Function kSigned2 = {"signed2", "0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1, 0, 1, -2, -1"};
constexpr Function kSigned4 = {"signed4", "0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1"};

std::string SignedFunction(absl::string_view name, int lanes) {
  const bool has_two = name == kSigned2.name;
  if (!has_two && name != kSigned4.name) return "";
  return absl::StrReplaceAll(
      absl::StrReplaceAll(kSigned, {{"$LOOKUP", lanes == 16 ? kSignedOfAvx512 : ""}}),
      {{"$B", has_two ? "2" : "4"}, {"$NUMBERS", (has_two ? kSigned2 : kSigned4).text}});
}

constexpr Function kFunctions[] = {kExp,         kSigmoid,        kTanh,    kErf,     kLog, kRound,
                                   kFarQuarters, kQuarters,       kNearSin, kNearCos, kSin, kCos,
                                   kTan,         kLiteralQuotient};

// Without an FMA instruction, fma() is a slow function.
constexpr absl::string_view kFma = R"(#if (defined(__x86_64__) || defined(__i386__)) && \
    !defined(__FMA__) && !defined(__FMA4__) && !defined(__AVX512F__)
#define TT_NO_FMA
#define TT_FMA(a, b, c) ((a) * (b) + (c))
#else
#define TT_FMA(a, b, c) fma(a, b, c)
#endif
)";

}  // namespace

std::string FmaDefinition() { return std::string(kFma); }

bool HasVectorFunction(ScalarOp op, const loop::Type& type) {
  return !VectorFunction(Name(op), type).empty();
}

std::string VectorFunction(absl::string_view name, const loop::Type& type) {
  if (type.element != DataType::kFloat32 || type.lanes == 1) return "";
  std::string text = SignedFunction(name, type.lanes);
  for (const Function& function : kFunctions) {
    if (function.name == name) text = std::string(function.text);
  }
  text = absl::StrReplaceAll(text, {{"$QUOTIENT", kQuotient}});
  return absl::StrReplaceAll(
      text, {{"$T", TypeName(type)}, {"$U", UnsignedTypeName(type)}, {"$S", SignedTypeName(type)}});
}

}  // namespace tartan::opencl
