// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/mma.h"

#include "absl/strings/str_cat.h"
#include "tile/loop/element.h"

namespace tartan::loop {
namespace {

constexpr int64_t kRows = 64;

}  // namespace

MatrixTile LeftTile(const MultiplyTiles& product) {
  return {product.format, kRows, product.left_along_rows};
}

MatrixTile RightTile(const MultiplyTiles& product) {
  return {product.format, product.columns, product.right_along_columns};
}

std::string ReasonInvalid(const CopyVector& copy,
                          const std::function<bool(const std::string&)>& is_local) {
  const auto* to = std::get_if<Load>(&copy.to->node);
  const auto* from = std::get_if<Load>(&copy.from->node);
  constexpr int64_t kBytes = 16;
  const bool is_vector = to != nullptr && from != nullptr && to->is_aligned && from->is_aligned &&
                         to->stored == from->stored && copy.to->type == copy.from->type &&
                         copy.to->type.lanes * ByteWidth(to->stored) == kBytes &&
                         is_local(to->buffer);
  if (!is_vector) return "the copy is not a vector of 16 bytes into a local array";
  const bool is_count =
      copy.count == nullptr || (IsInteger(copy.count->type.element) && copy.count->type.lanes == 1);
  return is_count ? "" : "the count is not an integer";
}

std::string ReasonInvalid(const MultiplyTiles& product,
                          const std::function<bool(const std::string&)>& is_local) {
  for (const ExprPtr& tile : {product.left, product.right}) {
    const auto* load = std::get_if<Load>(&tile->node);
    if (load == nullptr || load->stored != ElementType(product.format) || !is_local(load->buffer)) {
      return "an operand is not a tile in a local array";
    }
  }
  const auto* total = std::get_if<Load>(&product.accumulators->node);
  if (total == nullptr || total->stored != DataType::kFloat32 ||
      product.accumulators->type.lanes != 1) {
    return "the accumulators are not float32";
  }
  const bool is_shape =
      product.columns >= 8 && product.columns <= 256 && product.columns % 8 == 0 &&
      (!product.right_along_columns || product.columns % RightTile(product).line() == 0);
  const bool may_turn = product.format != MatrixFormat::kTf32 || !product.right_along_columns;
  if (is_shape && may_turn) return "";
  return absl::StrCat("no MMA multiplies ", product.columns, " columns in ",
                      tartan::Name(product.format));
}

void AddTileMatmul(const MultiplyTiles& product, int item, const uint8_t* left,
                   const uint8_t* right, uint8_t* accumulators) {
  const DataType type = ElementType(product.format);
  const MatrixTile left_tile = LeftTile(product);
  const MatrixTile right_tile = RightTile(product);
  const auto element = [&](const uint8_t* tile, int64_t offset) {
    const auto value = static_cast<float>(ReadElement(type, tile + offset * ByteWidth(type)).real);
    return product.format == MatrixFormat::kTf32 ? RoundToTf32(value) : value;
  };
  const int lane = item % 32;
  for (int slot = 0; slot < product.columns / 2; ++slot) {
    const int row = item / 32 % 4 * 16 + slot / 2 % 2 * 8 + lane / 4;
    const int column = slot / 4 * 8 + lane % 4 * 2 + slot % 2;
    uint8_t* total = accumulators + slot * ByteWidth(DataType::kFloat32);
    auto sum = static_cast<float>(ReadElement(DataType::kFloat32, total).real);
    for (int64_t k = 0; k < left_tile.depth(); ++k) {
      sum += element(left, left_tile.Offset(row, k)) * element(right, right_tile.Offset(column, k));
    }
    WriteElement(DataType::kFloat32, Scalar{0, sum}, total);
  }
}

}  // namespace tartan::loop
