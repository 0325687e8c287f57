// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/warp_matmul.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tartan::opencl {
namespace {

// Matmul of two tiles with mma.sync. An instruction multiplies 16 rows by 8 columns over 32 bytes
// of K, called a slice; a tile line has four slices. Slices are processed in pairs, because one
// ldmatrix loads four blocks of 8 rows x 16 bytes: the left operand for one slice, or 8 columns of
// the right operand for two slices. Each work-item passes the address of one block row; the first
// eight work-items address the first block.
constexpr absl::string_view kMatmul =
    R"(  const int lane = (int)get_local_id(0) % 32, warp = (int)get_local_id(0) / 32 % 4;
$FRAGMENTS#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    uint a[8];
#pragma unroll
    for (int half_pair = 0; half_pair < 2; ++half_pair) {
      const int slice = pair * 2 + half_pair;
$LOAD_LEFT    }
#pragma unroll
    for (int n = 0; n < $COLUMNS / 8; ++n) {
      uint b[4];
      __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4$RIGHT_TURN.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                       : "r"((uint)(ulong)(right + $RIGHT_AT)) : "memory");
#pragma unroll
      for (int half_pair = 0; half_pair < 2; ++half_pair) {
        __asm__("mma.sync.aligned.$SHAPE.row.col.f32.$FORMAT.$FORMAT.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+f"(total[n * 4]), "+f"(total[n * 4 + 1]),
                  "+f"(total[n * 4 + 2]), "+f"(total[n * 4 + 3])
                : "r"(a[half_pair * 4]), "r"(a[half_pair * 4 + 1]), "r"(a[half_pair * 4 + 2]),
                  "r"(a[half_pair * 4 + 3]), "r"(b[half_pair * 2]), "r"(b[half_pair * 2 + 1]));
      }
    }
  }
)";

constexpr absl::string_view kLoadLeft =
    R"(      __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4$LEFT_TURN.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(a[half_pair * 4]), "=r"(a[half_pair * 4 + 1]),
                         "=r"(a[half_pair * 4 + 2]), "=r"(a[half_pair * 4 + 3])
                       : "r"((uint)(ulong)(left + $LEFT_AT)) : "memory");
)";

constexpr absl::string_view kLoadFragments =
    "  uint fragments[16];\n  tt_fragments_tf32(fragments, left);\n";
constexpr absl::string_view kTakeFragments =
    "      for (int i = 0; i < 4; ++i) a[half_pair * 4 + i] = fragments[slice * 4 + i];\n";

// Swizzle of the vectors in a tile line: XOR with the line's number modulo 8, which equals lane % 8
// for every block row that a work-item addresses.
constexpr absl::string_view kSwapped = "^ lane % 8";

}  // namespace

std::string LeftBlockOffset(const MatrixTile& tile) {
  if (tile.along_rows) {
    return absl::StrCat("(slice * 16 + lane / 16 * 8 + lane % 8) * ", tile.line(),
                        " + ((warp * 2 + lane / 8 % 2) ", kSwapped, ") * ", tile.vector());
  }
  return absl::StrCat("(warp * 16 + lane % 16) * ", tile.line(), " + (slice * 2 ^ lane / 16 ",
                      kSwapped, ") * ", tile.vector());
}

std::string LeftFragmentOffset(const MatrixTile& tile, int row) {
  // The second row's vector is two further, before the swizzle.
  return absl::StrCat("(warp / 2 * ", tile.depth(), " + lane % 4) * ", tile.line(),
                      " + (warp % 2 * 4 + ", 2 * row, " + lane / 16 ^ lane % 4 * ", tile.swizzle(),
                      ") * ", tile.vector(), " + lane / 4 % 4");
}

std::string RightBlockOffset(const MatrixTile& tile) {
  if (tile.along_rows) {
    return absl::StrCat("(n / 8 * ", tile.depth(), " + pair * 32 + lane) * ", tile.line(),
                        " + (n % 8 ", kSwapped, ") * ", tile.vector());
  }
  return absl::StrCat("(n * 8 + lane % 8) * ", tile.line(), " + (pair * 4 ^ lane / 8 ", kSwapped,
                      ") * ", tile.vector());
}

absl::string_view InstructionType(MatrixFormat format) {
  switch (format) {
    case MatrixFormat::kTf32:
      return "tf32";
    case MatrixFormat::kBFloat16:
      return "bf16";
    case MatrixFormat::kFloat16:
      return "f16";
  }
  return "";
}

std::string WarpMatmul(const MatrixTile& left, const MatrixTile& right) {
  const absl::string_view turn = ".trans";
  const bool is_wide = left.format == MatrixFormat::kTf32;
  const std::string matmul = absl::StrReplaceAll(
      kMatmul, {{"$FRAGMENTS", left.is_fragment() ? kLoadFragments : ""},
                {"$LOAD_LEFT", left.is_fragment() ? kTakeFragments : kLoadLeft}});
  return absl::StrReplaceAll(matmul, {{"$LEFT_TURN", left.along_rows ? turn : ""},
                                      {"$RIGHT_TURN", right.along_rows ? turn : ""},
                                      {"$LEFT_AT", LeftBlockOffset(left)},
                                      {"$RIGHT_AT", RightBlockOffset(right)},
                                      {"$COLUMNS", absl::StrCat(right.rows)},
                                      {"$SHAPE", is_wide ? "m16n8k8" : "m16n8k16"},
                                      {"$FORMAT", InstructionType(left.format)}});
}

}  // namespace tartan::opencl
