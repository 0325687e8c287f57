// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/microsoft/blocked_weights.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Unpacks bytes of sizes [rows, columns], lowest bits first, to int32 values in an additional last
// dimension.
std::string UnpackedText(const std::string& bytes, int64_t bits, int64_t rows, int64_t columns) {
  const std::string words = Cast(ReshapeCall(bytes, {rows, columns, 1}), DataType::kInt32);
  if (bits == 8) return words;
  return absl::StrCat("((", words, " >> (index(ZPARTS, 0) * ", bits, ")) & ", (1 << bits) - 1, ")");
}

// Adds `target`, int32 words [tiles, blocks, words per block, width], from the bytes `x`, [N,
// blocks, bytes per block]. The weights in the words are signed: the middle of their range becomes
// 0.
void AddWords(FunctionText& text, const BlockedWeights& weights, const std::string& target,
              const std::string& x) {
  const int64_t signs = weights.bits == 4 ? 0x88 : 0xaa;
  text.Add("BFLIPPED", Cast(x, DataType::kInt32), " ^ ", signs);
  text.Add("BPLACES",
           text.Operand(ConstantOf(DataType::kInt32, {1, 1 << 8, 1 << 16, 1 << 24}, {4})));
  const std::vector<int64_t> dims = {weights.tiles(), weights.blocks(), weights.block_bytes() / 4,
                                     weights.width()};
  text.Add(Write(target, {"t", "b", "m", "l"}, dims), "+(",
           Read("BFLIPPED", {absl::StrCat(weights.width(), " * t + l"), "b", "4 * m + q"}), " * ",
           Read("BPLACES", {"q"}), ")");
}

// Extracts the `parts` signed weights of each int32 word of `x`: [tiles, blocks, words per block,
// parts, width].
std::string SignedText(const BlockedWeights& weights, const std::string& x) {
  const std::vector<int64_t> dims = {weights.tiles(), weights.blocks(), weights.block_bytes() / 4,
                                     1, weights.width()};
  const std::string part = ReshapeCall("index(PARTS, 0)", {weights.parts(), 1});
  const int64_t above = 32 - weights.bits;
  return absl::StrCat("(((", ReshapeCall(x, dims), " >> (", part, " * ", weights.bits, ")) << ",
                      above, ") >> ", above, ")");
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
  text.Add(Write(target, written, dims), "=(", Read(x, read), ")");
}

// Expands `name`, [tiles, blocks, width], to one value per weight: the value of its block, or of
// the group that operand 4 gives for its row.
std::string PerNumber(const NodeContext& context, const BlockedWeights& weights,
                      const std::string& name) {
  if (context.HasInput(4)) return absl::StrCat("gather(", name, ", GROUPS, 1)");
  return ReshapeCall(name, {weights.tiles(), weights.blocks(), 1, 1, weights.width()});
}

// Adds Z, the unpacked zero points of the weights.
absl::Status AddZeroPoints(FunctionText& text, const BlockedWeights& weights) {
  const NodeContext& context = text.context();
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
    const int64_t parts = 8 / weights.bits;
    text.Add("ZBYTES", rows);
    if (parts > 1) text.Add("ZPARTS", text.Operand(Positions(DataType::kInt32, parts)));
    const std::string all = UnpackedText("ZBYTES", weights.bits, weights.outer, bytes);
    rows = Cast(ReshapeCall(all, {weights.outer, bytes * parts}), DataType::kUInt8);
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
  const int64_t parts = weights.parts();
  const int64_t half = 1 << (weights.bits - 1);
  const bool has_zeros = context.HasInput(3);
  const std::vector<int64_t> inner = {weights.blocks(), weights.block / parts};
  std::string stored =
      ReshapeCall(text.Operand(1), {weights.outer, weights.blocks(), weights.block_bytes()});
  // Signed weights, centered at 0, need fewer operations to decode.
  const bool is_signed = weights.has_words() || !has_zeros;
  if (weights.has_words()) {
    text.Add("PARTS", text.Operand(Positions(DataType::kInt32, parts)));
    text.Add("BROWS", stored);
    AddWords(text, weights, "BT", "BROWS");
    text.Add("N", SignedText(weights, "BT"));
  } else {
    if (is_signed) {
      stored = Cast(absl::StrCat(Cast(stored, DataType::kInt32), " - ", half), DataType::kInt8);
    }
    text.Add("BROWS", stored);
    AddTiles(text, weights, "BT", "BROWS", inner);
    text.Add("N", Cast(ReshapeCall("BT", {weights.tiles(), inner[0], inner[1], 1, weights.width()}),
                       DataType::kInt32));
  }
  text.Add("SROWS", ReshapeCall(text.Operand(2), {weights.outer, weights.blocks()}));
  AddTiles(text, weights, "ST", "SROWS", {weights.blocks()});
  if (context.HasInput(4)) {
    text.Add("GROUPS", ReshapeCall(text.Operand(4), {inner[0], inner[1], parts}));
  }
  std::string difference = Cast("N", DataType::kFloat32);
  if (has_zeros) {
    TARTAN_RETURN_IF_ERROR(AddZeroPoints(text, weights));
    // The value subtracted from weights in words is constant within a block.
    const bool is_integer = IsInteger(context.input(3).type());
    if (!weights.has_words()) {
      difference = Cast("(N - Z)", DataType::kFloat32);
    } else if (is_integer) {
      difference += " - " + Cast(absl::StrCat("(Z - ", half, ")"), DataType::kFloat32);
    } else {
      absl::StrAppend(&difference, " + ", half, " - ", Cast("Z", DataType::kFloat32));
    }
  }
  text.Add("W", "(", difference, ") * ", PerNumber(context, weights, "ST"));
  return absl::OkStatus();
}

}  // namespace tartan::onnx
