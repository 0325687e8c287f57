// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/plaidml_names.h"

namespace tartan::lang {
namespace {

struct Advice {
  absl::string_view function;
  absl::string_view text;
};

constexpr Advice kAdvice[] = {
    {"argmax",
     "write argsort(T, axis, 1) and take its first element, or M[i : N] = >(T[i, j]) and "
     "compare"},
    {"cast", "write as_float(x, 32), as_int(x, 32), as_uint(x, 8), as_bfloat(x) or as_bool(x)"},
    {"clip", "write min(max(x, low), high)"},
    {"log_softmax",
     "write M[i, 0 : N, 1] = >(X[i, j]); D = X - M; S[i, 0 : N, 1] = +(E[i, j]); O = D - "
     "log(S); with E = exp(D) before S"},
    {"mean", "write a contraction, S[i : N] = +(A[i, j]), and divide by the size"},
    {"prod", "write a contraction: O[i : N] = *(A[i, j])"},
    {"quantize", "write as_int(round(x), 8)"},
    {"rsqrt", "write 1 / sqrt(x)"},
    {"simple_reduce", "write a contraction over the axes to be summed: O[i : N] = +(A[i, j])"},
    {"softmax",
     "write M[i, 0 : N, 1] = >(X[i, j]); E = exp(X - M); S[i, 0 : N, 1] = +(E[i, j]); O = "
     "E / S"},
    {"square", "write x * x"},
    {"sum", "write a contraction: O[i : N] = +(A[i, j])"},
    {"transpose", "write a contraction: O[j, i : N, M] = =(A[i, j])"},
    {"where", "write C ? A : B"}};

}  // namespace

absl::string_view AdviceOnFunction(absl::string_view name) {
  for (const Advice& advice : kAdvice) {
    if (advice.function == name) return advice.text;
  }
  return "";
}

}  // namespace tartan::lang
