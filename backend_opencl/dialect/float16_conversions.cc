// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/float16_conversions.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "backend_opencl/dialect/hidden_assembly.h"
#include "backend_opencl/dialect/opencl_types.h"

namespace tartan::opencl {
namespace {

struct Conversion {
  absl::string_view prefix;
  absl::string_view text;
};

constexpr absl::string_view kFromBFloat16 = R"(static inline $F tt_from_bfloat16_$H($H bits) {
  return as_$F(convert_$I(bits) << 16);
}
)";

// Rounds to nearest, ties to even; NaN stays NaN. GPUs with tensor cores use an instruction.
constexpr absl::string_view kToBFloat16 = R"(static inline $H tt_to_bfloat16_$F($F x) {$PAIRS
  const $I bits = as_$I(x);
  const $I rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return convert_$H(x != x ? (bits >> 16) | 0x40u : rounded);
}
)";

// Rounds to a bfloat16 value but stays float32.
constexpr absl::string_view kRoundBFloat = R"(static inline $F tt_roundbfloat_$F($F x) {$ROUNDED
  const $I bits = as_$I(x);
  const $I rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return as_$F((x != x ? bits | 0x400000u : rounded) & 0xffff0000u);
}
)";
// Half values below 2^-14 have the spacing of float values between 1/2 and 1.
constexpr absl::string_view kRoundHalf = R"(static inline $F tt_roundhalf_$F($F x) {
  const $I sign = as_$I(x) & 0x80000000u;
  const $I size = as_$I(x) ^ sign;
  const $I tiny = as_$I((as_$F(size) + 0.5f) - 0.5f);
  $I rounded = (size + 0xfffu + ((size >> 13) & 1u)) & 0xffffe000u;
  rounded = size < 0x38800000u ? tiny : rounded;
  rounded = rounded > 0x477fe000u ? ($I)(0x7f800000u) : rounded;
  return as_$F((x != x ? size : rounded) | sign);
}
)";

// PoCL requires vector alignment for vload_half and vstore_half at any address. The bits are
// therefore loaded or stored separately from their conversion.
constexpr absl::string_view kFromHalf = R"(static inline $F tt_from_half_$H($H bits) {
  return vload_half$N(0, (const half*)&bits);
}
)";
constexpr absl::string_view kToHalf = R"(static inline $H tt_to_half_$F($F x) {
  $H bits;
  vstore_half$N_rte(x, 0, (half*)&bits);
  return bits;
}
)";

constexpr Conversion kFloat16Conversions[] = {
    {"from_half_", kFromHalf},         {"to_half_", kToHalf},
    {"roundhalf_", kRoundHalf},        {"roundbfloat_", kRoundBFloat},
    {"from_bfloat16_", kFromBFloat16}, {"to_bfloat16_", kToBFloat16},
};

// Text for GPUs with tensor cores. One instruction rounds two elements to the lower and upper 16
// bits of an element of `words`. The text returns `result`.
std::string RoundedPairs(int lanes, const std::string& result) {
  std::string text =
      absl::StrCat("\n#if defined(", kHasMatrixUnit,
                   ") && !defined(TARTAN_PORTABLE)\n  uint words[", (lanes + 1) / 2, "];\n");
  for (int lane = 0; lane < lanes; lane += 2) {
    const auto element = [&](int number) {
      return lanes == 1 ? std::string("x") : absl::StrCat("x.s", absl::Hex(number));
    };
    absl::StrAppend(&text, "  __asm__(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(words[", lane / 2,
                    "]) : \"f\"(", lanes == 1 ? "0.0f" : element(lane + 1), "), \"f\"(",
                    element(lane), "));\n");
  }
  return absl::StrCat(text, "  return ", result, ";\n#endif");
}

std::string Listed(const std::vector<std::string>& words, absl::string_view type) {
  if (words.size() == 1) return words[0];
  return absl::StrCat("(", type, words.size(), ")(", absl::StrJoin(words, ", "), ")");
}

// Returns the rounded elements as 16-bit integers.
std::string PairsAsBits(int lanes) {
  if (lanes == 1) return RoundedPairs(1, "(ushort)words[0]");
  std::vector<std::string> words;
  for (int pair = 0; pair < lanes / 2; ++pair) words.push_back(absl::StrCat("words[", pair, "]"));
  return RoundedPairs(lanes, absl::StrCat("as_$H(", Listed(words, "uint"), ")"));
}

// Returns the rounded elements as float32.
std::string PairsAsFloats(int lanes) {
  std::vector<std::string> bits;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::string word = absl::StrCat("words[", lane / 2, "]");
    bits.push_back(lane % 2 == 0 ? absl::StrCat(word, " << 16")
                                 : absl::StrCat(word, " & 0xffff0000u"));
  }
  return RoundedPairs(lanes, absl::StrCat("as_$F(", Listed(bits, "uint"), ")"));
}

// Substitutes the types of a conversion between float32 and the bits of a 16-bit float.
std::string Float16ConversionHelper(absl::string_view text, int lanes) {
  const std::string count = lanes == 1 ? "" : absl::StrCat(lanes);
  return absl::StrReplaceAll(absl::StrReplaceAll(text, {{"$PAIRS", PairsAsBits(lanes)},
                                                        {"$ROUNDED", PairsAsFloats(lanes)}}),
                             {{"$F", absl::StrCat("float", count)},
                              {"$N", count},
                              {"$H", absl::StrCat("ushort", count)},
                              {"$I", absl::StrCat("uint", count)}});
}

}  // namespace

std::string Float16Conversion(absl::string_view name) {
  for (const Conversion& conversion : kFloat16Conversions) {
    if (!absl::ConsumePrefix(&name, conversion.prefix)) continue;
    return Float16ConversionHelper(conversion.text, TypeFromName(name).lanes);
  }
  return "";
}

}  // namespace tartan::opencl
