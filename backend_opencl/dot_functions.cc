#include "backend_opencl/dot_functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/opencl_helpers.h"
#include "backend_opencl/opencl_types.h"

namespace tartan::opencl {
namespace {

constexpr absl::string_view kDot16 = R"(static inline $T tt_dot16_$T($T a, $T b) {$X86
  const $T low = (as_$T(as_$U(a) << 16) >> 16) * (as_$T(as_$U(b) << 16) >> 16);
  return as_$T(as_$U(low) + as_$U((a >> 16) * (b >> 16)));
}
)";
// LLVM does not find the instruction in that. $M is Clang's macro for processors that have it for
// as many bits. The language's own vectors end at 16 lanes, Clang's do not.
constexpr absl::string_view kDot16OfX86 = R"(
#ifdef $M
  typedef short halves __attribute__((ext_vector_type($H)));
  const halves left = __builtin_astype(a, halves), right = __builtin_astype(b, halves);
  return __builtin_astype(__builtin_ia32_pmaddwd$B(left, right), $T);
#endif)";

constexpr absl::string_view kDot8 = R"(static inline $T tt_dot8_$T($T a, $T b) {$GPU
  const $T even = ((as_$T(as_$U(a) << 24) >> 24) * (as_$T(as_$U(b) << 24) >> 24)) +
                  ((as_$T(as_$U(a) << 8) >> 24) * (as_$T(as_$U(b) << 8) >> 24));
  const $T odd = ((as_$T(as_$U(a) << 16) >> 24) * (as_$T(as_$U(b) << 16) >> 24)) +
                 ((a >> 24) * (b >> 24));
  return even + odd;
}
)";
// TARTAN_DP4A is a build option.
constexpr absl::string_view kDot8OfGpus = R"(
#if defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
  return dot_4x8packed_ss_int(as_uint(a), as_uint(b));
#elif defined(TARTAN_DP4A)
  int sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(0));
  return sum;
#endif)";
constexpr absl::string_view kDot8OfLanes = R"(
#if defined(__opencl_c_integer_dot_product_input_4x8bit_packed) || defined(TARTAN_DP4A)
  return ($T)($CALLS);
#endif)";

std::string Substitute(absl::string_view text, const sem::Type& type) {
  return absl::StrReplaceAll(text, {{"$T", TypeName(type)}, {"$U", UnsignedTypeName(type)}});
}

std::string Dot16(const sem::Type& type) {
  std::string macro;
  if (type.lanes == 4) macro = "__SSE2__";
  if (type.lanes == 8) macro = "__AVX2__";
  if (type.lanes == 16) macro = "__AVX512BW__";
  const std::string bits = absl::StrCat(32 * type.lanes);
  const std::string halves = absl::StrCat(2 * type.lanes);
  const std::string x86 =
      macro.empty()
          ? ""
          : absl::StrReplaceAll(kDot16OfX86, {{"$M", macro}, {"$B", bits}, {"$H", halves}});
  return Substitute(absl::StrReplaceAll(kDot16, {{"$X86", x86}}), type);
}

std::string Dot8(const sem::Type& type) {
  const std::string gpu =
      type.lanes == 1 ? std::string(kDot8OfGpus)
                      : absl::StrReplaceAll(kDot8OfLanes, {{"$CALLS", CallsOfLanes("dot8", type)}});
  return Substitute(absl::StrReplaceAll(kDot8, {{"$GPU", gpu}}), type);
}

}  // namespace

std::string DotFunction(absl::string_view name, const sem::Type& type) {
  return name == "dot16" ? Dot16(type) : Dot8(type);
}

}  // namespace tartan::opencl
