// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/tile_text/blocked_weights.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Tensor;

// `x`, bytes of sizes `dims`, as int32 with the numbers of a byte, its lowest bits first, as
// another dimension before `inner` ones.
std::string UnpackedText(const std::string& x, int64_t bits, std::vector<int64_t> dims, int inner) {
  const int64_t parts = 8 / bits;
  dims.insert(dims.end() - inner, 1);
  const std::string bytes = Cast(ReshapeCall(x, dims), DataType::kInt32);
  if (parts == 1) return bytes;
  std::vector<int64_t> part_dims(inner + 1, 1);
  part_dims[0] = parts;
  const std::string part = ReshapeCall("index(PARTS, 0)", part_dims);
  return absl::StrCat("((", bytes, " >> (", part, " * ", bits, ")) & ", (1 << bits) - 1, ")");
}

// Adds `target`, [tiles, `inner`..., width], from the rows `x`, [N, `inner`...].
void AddTiles(FunctionText& text, const BlockedWeights& weights, const std::string& target,
              const std::string& x, const std::vector<int64_t>& inner) {
  const std::vector<std::string> names = IndexNames(static_cast<int64_t>(inner.size()));
  std::vector<std::string> written = {"t"};
  std::vector<std::string> read = {absl::StrCat(weights.width(), " * t + l")};
  std::vector<int64_t> dims = {weights.tiles()};
  written.insert(written.end(), names.begin(), names.end());
  read.insert(read.end(), names.begin(), names.end());
  dims.insert(dims.end(), inner.begin(), inner.end());
  written.push_back("l");
  dims.push_back(weights.width());
  text.Add(absl::StrCat(Write(target, written, dims), " = =(", Read(x, read), ")"));
}

// `name`, [tiles, blocks, width], for each number of the weights: that of its block, or of the
// group that operand 4 gives its row.
std::string PerNumber(const NodeContext& context, const BlockedWeights& weights,
                      const std::string& name) {
  if (context.HasInput(4)) return absl::StrCat("gather(", name, ", GROUPS, 1)");
  return ReshapeCall(name, {weights.tiles(), weights.blocks(), 1, 1, weights.width()});
}

// Z: the numbers that the blocks' zero points stand for.
absl::Status AddZeroPoints(FunctionText& text, const BlockedWeights& weights) {
  const NodeContext& context = text.context();
  if (!context.HasInput(3)) {
    text.Add("Z", std::to_string(1 << (weights.bits - 1)));
    return absl::OkStatus();
  }
  const Tensor& zeros = context.input(3);
  const bool is_packed = IsInteger(zeros.type());
  const int64_t bytes = (weights.blocks() * weights.bits + 7) / 8;
  const int64_t columns = is_packed ? bytes : weights.blocks();
  if (zeros.shape().element_count() != weights.outer * columns) {
    return Invalid("zero points ", zeros.shape().ToString(), ", expected ", weights.outer * columns,
                   " elements");
  }
  std::string rows = ReshapeCall(text.Operand(3), {weights.outer, columns});
  if (is_packed) {
    text.Add("ZBYTES", rows);
    const std::string all = UnpackedText("ZBYTES", weights.bits, {weights.outer, bytes}, 0);
    rows = Cast(ReshapeCall(all, {weights.outer, bytes * (8 / weights.bits)}), DataType::kUInt8);
  }
  text.Add("ZROWS", rows);
  AddTiles(text, weights, "ZT", "ZROWS", {weights.blocks()});
  const std::string z = PerNumber(context, weights, "ZT");
  text.Add("Z", is_packed ? Cast(z, DataType::kInt32) : z);
  return absl::OkStatus();
}

}  // namespace

absl::Status AddBlockedWeights(FunctionText& text, const BlockedWeights& weights) {
  const NodeContext& context = text.context();
  const int64_t parts = 8 / weights.bits;
  const std::vector<int64_t> inner = {weights.blocks(), weights.block / parts};
  if (parts > 1) text.Add("PARTS", text.Operand(Positions(DataType::kInt32, parts)));
  std::string stored = ReshapeCall(text.Operand(1), {weights.outer, inner[0], inner[1]});
  // Signed bytes about 0 are less to decode.
  const bool is_signed = weights.bits == 8 && !context.HasInput(3);
  if (is_signed) stored = Cast(Cast(stored, DataType::kInt32) + " - 128", DataType::kInt8);
  text.Add("BROWS", stored);
  AddTiles(text, weights, "BT", "BROWS", inner);
  text.Add("SROWS", ReshapeCall(text.Operand(2), {weights.outer, weights.blocks()}));
  AddTiles(text, weights, "ST", "SROWS", {weights.blocks()});
  if (context.HasInput(4)) {
    text.Add("GROUPS", ReshapeCall(text.Operand(4), {inner[0], inner[1], parts}));
  }
  TARTAN_RETURN_IF_ERROR(AddZeroPoints(text, weights));
  text.Add("N", UnpackedText("BT", weights.bits,
                             {weights.tiles(), inner[0], inner[1], weights.width()}, 1));
  text.Add("W", absl::StrCat(Cast(is_signed ? "N" : "N - Z", DataType::kFloat32), " * ",
                             PerNumber(context, weights, "ST")));
  return absl::OkStatus();
}

}  // namespace tartan::onnx
