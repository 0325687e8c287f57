// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/opencl_helpers.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "backend_opencl/dialect/dot_functions.h"
#include "backend_opencl/dialect/float16_conversions.h"
#include "backend_opencl/dialect/matrix_functions.h"
#include "backend_opencl/dialect/opencl_memory.h"
#include "backend_opencl/dialect/opencl_types.h"
#include "backend_opencl/dialect/team_barrier.h"
#include "backend_opencl/dialect/vector_functions.h"

namespace tartan::opencl {
namespace {

using loop::Type;

// Placeholders: $T is the type, $U and $S the unsigned and signed integers of the same width, $W
// that width in bits.
struct Helper {
  absl::string_view name;
  absl::string_view text;
};

constexpr Helper kSignedHelpers[] = {
    {"div", R"(static inline $T tt_div_$T($T a, $T b) {
  return b == 0 ? 0 : b == -1 ? ($T)-($U)a : a / b;
}
)"},
    {"rem", R"(static inline $T tt_rem_$T($T a, $T b) {
  return b == 0 || b == -1 ? 0 : a % b;
}
)"},
    {"mod", R"(static inline $T tt_mod_$T($T a, $T b) {
  const $T r = tt_rem_$T(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"pow", R"(static inline $T tt_pow_$T($T base, $T exponent) {
  // `base` rather than -1: NVIDIA's ptxas 13.0 returned 1 for pow(x, x) of the char x = -1.
  if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : (exponent & 1) != 0 ? base : 1;
  $U result = 1;
  for ($U factor = base; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= factor;
    factor *= factor;
  }
  return ($T)result;
}
)"},
    {"shl", R"(static inline $T tt_shl_$T($T a, $T b) {
  return b >= 0 && b < $W ? ($T)(($U)a << b) : 0;
}
)"},
    {"shr", R"(static inline $T tt_shr_$T($T a, $T b) {
  return b >= 0 && b < $W ? a >> b : a < 0 ? -1 : 0;
}
)"},
};

constexpr Helper kUnsignedHelpers[] = {
    {"div", R"(static inline $T tt_div_$T($T a, $T b) {
  return b == 0 ? 0 : a / b;
}
)"},
    {"rem", R"(static inline $T tt_rem_$T($T a, $T b) {
  return b == 0 ? 0 : a % b;
}
)"},
    {"pow", R"(static inline $T tt_pow_$T($T base, $T exponent) {
  $T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}
)"},
    {"shl", R"(static inline $T tt_shl_$T($T a, $T b) {
  return b < $W ? a << b : 0;
}
)"},
    {"shr", R"(static inline $T tt_shr_$T($T a, $T b) {
  return b < $W ? a >> b : 0;
}
)"},
};

// fmax and fmin ignore NaN; these helpers propagate it. The sum of -0 and 0 is 0.
constexpr Helper kFloatHelpers[] = {
    {"max", R"(static inline $T tt_max_$T($T a, $T b) {
  return a > b || a != a ? a : b;
}
)"},
    {"min", R"(static inline $T tt_min_$T($T a, $T b) {
  return a < b || a != a ? a : b;
}
)"},
    {"relu", R"(static inline $T tt_relu_$T($T x) {
  return x < 0 ? 0 : x;
}
)"},
    {"sign", R"(static inline $T tt_sign_$T($T x) {
  return x > 0 ? 1 : x < 0 ? -1 : x + 0;
}
)"},
    {"fmod", R"(static inline $T tt_fmod_$T($T a, $T b) {
  return fmod(a, b);
}
)"},
    {"pow", R"(static inline $T tt_pow_$T($T a, $T b) {
  return pow(a, b);
}
)"},
    {"mod", R"(static inline $T tt_mod_$T($T a, $T b) {
  const $T r = fmod(a, b);
  if (r == 0) return copysign(($T)0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
)"},
};

// The selection in max and min is one x86 instruction, which returns b if either operand is NaN.
// All bits set are a NaN, too.
constexpr Helper kFloatVectorHelpers[] = {
    {"max", R"(static inline $T tt_max_$T($T a, $T b) {
  return as_$T(as_$S(a > b ? a : b) | (a != a));
}
)"},
    {"min", R"(static inline $T tt_min_$T($T a, $T b) {
  return as_$T(as_$S(a < b ? a : b) | (a != a));
}
)"},
    {"relu", R"(static inline $T tt_relu_$T($T x) {
  return select(x, ($T)(0), x < 0);
}
)"},
    {"sign", R"(static inline $T tt_sign_$T($T x) {
  return select(select(x + 0, ($T)(-1), x < 0), ($T)(1), x > 0);
}
)"},
};

// The offset of all launches is 0, which compilers do not know: they cannot find the negation.
constexpr absl::string_view kNegated =
    R"(static inline $T tt_negated_$T($T x) {
  return as_$T(($U)((uint)get_global_offset(0)) - as_$U(x));
}
)";

constexpr absl::string_view kStream =
    R"(static inline void tt_stream_$T(__global $T* to, $T value) {
#if defined(__has_builtin) && !defined(TARTAN_PORTABLE)
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(value, to);
  return;
#endif
#endif
  *to = value;
}
)";

// OpenCL's prefetch does nothing in drivers for CPUs. "_for_later" prefetches into the L2 cache.
constexpr absl::string_view kPrefetch =
    R"(static inline void tt_prefetch$N(const __global void* at) {
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(TARTAN_PORTABLE)
  __builtin_prefetch((const void*)(size_t)at, 0, $L);
#endif
}
)";

// Atomic update by compare-and-swap of the aligned word that contains the element. $N is the word's
// type, $C its compare-and-exchange function. $GET extracts the element `old` from `seen`; $PUT
// inserts `updated` and yields the word `next`.
constexpr absl::string_view kAtomicLoop =
    R"(static inline void $NAME(volatile $P* element, $T value) {
  volatile $SPACE $N* word = (volatile $SPACE $N*)$ALIGNED;$SHIFT
  $N seen = *word;
  while (true) {
    $GET
    const $T updated = $UPDATE;
    $PUT
    const $N found = $C(word, seen, next);
    if (found == seen) break;
    seen = found;
  }
}
)";

std::string Substitute(absl::string_view text, const Type& type) {
  return absl::StrReplaceAll(text, {{"$T", TypeName(type)},
                                    {"$S", SignedTypeName(type)},
                                    {"$U", UnsignedTypeName(type)},
                                    {"$W", absl::StrCat(8 * ByteWidth(type.element))}});
}

std::string FindHelper(absl::Span<const Helper> helpers, absl::string_view name, const Type& type) {
  for (const Helper& helper : helpers) {
    if (helper.name == name) return Substitute(helper.text, type);
  }
  return "";
}

// Defines a vector function that calls the scalar function for each lane.
std::string LaneByLane(absl::string_view name, const Type& type) {
  return Substitute(absl::StrCat("static inline $T tt_", name, "_$T($T a, $T b) {\n  return ($T)(",
                                 CallsOfLanes(name, type), ");\n}\n"),
                    type);
}

std::string ArithmeticHelper(absl::string_view name, const Type& type) {
  if (name == "stream") return Substitute(kStream, type);
  if (name == "negated") return Substitute(kNegated, type);
  if (std::string function = DotFunction(name, type); !function.empty()) return function;
  if (std::string function = VectorFunction(name, type); !function.empty()) return function;
  if (IsFloat(type.element)) {
    const std::string scalar = FindHelper(kFloatHelpers, name, Type{type.element, 1});
    if (type.lanes == 1 || scalar.empty()) return scalar;
    const std::string vector = FindHelper(kFloatVectorHelpers, name, type);
    return vector.empty() ? LaneByLane(name, type) : vector;
  }
  const bool is_signed = IsSignedInteger(type.element);
  const std::string scalar = is_signed ? FindHelper(kSignedHelpers, name, Type{type.element, 1})
                                       : FindHelper(kUnsignedHelpers, name, Type{type.element, 1});
  return type.lanes == 1 || scalar.empty() ? scalar : LaneByLane(name, type);
}

// Statements that extract the element from a word and insert it.
struct WordAccess {
  std::string get, put;
};

WordAccess WholeWord(absl::string_view value_type, absl::string_view word_type) {
  return {absl::StrCat("const ", value_type, " old = as_", value_type, "(seen);"),
          absl::StrCat("const ", word_type, " next = as_", word_type, "(updated);")};
}

WordAccess PartOfWord(absl::string_view stored, int64_t bytes) {
  const std::string bits = bytes == 1 ? "uchar" : "ushort";
  const std::string mask = bytes == 1 ? "0xffu" : "0xffffu";
  const std::string part =
      absl::StrCat("const ", bits, " old_bits = (", bits, ")(seen >> shift);\n    ");
  const std::string join = absl::StrCat("const uint next = (seen & ~(", mask,
                                        " << shift)) | ((uint)new_bits << shift);");
  std::string get, put;
  if (stored == "half") {
    get = "const float old = vload_half(0, (const half*)&old_bits);";
    put = "ushort new_bits;\n    vstore_half_rte(updated, 0, (half*)&new_bits);\n    ";
  } else if (stored == "bfloat16") {
    get = "const float old = tt_from_bfloat16_ushort(old_bits);";
    put = "const ushort new_bits = tt_to_bfloat16_float(updated);\n    ";
  } else {
    const std::string value = stored == "bool" ? "uchar" : std::string(stored);
    get = absl::StrCat("const int old = (", value, ")old_bits;");
    put = absl::StrCat("const ", bits, " new_bits = (", bits, ")updated;\n    ");
  }
  return {part + get, put + join};
}

std::string AtomicUpdate(absl::string_view op, absl::string_view stored, bool is_float,
                         absl::string_view value_type) {
  if (stored == "bool") return op == "add" || op == "max" ? "old | value" : "old & value";
  if (op == "add") return "old + value";
  if (op == "mul") return "old * value";
  if (is_float) return absl::StrCat("tt_", op, "_", value_type, "(old, value)");
  return absl::StrCat(op, "(old, value)");
}

// Defines tt_atomic_<op>_<stored>_<space>.
std::string AtomicHelper(absl::string_view name) {
  const std::vector<std::string> parts =
      absl::StrSplit(name, '_');  // tt, atomic, op, stored, space
  if (parts.size() != 5) return "";
  const std::string& op = parts[2];
  const std::string& stored = parts[3];
  const bool is_16_bit_float = stored == "half" || stored == "bfloat16";
  Type type = is_16_bit_float ? Type{DataType::kFloat32, 1} : TypeFromName(stored);
  int64_t bytes = is_16_bit_float ? 2 : ByteWidth(type.element);
  if (stored == "bool") bytes = 1;
  const bool narrow = bytes < 4;
  // Elements narrower than a word are computed as int.
  const std::string value_type = narrow && !is_16_bit_float ? "int" : TypeName(type);
  const std::string word_type = bytes == 8 ? "ulong" : "uint";
  const WordAccess access = narrow ? PartOfWord(stored, bytes) : WholeWord(value_type, word_type);
  const std::string memory = stored == "bool" ? "uchar" : stored == "bfloat16" ? "ushort" : stored;
  const std::string space = absl::StrCat("__", parts[4]);
  return absl::StrReplaceAll(
      kAtomicLoop, {{"$NAME", name},
                    {"$P", absl::StrCat(space, " ", memory)},
                    {"$SPACE", space},
                    {"$ALIGNED", narrow ? "((size_t)element & ~(size_t)3)" : "element"},
                    {"$SHIFT", narrow ? "\n  const uint shift = ((size_t)element & 3) * 8;" : ""},
                    {"$GET", access.get},
                    {"$PUT", access.put},
                    {"$UPDATE", AtomicUpdate(op, stored, IsFloat(type.element), value_type)},
                    {"$C", bytes == 8 ? "atom_cmpxchg" : "atomic_cmpxchg"},
                    {"$N", word_type},
                    {"$T", value_type}});
}

// Defines tt_saturate_<to>_<from>.
std::string SaturateHelper(absl::string_view types) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(types, '_');
  return absl::StrReplaceAll(R"(static inline $T tt_saturate_$T_$F($F x) {
  return convert_$T_sat(isnan(x) ? ($F)0 : x);
}
)",
                             {{"$T", parts.first}, {"$F", parts.second}});
}

// Defines tt_checked_<type>: returns the index if the buffer has `lanes` elements from there on,
// else 0. The first out-of-bounds index is recorded in the words defined by
// compiler/check_bounds.h.
constexpr absl::string_view kCheckedIndex =
    R"(static inline $T tt_checked_$T($T index, $T lanes, $T limit, int parameter, $T launch,
                                  __global int* report) {
  if (lanes <= 0 || (index >= 0 && index <= limit - lanes)) return index;
  if (atomic_cmpxchg(report, 0, (int)launch + 1) == 0) {
    report[1] = parameter;
    report[2] = (int)index;
    report[3] = (int)((long)index >> 32);
    report[4] = (int)lanes;
    report[5] = (int)min(limit, ($T)0x7fffffff);
  }
  return 0;
}
)";

}  // namespace

std::string Definition(absl::string_view identifier) {
  if (absl::StartsWith(identifier, "atom_")) {
    return "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n";
  }
  if (TypeFromName(identifier).element == DataType::kFloat64) {
    return "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  }
  if (identifier == "TT_EVEX") return EvexDefinition();
  if (identifier == "TT_FMA") return FmaDefinition();
  if (identifier == "tt_team_barrier") return TeamBarrierDefinition();
  if (identifier == "TT_GROUP_FUNCTION") return GroupFunctionDefinition();
  absl::string_view name = identifier;
  if (!absl::ConsumePrefix(&name, "tt_")) return "";
  if (absl::ConsumePrefix(&name, "prefetch")) {
    return absl::StrReplaceAll(kPrefetch, {{"$N", name}, {"$L", name.empty() ? "3" : "2"}});
  }
  if (absl::StartsWith(name, "atomic_")) return AtomicHelper(identifier);
  if (std::string text = MemoryHelper(name); !text.empty()) return text;
  if (std::string text = MatrixHelper(name); !text.empty()) return text;
  if (absl::ConsumePrefix(&name, "saturate_")) return SaturateHelper(name);
  if (absl::ConsumePrefix(&name, "checked_")) {
    return absl::StrReplaceAll(kCheckedIndex, {{"$T", name}});
  }
  if (std::string text = Float16Conversion(name); !text.empty()) return text;
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, '_');
  const Type type = TypeFromName(parts.second);
  return type.element == DataType::kInvalid ? "" : ArithmeticHelper(parts.first, type);
}

}  // namespace tartan::opencl
