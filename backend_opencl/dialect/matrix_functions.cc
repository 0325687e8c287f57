// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/matrix_functions.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backend_opencl/dialect/hidden_assembly.h"
#include "backend_opencl/dialect/opencl_memory.h"
#include "backend_opencl/dialect/opencl_types.h"
#include "backend_opencl/dialect/warp_matmul.h"
#include "tile/base/mma_tile.h"

namespace tartan::opencl {
namespace {

using codegen::Place;

// cp.async and similar instructions take the 32-bit value of a local pointer.
constexpr absl::string_view kCopyVector =
    R"(static inline void tt_copy_vector(__local void* to, __global const void* from, int bytes) {
#if $HAS_UNIT
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint)(ulong)to), "l"(from),
                   "r"(bytes) : "memory");
#else
  *(__local uint4*)to = bytes == 16 ? *(__global const uint4*)from : (uint4)(0);
  for (int i = 0; i < bytes % 16 / 2; ++i) ((__local ushort*)to)[i] = ((__global const ushort*)from)[i];
#endif
}
)";
constexpr absl::string_view kEndCopies = R"(static inline void tt_end_copies(void) {
#if $HAS_UNIT
  __asm__ volatile("cp.async.commit_group;" ::: "memory");
#endif
}
)";
constexpr absl::string_view kAwaitCopies = R"(static inline void tt_await_copies_$N(void) {
#if $HAS_UNIT
  __asm__ volatile("cp.async.wait_group $N;" ::: "memory");
#endif
}
)";
// wgmma reads local memory through the async proxy, which needs a fence of its own.
constexpr absl::string_view kMatrixFence = R"(static inline void tt_matrix_fence(void) {
#if $HAS_WARP_GROUPS
  __asm__ volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
)";
constexpr absl::string_view kAwaitTiles = R"(static inline void tt_await_tiles(void) {
#if $HAS_WARP_GROUPS
  __asm__ volatile("$HIDDENwgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}
)";
// Rounds to tf32. Tensor cores ignore the remaining bits. A non-finite x becomes x + x, which is
// not finite either and shows it in the leading bits.
constexpr absl::string_view kRoundTf32 = R"(static inline $F tt_roundtf_$F($F x) {
#if $HAS_UNIT
  $I bits;
$ROUND  return as_$F(bits);
#else
  return isfinite(x) ? as_$F((as_$I(x) + 0x1000) & ~0x1fff) : x + x;
#endif
}
)";
// wgmma's matrix descriptor of a tile. Its fields are the address of the first row, the strides to
// the next 64 rows and to the next eight lines (in units of 16 bytes), and the 128-byte swizzle
// mode. The first stride is used only if tile lines hold 64 rows.
constexpr absl::string_view kTilePlace =
    R"(static inline ulong tt_tile_place(const __local void* tile, uint further_rows) {
  return (((uint)(ulong)tile & 0x3ffff) >> 4) | (ulong)further_rows << 16 | 64UL << 32 | 1UL << 62;
}
)";
// Rounds to tf32 for an operand in registers, of which the MMA ignores the remaining bits. Two
// instructions; cvt.rna.tf32 takes three on Hopper.
constexpr absl::string_view kRoundFragment =
    R"(static inline uint tt_round_fragment(float x) {
  return as_uint(x) + (fabs(x) < INFINITY ? 0x1000 : 0);
}
)";
// Loads the work-item's elements of a left tile along rows for all four slices. A slice has two
// rows, eight apart, at two K positions, four apart.
constexpr absl::string_view kFragments =
    R"(static inline __attribute__((always_inline))
void tt_fragments_tf32(uint* to, const __local float* left) {
  const int lane = (int)get_local_id(0) % 32, warp = (int)get_local_id(0) / 32 % 4;
  const __local float* first = left + ($FIRST_ROW);
  const __local float* second = left + ($SECOND_ROW);
#pragma unroll
  for (int half_slice = 0; half_slice < 8; ++half_slice) {
    to[half_slice * 2] = tt_round_fragment(first[half_slice * $STEP]);
    to[half_slice * 2 + 1] = tt_round_fragment(second[half_slice * $STEP]);
  }
}
)";
constexpr absl::string_view kMultiply =
    R"(static inline __attribute__((always_inline))
void $NAME(float* total, const __local $T* left, const __local $T* right) {
#if $HAS_WARP_GROUPS
$LOAD_LEFT  __asm__ volatile("$HIDDENwgmma.fence.sync.aligned;" ::: "memory");
  ulong b = tt_tile_place(right, $FURTHER_ROWS);
#pragma unroll
  for (int slice = 0; slice < 4; ++slice) {
    __asm__ volatile(
        "$HIDDENwgmma.mma_async.sync.aligned.m64n$COLUMNSk$K.f32.$FORMAT.$FORMAT {$REGISTERS}, "
        "$A, %$B, 1, 1, 1$TURNS;"
        : $TOTALS
        : $LEFT_ARGUMENT, "l"(b)
        : "memory");
    $NEXT_LEFTb += $RIGHT_SLICE;
  }
  __asm__ volatile("$HIDDENwgmma.commit_group.sync.aligned;" ::: "memory");
#elif $HAS_UNIT
$BY_WARPS#else
  const int item = (int)get_local_id(0), lane = item % 32;
  for (int slot = 0; slot < $COLUMNS / 2; ++slot) {
    const int row = item / 32 % 4 * 16 + slot / 2 % 2 * 8 + lane / 4;
    const int column = slot / 4 * 8 + lane % 4 * 2 + slot % 2;
    float sum = total[slot];
    for (int k = 0; k < $DEPTH; ++k) {
      sum += $FROM_LEFT(left[$LEFT_AT]) * $FROM(right[$RIGHT_AT]);
    }
    total[slot] = sum;
  }
#endif
}
)";

std::string Fill(absl::string_view text,
                 const std::vector<std::pair<absl::string_view, std::string>>& values) {
  const auto has = [](absl::string_view macro) {
    return absl::StrCat("defined(", macro, ") && !defined(TARTAN_PORTABLE)");
  };
  return absl::StrReplaceAll(absl::StrReplaceAll(text, values),
                             {{"$HAS_UNIT", has(kHasMatrixUnit)},
                              {"$HAS_WARP_GROUPS", has(kHasWarpGroups)},
                              {"$HIDDEN", kHiddenAssembly}});
}

// Prints the offset of element (row, k) of a tile as a C expression.
std::string PlaceText(const MatrixTile& tile, absl::string_view row) {
  const std::string line =
      tile.along_rows ? absl::StrCat("(", row, " / ", tile.line(), " * ", tile.depth(), " + k)")
                      : std::string(row);
  const std::string in_line =
      tile.along_rows ? absl::StrCat(row, " % ", tile.line()) : std::string("k");
  return absl::StrCat(line, " * ", tile.line(), " + (", in_line, " / ", tile.vector(), " ^ ", line,
                      tile.swizzle() > 1 ? absl::StrCat(" * ", tile.swizzle()) : "", " % ",
                      MatrixTile::kVectors, ") * ", tile.vector(), " + ", in_line, " % ",
                      tile.vector());
}

struct MatmulName {
  MatrixFormat format = MatrixFormat::kTf32;
  int columns = 0;
  bool left_along_rows = false, right_along_columns = false;
};

std::string NameOf(const loop::MultiplyTiles& product) {
  return absl::StrCat("tt_multiply_", tartan::Name(product.format), "_", product.columns,
                      product.left_along_rows ? "_rows" : "",
                      product.right_along_columns ? "_columns" : "");
}

// Parses multiply_<format>_<columns>[_rows][_columns].
MatmulName ParseMatmul(absl::string_view name) {
  MatmulName product;
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '_');
  for (MatrixFormat format :
       {MatrixFormat::kTf32, MatrixFormat::kBFloat16, MatrixFormat::kFloat16}) {
    if (!parts.empty() && parts[0] == tartan::Name(format)) product.format = format;
  }
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[1], &product.columns)) return {};
  for (size_t i = 2; i < parts.size(); ++i) {
    product.left_along_rows |= parts[i] == "rows";
    product.right_along_columns |= parts[i] == "columns";
  }
  return product;
}

// The left operand of a matmul's MMA on warp groups: fields of kMultiply.
struct LeftOperand {
  std::string load;      // statements before the first MMA
  std::string operand;   // in the instruction
  std::string argument;  // of the instruction
  std::string next;      // the statement after an MMA
};

// `first`: the number of the instruction's first operand that is no accumulator.
LeftOperand LeftOfWarpGroups(const MatrixTile& tile, int first) {
  if (!tile.is_fragment()) {
    const int64_t bytes = tile.along_rows ? tile.depth() / 4 * MatrixTile::kLineBytes : 32;
    return {"  ulong a = tt_tile_place(left, 1);\n", absl::StrCat("%", first), "\"l\"(a)",
            absl::StrCat("a += ", bytes / 16, ";\n    ")};
  }
  std::vector<std::string> registers, arguments;
  for (int i = 0; i < 4; ++i) {
    registers.push_back(absl::StrCat("%", first + i));
    arguments.push_back(absl::StrCat("\"r\"(a[slice * 4 + ", i, "])"));
  }
  return {"  uint a[16];\n  tt_fragments_tf32(a, left);\n",
          absl::StrCat("{", absl::StrJoin(registers, ", "), "}"), absl::StrJoin(arguments, ", "),
          ""};
}

absl::string_view FromElement(MatrixFormat format) {
  return format == MatrixFormat::kTf32       ? ""
         : format == MatrixFormat::kBFloat16 ? "tt_from_bfloat16_ushort"
                                             : "tt_from_half_ushort";
}

std::string MultiplyHelper(absl::string_view name) {
  const MatmulName product = ParseMatmul(name);
  if (product.columns == 0) return "";
  const MatrixTile left{product.format, 64, product.left_along_rows};
  const MatrixTile right{product.format, product.columns, product.right_along_columns};
  // An instruction covers 32 bytes of K: a quarter of a line, or one line per element.
  const int64_t k = left.depth() / 4;
  const int totals = product.columns / 2;
  const LeftOperand of_left = LeftOfWarpGroups(left, totals);
  std::vector<std::string> registers, operands;
  for (int i = 0; i < totals; ++i) {
    registers.push_back(absl::StrCat("%", i));
    operands.push_back(absl::StrCat("\"+f\"(total[", i, "])"));
  }
  const std::string turns = product.format == MatrixFormat::kTf32
                                ? ""
                                : absl::StrCat(", ", int{product.left_along_rows}, ", ",
                                               int{product.right_along_columns});
  return Fill(
      kMultiply,
      {{"$NAME", absl::StrCat("tt_multiply_", name)},
       {"$T", product.format == MatrixFormat::kTf32 ? "float" : "ushort"},
       {"$FURTHER_ROWS",
        absl::StrCat(right.along_rows ? right.depth() * MatrixTile::kLineBytes / 16 : 1)},
       {"$RIGHT_SLICE", absl::StrCat((right.along_rows ? k * MatrixTile::kLineBytes : 32) / 16)},
       {"$LOAD_LEFT", of_left.load},
       {"$NEXT_LEFT", of_left.next},
       {"$LEFT_ARGUMENT", of_left.argument},
       {"$COLUMNS", absl::StrCat(product.columns)},
       {"$K", absl::StrCat(k)},
       {"$FORMAT", std::string(InstructionType(product.format))},
       {"$REGISTERS", absl::StrJoin(registers, ", ")},
       {"$TOTALS", absl::StrJoin(operands, ", ")},
       {"$A", of_left.operand},
       {"$B", absl::StrCat(totals + (left.is_fragment() ? 4 : 1))},
       {"$TURNS", turns},
       {"$BY_WARPS", WarpMatmul(left, right)},
       {"$DEPTH", absl::StrCat(left.depth())},
       {"$FROM_LEFT",
        std::string(left.is_fragment() ? "tt_roundtf_float" : FromElement(product.format))},
       {"$FROM", std::string(FromElement(product.format))},
       {"$LEFT_AT", PlaceText(left, "row")},
       {"$RIGHT_AT", PlaceText(right, "column")}});
}

std::string RoundHelper(absl::string_view type_name) {
  const loop::Type type = TypeFromName(type_name);
  if (type.element != DataType::kFloat32) return "";
  std::string round;
  for (int lane = 0; lane < type.lanes; ++lane) {
    const std::string at = type.lanes == 1 ? "" : absl::StrFormat(".s%x", lane);
    absl::StrAppend(&round, "  {\n    const float from = x", at,
                    ";\n    int to;\n"
                    "    __asm__(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(to) : \"f\"(from));\n"
                    "    bits",
                    at, " = to;\n  }\n");
  }
  return Fill(kRoundTf32, {{"$F", std::string(type_name)},
                           {"$I", TypeName(loop::Type{DataType::kInt32, type.lanes})},
                           {"$ROUND", round}});
}

std::string AddressOf(const Place& place) { return Address(place.buffer, place.index); }

std::string CopyVector(const Place& to, const Place& from, const codegen::Code& count) {
  const std::string bytes =
      count.text.empty() ? "16" : absl::StrCat("(", count.text, ") * ", ByteWidth(from.stored));
  return absl::StrCat("tt_copy_vector(", AddressOf(to), ", ", AddressOf(from), ", ", bytes, ")");
}

std::string AwaitCopies(int pending) { return absl::StrCat("tt_await_copies_", pending, "()"); }

std::string MultiplyTiles(const loop::MultiplyTiles& product, const Place& accumulators,
                          const Place& left, const Place& right) {
  return absl::StrCat(NameOf(product), "(", AddressOf(accumulators), ", ", AddressOf(left), ", ",
                      AddressOf(right), ")");
}

}  // namespace

void SetMatrixStatements(codegen::Dialect* dialect) {
  dialect->mma_fence = "tt_matrix_fence();";
  dialect->copy_vector = CopyVector;
  dialect->end_copies = "tt_end_copies()";
  dialect->await_copies = AwaitCopies;
  dialect->multiply_tiles = MultiplyTiles;
  dialect->await_tiles = "tt_await_tiles()";
}

std::string MatrixHelper(absl::string_view name) {
  if (name == "copy_vector") return Fill(kCopyVector, {});
  if (name == "end_copies") return Fill(kEndCopies, {});
  if (name == "matrix_fence") return Fill(kMatrixFence, {});
  if (name == "await_tiles") return Fill(kAwaitTiles, {});
  if (name == "tile_place") return std::string(kTilePlace);
  if (name == "round_fragment") return std::string(kRoundFragment);
  if (name == "fragments_tf32") {
    const MatrixTile tile{MatrixFormat::kTf32, 64, /*along_rows=*/true};
    return Fill(kFragments, {{"$FIRST_ROW", LeftFragmentOffset(tile, 0)},
                             {"$SECOND_ROW", LeftFragmentOffset(tile, 1)},
                             {"$STEP", absl::StrCat(4 * tile.line())}});
  }
  if (absl::ConsumePrefix(&name, "await_copies_")) {
    return Fill(kAwaitCopies, {{"$N", std::string(name)}});
  }
  if (absl::ConsumePrefix(&name, "roundtf_")) return RoundHelper(name);
  return absl::ConsumePrefix(&name, "multiply_") ? MultiplyHelper(name) : "";
}

}  // namespace tartan::opencl
