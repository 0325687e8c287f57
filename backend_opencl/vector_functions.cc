#include "backend_opencl/vector_functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/opencl_types.h"

namespace tartan::opencl {
namespace {

// $T is the vector, $U and $S the unsigned and signed integers as wide. Polynomials and quotients
// of polynomials are fitted to the least relative error; Horner's rule with fused steps.
//
// select(a, b, c) with the comparison of a and b as c is one instruction that leaves NaN alone.
struct Function {
  absl::string_view name;
  absl::string_view text;
};

// x = n ln 2 + r, and 2^n in two factors so that subnormal results are rounded once. Adding 1.5 *
// 2^23 rounds to an integer and leaves it, with 254 added, in the lowest bits.
constexpr Function kExp = {"exp", R"(static inline $T tt_exp_$T($T x) {
  $T y = select(x, ($T)(89.5f), x > 89.5f);
  y = select(y, ($T)(-104.0f), y < -104.0f);
  const $T shifted = fma(y, ($T)(1.44269504f), ($T)(12583166.0f));
  const $T n = shifted - 12583166.0f;
  $T r = fma(n, ($T)(-0x1.62ep-1f), y);
  r = fma(n, ($T)(-0x1.0bfbe8p-15f), r);
  $T p = fma(($T)(1.38146081e-03f), r, ($T)(8.36871137e-03f));
  p = fma(p, r, ($T)(4.16683875e-02f));
  p = fma(p, r, ($T)(1.66665207e-01f));
  p = fma(p, r, ($T)(4.99999935e-01f));
  p = fma(p, r, ($T)(1.0f));
  p = fma(p, r, ($T)(1.0f));
  const $U scale = as_$U(shifted) << 23;
  const $U half_scale = (scale >> 1) & 0xff800000u;
  return p * as_$T(scale - half_scale) * as_$T(half_scale);
}
)"};

// 1 / (1 + exp(-x)), exp as above but for its small results, which do not matter: 2 p times
// 2^(n - 1), which reaches infinity.
constexpr Function kSigmoid = {"sigmoid", R"(static inline $T tt_sigmoid_$T($T x) {
  $T y = select(x, ($T)(87.5f), x > 87.5f);
  y = select(y, ($T)(-89.0f), y < -89.0f);
  const $T shifted = fma(y, ($T)(-1.44269504f), ($T)(12583038.0f));
  const $T n = shifted - 12583038.0f;
  $T r = fma(n, ($T)(0x1.62ep-1f), y);
  r = fma(n, ($T)(0x1.0bfbe8p-15f), r);
  $T p = fma(($T)(2.76292162e-03f), r, ($T)(-1.67374227e-02f));
  p = fma(p, r, ($T)(8.33367750e-02f));
  p = fma(p, r, ($T)(-3.33330414e-01f));
  p = fma(p, r, ($T)(9.99999870e-01f));
  p = fma(p, r, ($T)(-2.0f));
  p = fma(p, r, ($T)(2.0f));
  return 1.0f / fma(p, as_$T(as_$U(shifted) << 23), ($T)(1.0f));
}
)"};

// x P(x^2) / Q(x^2) up to where the function rounds to 1.
constexpr Function kTanh = {"tanh", R"(static inline $T tt_tanh_$T($T x) {
  $T y = select(x, ($T)(9.02f), x > 9.02f);
  y = select(y, ($T)(-9.02f), y < -9.02f);
  const $T s = y * y;
  $T p = fma(($T)(1.33199662e-08f), s, ($T)(2.05841980e-05f));
  p = fma(p, s, ($T)(3.49408102e-03f));
  p = fma(p, s, ($T)(1.33797580e-01f));
  p = fma(p, s, ($T)(1.0f));
  $T q = fma(($T)(7.76240683e-07f), s, ($T)(3.28316682e-04f));
  q = fma(q, s, ($T)(2.58712528e-02f));
  q = fma(q, s, ($T)(4.67130732e-01f));
  q = fma(q, s, ($T)(1.0f));
  $T result = y * p / q;
  result = select(result, ($T)(1.0f), result > 1.0f);
  return select(result, ($T)(-1.0f), result < -1.0f);
}
)"};

constexpr Function kErf = {"erf", R"(static inline $T tt_erf_$T($T x) {
  $T y = select(x, ($T)(3.93f), x > 3.93f);
  y = select(y, ($T)(-3.93f), y < -3.93f);
  const $T s = y * y;
  $T p = fma(($T)(2.04208173e-06f), s, ($T)(2.84801391e-04f));
  p = fma(p, s, ($T)(3.77916793e-03f));
  p = fma(p, s, ($T)(5.27889158e-02f));
  p = fma(p, s, ($T)(1.90773102e-01f));
  p = fma(p, s, ($T)(1.12837915e+00f));
  $T q = fma(($T)(3.80048672e-05f), s, ($T)(1.16511131e-03f));
  q = fma(q, s, ($T)(1.49965452e-02f));
  q = fma(q, s, ($T)(1.14253132e-01f));
  q = fma(q, s, ($T)(5.02400981e-01f));
  q = fma(q, s, ($T)(1.0f));
  $T result = y * p / q;
  result = select(result, ($T)(1.0f), result > 1.0f);
  return select(result, ($T)(-1.0f), result < -1.0f);
}
)"};

// x = 2^n (1 + f) with 1 + f between the roots of 1/2 and 2; log(1 + f) = f - f^2/2 + f^3 p(f).
constexpr Function kLog = {"log", R"(static inline $T tt_log_$T($T x) {
  const $S is_tiny = x < 0x1p-126f;
  const $U offset = as_$U(select(x, x * 0x1p24f, is_tiny)) - 0x3f3504f3u;
  const $T n = convert_$T(as_$S(offset) >> 23) - select(($T)(0.0f), ($T)(24.0f), is_tiny);
  const $T f = as_$T((offset & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  const $T s = f * f;
  $T p = fma(($T)(-7.63442027e-02f), f, ($T)(1.27615464e-01f));
  p = fma(p, f, ($T)(-1.31601968e-01f));
  p = fma(p, f, ($T)(1.42017631e-01f));
  p = fma(p, f, ($T)(-1.66233564e-01f));
  p = fma(p, f, ($T)(2.00012266e-01f));
  p = fma(p, f, ($T)(-2.50008211e-01f));
  p = fma(p, f, ($T)(3.33333317e-01f));
  $T result = fma(n, ($T)(0x1.0bfbe8p-15f), p * f * s);
  result = fma(($T)(-0.5f), s, result) + f;
  result = fma(n, ($T)(0x1.62ep-1f), result);
  result = select(x, result, x < INFINITY);
  result = select(result, ($T)(-INFINITY), x == 0.0f);
  return select(result, ($T)(NAN), x < 0.0f);
}
)"};

constexpr Function kFunctions[] = {kExp, kSigmoid, kTanh, kErf, kLog};

}  // namespace

bool HasVectorFunction(ScalarOp op, const sem::Type& type) {
  return !VectorFunction(Name(op), type).empty();
}

std::string VectorFunction(absl::string_view name, const sem::Type& type) {
  if (type.element != DataType::kFloat32 || type.lanes == 1) return "";
  for (const Function& function : kFunctions) {
    if (function.name != name) continue;
    return absl::StrReplaceAll(
        function.text,
        {{"$T", TypeName(type)}, {"$U", UnsignedTypeName(type)}, {"$S", SignedTypeName(type)}});
  }
  return "";
}

}  // namespace tartan::opencl
