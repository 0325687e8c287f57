// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/dot_functions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {
namespace {

constexpr absl::string_view kDot16 = R"(static inline $T tt_dot16_$T($T a, $T b) {$X86
  const $T low = (as_$T(as_$U(a) << 16) >> 16) * (as_$T(as_$U(b) << 16) >> 16);
  return as_$T(as_$U(low) + as_$U((a >> 16) * (b >> 16)));
}
)";
// x86 form of dot16. LLVM does not generate pmaddwd from the generic form, but merges the builtin
// with an addition (vpdpwssd). $M is Clang's macro for processors with the instruction at this
// vector length. The vector type is Clang's, because OpenCL vectors have at most 16 lanes.
constexpr absl::string_view kDot16OfX86 = R"(
#if defined($M) && !defined(TARTAN_PORTABLE)
  typedef short halves __attribute__((ext_vector_type($H)));
  const halves left = __builtin_astype(a, halves), right = __builtin_astype(b, halves);
  return __builtin_astype(__builtin_ia32_pmaddwd$B(left, right), $T);$NARROWER
#endif)";
// For processors with shorter vectors only. $L is the type with half as many lanes.
constexpr absl::string_view kDot16OfParts = R"(
#elif defined(__SSE2__) && !defined(TARTAN_PORTABLE)
  return ($T)(tt_dot16_$L(a.lo, b.lo), tt_dot16_$L(a.hi, b.hi));)";

constexpr absl::string_view kDot8 = R"(static inline $T tt_dot8_$T($T a, $T b) {$GPU
  const $T even = ((as_$T(as_$U(a) << 24) >> 24) * (as_$T(as_$U(b) << 24) >> 24)) +
                  ((as_$T(as_$U(a) << 8) >> 24) * (as_$T(as_$U(b) << 8) >> 24));
  const $T odd = ((as_$T(as_$U(a) << 16) >> 24) * (as_$T(as_$U(b) << 16) >> 24)) +
                 ((a >> 24) * (b >> 24));
  return even + odd;
}
)";
constexpr absl::string_view kDot8OfGpus = R"(
#if defined(TARTAN_PORTABLE)
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
  return dot_4x8packed_ss_int(as_uint(a), as_uint(b));
#elif defined(TARTAN_DP4A)
  int sum;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(0));
  return sum;
#endif)";
constexpr absl::string_view kDot8OfLanes = R"(
#if defined(TARTAN_PORTABLE)
#elif defined(__opencl_c_integer_dot_product_input_4x8bit_packed) || defined(TARTAN_DP4A)
  return ($T)($CALLS);
#endif)";

constexpr absl::string_view kDot8u = R"(static inline $T tt_dot8u_$T($T a, $T b) {
  const $T low = (a & 255) * (as_$T(as_$U(b) << 24) >> 24) +
                 ((a >> 8) & 255) * (as_$T(as_$U(b) << 16) >> 24);
  const $T high = ((a >> 16) & 255) * (as_$T(as_$U(b) << 8) >> 24) +
                  as_$T(as_$U(a) >> 24) * (b >> 24);
  return low + high;
}
)";
constexpr absl::string_view kSum =
    R"(static inline $T tt_sum$NAME_$T($T sum, $T a, $T b) {$X86
  return as_$T(as_$U(sum) + as_$U(tt_$NAME_$T(a, b)));
}
)";
// vpdpbusd: dot operation of four bytes. LLVM does not generate the instruction. $KNOWN: the
// compiler has a builtin for it.
constexpr absl::string_view kSumDot8uOfX86 = R"(
#if ($KNOWN) && !defined(TARTAN_PORTABLE)
  return __builtin_ia32_vpdpbusd$B(sum, a, b);
#endif)";
// For compilers whose target lacks VNNI although the processor has it. A target attribute does not
// work: PoCL inlines the function into functions without the attribute, which makes LLVM end the
// process.
constexpr absl::string_view kSumOfVnni = R"(
#if defined(TARTAN_AVX512_VNNI) && !defined(__AVX512VNNI__) && !defined(TARTAN_PORTABLE)
  __asm__(TT_EVEX("0x7d", "$OPCODE", "$LENGTH", "$REGISTER") : "+v"(sum) : "v"(a), "v"(b));
  return sum;
#endif)";

constexpr absl::string_view kDotBFloat16 = R"(static inline $F tt_dotbf16_$I($I a, $I b) {
  return tt_sumdotbf16_$F(($F)(0), a, b);
}
)";
// The instruction (vdpbf16ps) flushes subnormal values (below 2^-126) to 0.
constexpr absl::string_view kSumDotBFloat16 =
    R"(static inline $F tt_sumdotbf16_$F($F sum, $I a, $I b) {$X86
  const $F upper = TT_FMA(as_$F(as_$U(a) & 0xffff0000u), as_$F(as_$U(b) & 0xffff0000u), sum);
  return TT_FMA(as_$F(as_$U(a) << 16), as_$F(as_$U(b) << 16), upper);
}
)";
constexpr absl::string_view kSumOfBFloat16OfX86 = R"(
#if defined(TARTAN_AVX512_BF16) && !defined(TARTAN_PORTABLE)
  __asm__(TT_EVEX("0x7e", "0x52", "$LENGTH", "$REGISTER") : "+v"(sum) : "v"(a), "v"(b));
  return sum;
#endif)";

// Rounds to nearest, ties to even; NaN stays NaN.
constexpr absl::string_view kPairBFloat16 = R"(static inline $I tt_pairbf16_$F($F low, $F high) {
  const $U x = as_$U(low), y = as_$U(high);
  const $U lower = low != low ? (x >> 16) | 0x40u : (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
  const $U upper = high != high ? y | 0x400000u : y + 0x7fffu + ((y >> 16) & 1u);
  return as_$I(lower | (upper & 0xffff0000u));
}
)";

// Encodes an instruction EVEX.0F38.W0 whose operands sum, a, b are the destination, the first and
// the second source register. The assembler determines the registers' numbers and computes the
// bytes (Intel SDM, volume 2, 2.7.1); some of the encoded bits are inverted. `prefix` is the third
// byte (0x7d for EVEX.66, 0x7e for EVEX.F3), `length` the fourth.
constexpr absl::string_view kEvex = R"evex(#define TT_EVEX(prefix, opcode, length, name) \
  ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n" \
  ".ifc %0,%%" name "\\r\n.set .Ltt_d,\\r\n.endif\n" \
  ".ifc %1,%%" name "\\r\n.set .Ltt_a,\\r\n.endif\n" \
  ".ifc %2,%%" name "\\r\n.set .Ltt_b,\\r\n.endif\n" \
  ".endr\n" \
  ".byte 0x62, 0xf2 ^ ((.Ltt_d & 8) << 4) ^ ((.Ltt_b & 24) << 2) ^ (.Ltt_d & 16), " \
  prefix " ^ ((.Ltt_a & 15) << 3), " length " ^ ((.Ltt_a & 16) >> 1), " opcode ", " \
  "0xc0 + ((.Ltt_d & 7) << 3) + (.Ltt_b & 7)"
)evex";

std::string FillIn(absl::string_view text, const loop::Type& type) {
  return absl::StrReplaceAll(text, {{"$T", TypeName(type)}, {"$U", UnsignedTypeName(type)}});
}

std::string Dot16(const loop::Type& type) {
  std::string macro;
  if (type.lanes == 4) macro = "__SSE2__";
  if (type.lanes == 8) macro = "__AVX2__";
  if (type.lanes == 16) macro = "__AVX512BW__";
  std::string x86;
  if (!macro.empty()) {
    const std::string part = TypeName(loop::Type{type.element, type.lanes / 2});
    const std::string narrower =
        type.lanes > 4 ? absl::StrReplaceAll(kDot16OfParts, {{"$L", part}}) : "";
    x86 = absl::StrReplaceAll(kDot16OfX86, {{"$M", macro},
                                            {"$B", absl::StrCat(32 * type.lanes)},
                                            {"$H", absl::StrCat(2 * type.lanes)},
                                            {"$NARROWER", narrower}});
  }
  return FillIn(absl::StrReplaceAll(kDot16, {{"$X86", x86}}), type);
}

std::string Dot8(const loop::Type& type) {
  const std::string gpu =
      type.lanes == 1 ? std::string(kDot8OfGpus)
                      : absl::StrReplaceAll(kDot8OfLanes, {{"$CALLS", CallsOfLanes("dot8", type)}});
  return FillIn(absl::StrReplaceAll(kDot8, {{"$GPU", gpu}}), type);
}

// Arguments of TT_EVEX for registers with `lanes` elements of 32 bits.
absl::string_view Length(int lanes) { return lanes == 16 ? "0x48" : lanes == 8 ? "0x28" : "0x08"; }
absl::string_view Register(int lanes) { return lanes == 16 ? "zmm" : lanes == 8 ? "ymm" : "xmm"; }

std::string Sum(absl::string_view name, absl::string_view opcode, absl::string_view builtin,
                const loop::Type& type) {
  std::string x86;
  if (type.lanes == 4 || type.lanes == 8 || type.lanes == 16) {
    const absl::string_view known = type.lanes == 16
                                        ? "defined(__AVX512VNNI__)"
                                        : "defined(__AVXVNNI__) || (defined(__AVX512VNNI__) && "
                                          "defined(__AVX512VL__))";
    x86 = absl::StrReplaceAll(absl::StrCat(builtin, kSumOfVnni),
                              {{"$KNOWN", known},
                               {"$B", absl::StrCat(32 * type.lanes)},
                               {"$OPCODE", opcode},
                               {"$LENGTH", Length(type.lanes)},
                               {"$REGISTER", Register(type.lanes)}});
  }
  return FillIn(absl::StrReplaceAll(kSum, {{"$NAME", name}, {"$X86", x86}}), type);
}

// Substitutes $F, $I and $U by float32, int32 and uint32 with the lanes of `type`.
std::string OfBFloat16(absl::string_view text, const loop::Type& type) {
  const bool has_instruction = type.lanes == 4 || type.lanes == 8 || type.lanes == 16;
  return absl::StrReplaceAll(
      absl::StrReplaceAll(text, {{"$X86", has_instruction ? kSumOfBFloat16OfX86 : ""}}),
      {{"$F", TypeName({DataType::kFloat32, type.lanes})},
       {"$I", TypeName({DataType::kInt32, type.lanes})},
       {"$U", TypeName({DataType::kUInt32, type.lanes})},
       {"$LENGTH", Length(type.lanes)},
       {"$REGISTER", Register(type.lanes)}});
}

}  // namespace

std::string DotFunction(absl::string_view name, const loop::Type& type) {
  if (name == "dot16") return Dot16(type);
  if (name == "dot8") return Dot8(type);
  if (name == "dot8u") return FillIn(kDot8u, type);
  if (name == "pairbf16") return OfBFloat16(kPairBFloat16, type);
  if (name == "dotbf16") return OfBFloat16(kDotBFloat16, type);
  if (name == "sumdotbf16") return OfBFloat16(kSumDotBFloat16, type);
  if (name == "sumdot16") return Sum("dot16", "0x52", "", type);
  if (name == "sumdot8u") return Sum("dot8u", "0x50", kSumDot8uOfX86, type);
  return "";
}

std::string EvexDefinition() { return std::string(kEvex); }

}  // namespace tartan::opencl
