// SPDX-License-Identifier: Apache-2.0
// Offsets at which the work-items of a warp load blocks of a tile for tensor cores. The expressions
// are evaluated on the available device, which need not have tensor cores; matrix_device_test
// compares the matmuls themselves.
#include "backend_opencl/dialect/warp_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opencl_runner.h"

namespace tartan::opencl {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int kLanes = 32;
constexpr int kWarps = 4;
constexpr int kSlices = 4;
constexpr int kBlockLanes = 8;  // work-items that address the rows of one block

std::vector<MatrixTile> Tiles(int64_t rows) {
  return {{MatrixFormat::kTf32, rows, false},
          {MatrixFormat::kBFloat16, rows, false},
          {MatrixFormat::kFloat16, rows, true}};
}

// Elements of K in 16 bytes.
int64_t HalfSlice(const MatrixTile& tile) { return tile.depth() / (2 * kSlices); }

// Offset of a block row: 16 bytes along K, or along rows of the operand.
int64_t LineOffset(const MatrixTile& tile, int64_t first_row, int64_t first_depth, int64_t line) {
  return tile.along_rows ? tile.Offset(first_row, first_depth + line)
                         : tile.Offset(first_row + line, first_depth);
}

// Returns the output of the kernel `places` in the text.
std::vector<int> Written(const std::string& text, size_t count) {
  loop::Kernel kernel;
  kernel.name = "places";
  std::vector<std::vector<uint8_t>> buffers = {std::vector<uint8_t>(count * sizeof(int))};
  const absl::Status status = OpenClRunner(text).Run(kernel, absl::MakeSpan(buffers));
  EXPECT_TRUE(status.ok()) << status;
  std::vector<int> written(count);
  std::memcpy(written.data(), buffers[0].data(), buffers[0].size());
  return written;
}

TEST(WarpMatmul, LoadsTheRowsOfTheWarp) {
  for (const MatrixTile& tile : Tiles(64)) {
    std::vector<int> expected;
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int slice = 0; slice < kSlices; ++slice) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const int block = lane / kBlockLanes;
          const int64_t depth = (slice * 2 + block / 2) * HalfSlice(tile);
          expected.push_back(static_cast<int>(
              LineOffset(tile, warp * 16 + block % 2 * 8, depth, lane % kBlockLanes)));
        }
      }
    }
    const std::string kernel = absl::StrCat(
        "__kernel void places(__global int* out) {\n"
        "  for (int warp = 0; warp < 4; ++warp)\n"
        "    for (int slice = 0; slice < 4; ++slice)\n"
        "      for (int lane = 0; lane < 32; ++lane) *out++ = ",
        LeftBlockOffset(tile), ";\n}\n");
    EXPECT_THAT(Written(kernel, expected.size()), ElementsAreArray(expected)) << kernel;
  }
}

TEST(WarpMatmul, LoadsFragmentsOfRows) {
  const MatrixTile tile = {MatrixFormat::kTf32, 64, /*along_rows=*/true};
  for (const int row : {0, 1}) {
    std::vector<int> expected;
    for (int warp = 0; warp < kWarps; ++warp) {
      for (int half_slice = 0; half_slice < 2 * kSlices; ++half_slice) {
        for (int lane = 0; lane < kLanes; ++lane) {
          expected.push_back(static_cast<int>(
              tile.Offset(warp * 16 + row * 8 + lane / 4, half_slice * 4 + lane % 4)));
        }
      }
    }
    const std::string kernel = absl::StrCat(
        "__kernel void places(__global int* out) {\n"
        "  for (int warp = 0; warp < 4; ++warp)\n"
        "    for (int half_slice = 0; half_slice < 8; ++half_slice)\n"
        "      for (int lane = 0; lane < 32; ++lane) *out++ = ",
        LeftFragmentOffset(tile, row), " + half_slice * ", 4 * tile.line(), ";\n}\n");
    EXPECT_THAT(Written(kernel, expected.size()), ElementsAreArray(expected)) << kernel;
  }
}

TEST(WarpMatmul, LoadsFragmentsFromAllBanks) {
  const MatrixTile tile = {MatrixFormat::kTf32, 64, /*along_rows=*/true};
  std::set<int64_t> banks;
  for (int lane = 0; lane < kLanes; ++lane) banks.insert(tile.Offset(lane / 4, lane % 4) % 32);
  EXPECT_THAT(banks, SizeIs(kLanes));
}

TEST(WarpMatmul, LoadsEightColumnsOfTwoSlices) {
  constexpr int kColumns = 128;
  for (const MatrixTile& tile : Tiles(kColumns)) {
    std::vector<int> expected;
    for (int pair = 0; pair < kSlices / 2; ++pair) {
      for (int n = 0; n < kColumns / 8; ++n) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const int64_t depth = (pair * 4 + lane / kBlockLanes) * HalfSlice(tile);
          expected.push_back(static_cast<int>(LineOffset(tile, n * 8, depth, lane % kBlockLanes)));
        }
      }
    }
    const std::string kernel = absl::StrCat(
        "__kernel void places(__global int* out) {\n"
        "  for (int pair = 0; pair < 2; ++pair)\n"
        "    for (int n = 0; n < ",
        kColumns / 8,
        "; ++n)\n"
        "      for (int lane = 0; lane < 32; ++lane) *out++ = ",
        RightBlockOffset(tile), ";\n}\n");
    EXPECT_THAT(Written(kernel, expected.size()), ElementsAreArray(expected)) << kernel;
  }
}

TEST(WarpMatmul, TurnsTilesWhoseVectorsLieAlongRows) {
  const MatrixTile plain = {MatrixFormat::kBFloat16, 64, false};
  const MatrixTile turned = {MatrixFormat::kBFloat16, 64, true};
  const std::string text = WarpMatmul(turned, plain);
  EXPECT_THAT(text, HasSubstr("x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"));
  EXPECT_THAT(text, HasSubstr("x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"));
  EXPECT_THAT(text, HasSubstr("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "));
  EXPECT_THAT(WarpMatmul({MatrixFormat::kTf32, 64, false}, {MatrixFormat::kTf32, 24, false}),
              HasSubstr("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "));
  EXPECT_THAT(WarpMatmul({MatrixFormat::kTf32, 64, true}, {MatrixFormat::kTf32, 24, false}),
              HasSubstr("tt_fragments_tf32(fragments, left)"));
}

}  // namespace
}  // namespace tartan::opencl
