// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/winograd.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/rewrite_kernel.h"
#include "tile/poly/winograd_transform.h"

namespace tartan::poly {
namespace {

using math::Affine;

// Padding in elements after each row of transformed tiles; each point has one row. Without it, the
// points of one tile would map to the same few cache lines. Empirical.
constexpr int64_t kRowGap = 16;

ExprPtr ReadOf(int access) { return MakeExpr(DataType::kFloat32, Read{access}); }

class Maker {
 public:
  Maker(const FlatContraction& flat, const Correlation& correlation, int64_t tile)
      : flat_(flat), c_(correlation), tile_(tile), transforms_(MakeFilterTransforms(tile)) {
    for (size_t d = 0; d < 2; ++d) tiles_[d] = TileCount(flat, c_.directions[d], tile);
  }

  WinogradKernels Make() {
    WinogradKernels kernels;
    if (NeedsPadding()) kernels.padded = Padded();
    kernels.data = Data(kernels.padded);
    kernels.weights = Weights();
    kernels.products = Products(kernels.data.outputs[0].shape, kernels.weights.outputs[0].shape);
    kernels.result = Result(kernels.products.outputs[0].shape);
    return kernels;
  }

 private:
  const TensorAccess& DataAccess() const { return flat_.accesses[c_.data]; }
  int64_t Range(int index) const { return flat_.indices[index].range; }
  int64_t points() const { return transforms_.points(); }
  int64_t PaddedSize(size_t d) const { return tile_ * tiles_[d] + kWinogradWindow - 1; }

  bool NeedsPadding() const {
    for (size_t d = 0; d < 2; ++d) {
      const Correlation::Direction& direction = c_.directions[d];
      if (direction.first < direction.begin || direction.first + PaddedSize(d) > direction.end) {
        return true;
      }
    }
    const auto strides = Flatten(DataAccess().coords, flat_.tensors[DataAccess().tensor].shape.dims,
                                 static_cast<int>(flat_.indices.size()))
                             .strides;
    return strides[c_.channel] != 1;
  }

  // Sets up an elementwise kernel over the data's batch indices, two tile indices and the channel.
  // Returns the new index of each original index.
  std::vector<Affine> SetDataIndices(FlatContraction* kernel, absl::string_view name,
                                     const std::array<Index, 2>& along) const {
    kernel->name = absl::StrCat(flat_.name, name);
    std::vector<Affine> place(flat_.indices.size());
    const auto add = [&](Index index) {
      kernel->indices.push_back(std::move(index));
      return Affine::Variable(static_cast<int>(kernel->indices.size()) - 1);
    };
    for (int b : c_.batch) place[b] = add(flat_.indices[b]);
    for (size_t d = 0; d < 2; ++d) place[c_.directions[d].position] = add(along[d]);
    place[c_.channel] = add(flat_.indices[c_.channel]);
    return place;
  }

  static void SetDenseOutput(FlatContraction* kernel, ExprPtr value) {
    kernel->output_index_count = static_cast<int>(kernel->indices.size());
    for (size_t i = 0; i < kernel->indices.size(); ++i) {
      kernel->output_coords.push_back(Affine::Variable(static_cast<int>(i)));
      kernel->output_dims.push_back(kernel->indices[i].range);
    }
    kernel->outputs = {{ir::kNoValue, {DataType::kFloat32, kernel->output_dims}, std::move(value)}};
  }

  // Returns the data's coordinates with `along` in place of position + window.
  std::vector<Affine> DataCoords(const std::vector<Affine>& place,
                                 const std::array<Affine, 2>& along) const {
    std::vector<Affine> coords;
    for (const Affine& coord : DataAccess().coords) coords.push_back(coord.Substitute(place));
    for (size_t d = 0; d < 2; ++d) coords[c_.directions[d].dim] = along[d];
    return coords;
  }

  FlatContraction Padded() const {
    FlatContraction kernel;
    const std::vector<Affine> place =
        SetDataIndices(&kernel, "_padded", {Index{"y", PaddedSize(0)}, Index{"x", PaddedSize(1)}});
    kernel.tensors = {flat_.tensors[DataAccess().tensor]};
    std::array<Affine, 2> along;
    TensorAccess access;
    for (size_t d = 0; d < 2; ++d) {
      const Correlation::Direction& direction = c_.directions[d];
      along[d] = place[direction.position] + Affine::Constant(direction.first);
      access.guard.push_back(
          {along[d] - Affine::Constant(direction.begin), direction.end - direction.begin});
    }
    access.coords = DataCoords(place, along);
    const ExprPtr inside = MakeExpr(DataType::kBool, InRange{access.guard});
    kernel.accesses = {std::move(access)};
    const ExprPtr zero = MakeExpr(DataType::kFloat32, Literal{0.0});
    SetDenseOutput(&kernel,
                   MakeApply(ScalarOp::kSelect, DataType::kFloat32, {inside, ReadOf(0), zero}));
    return kernel;
  }

  FlatContraction Data(const std::optional<FlatContraction>& padded) const {
    FlatContraction kernel;
    const std::vector<Affine> place =
        SetDataIndices(&kernel, "_tiles", {Index{"ty", tiles_[0]}, Index{"tx", tiles_[1]}});
    const size_t channel = kernel.indices.size() - 1;
    if (padded) {
      kernel.tensors = {{ir::kNoValue, padded->outputs[0].shape}};
    } else {
      kernel.tensors = {flat_.tensors[DataAccess().tensor]};
    }
    for (int64_t point = 0; point < points() * points(); ++point) {
      const std::array<int64_t, 2> inside = {point / points(), point % points()};
      std::array<Affine, 2> along;
      for (size_t d = 0; d < 2; ++d) {
        along[d] = place[c_.directions[d].position] * tile_ +
                   Affine::Constant(inside[d] + (padded ? 0 : c_.directions[d].first));
      }
      TensorAccess access;
      if (padded) {
        for (size_t i = 0; i <= channel; ++i) {
          access.coords.push_back(Affine::Variable(static_cast<int>(i)));
        }
        access.coords[channel - 2] = along[0];
        access.coords[channel - 1] = along[1];
      } else {
        access.coords = DataCoords(place, along);
      }
      kernel.accesses.push_back(std::move(access));
    }
    Affine position;  // position within a row
    int64_t elements = 1;
    for (size_t i = kernel.indices.size(); i-- > 0;) {
      position.set_coefficient(static_cast<int>(i), elements);
      elements *= kernel.indices[i].range;
    }
    const ExprPtr value = ChooseByPoint(transforms_.data, &kernel);
    SetDenseOutput(&kernel, value);
    SetRows(&kernel, Affine::Variable(static_cast<int>(channel) + 1), position, elements);
    return kernel;
  }

  // Gives the output one row of `elements` per point, with a gap after each row.
  void SetRows(FlatContraction* kernel, Affine point, Affine position, int64_t elements) const {
    kernel->output_coords = {std::move(point), std::move(position)};
    kernel->output_dims = {points() * points(), elements + kRowGap};
    kernel->outputs[0].shape.dims = kernel->output_dims;
  }

  // Adds an index over points; the kernel's accesses are the tile's elements.
  ExprPtr ChooseByPoint(const TransformMatrix& matrix, FlatContraction* kernel) const {
    std::vector<ExprPtr> elements;
    for (size_t a = 0; a < kernel->accesses.size(); ++a) {
      elements.push_back(ReadOf(static_cast<int>(a)));
    }
    const int point = static_cast<int>(kernel->indices.size());
    kernel->indices.push_back({"point", points() * points()});
    return MakeExpr(DataType::kFloat32,
                    Choice{Affine::Variable(point), TransformTile(matrix, elements)});
  }

  FlatContraction Weights() const {
    FlatContraction kernel;
    kernel.name = absl::StrCat(flat_.name, "_weights");
    kernel.indices = {flat_.indices[c_.channel], flat_.indices[c_.feature]};
    const TensorAccess& original = flat_.accesses[c_.weights];
    kernel.tensors = {flat_.tensors[original.tensor]};
    std::vector<Affine> place(flat_.indices.size());
    place[c_.channel] = Affine::Variable(0);
    place[c_.feature] = Affine::Variable(1);
    for (int64_t i = 0; i < kWinogradWindow * kWinogradWindow; ++i) {
      const std::array<int64_t, 2> at = {i / kWinogradWindow, i % kWinogradWindow};
      for (size_t d = 0; d < 2; ++d) {
        const Correlation::Direction& direction = c_.directions[d];
        place[direction.window] =
            Affine::Constant(direction.reversed ? kWinogradWindow - 1 - at[d] : at[d]);
      }
      TensorAccess access;
      for (const Affine& coord : original.coords) access.coords.push_back(coord.Substitute(place));
      kernel.accesses.push_back(std::move(access));
    }
    const ExprPtr value = ChooseByPoint(transforms_.weights, &kernel);
    SetDenseOutput(&kernel, value);
    // The points become the outermost dimension.
    std::rotate(kernel.output_coords.begin(), kernel.output_coords.end() - 1,
                kernel.output_coords.end());
    std::rotate(kernel.output_dims.begin(), kernel.output_dims.end() - 1, kernel.output_dims.end());
    kernel.outputs[0].shape.dims = kernel.output_dims;
    return kernel;
  }

  FlatContraction Products(const TensorShape& data, const TensorShape& weights) const {
    FlatContraction kernel;
    kernel.name = absl::StrCat(flat_.name, "_products");
    kernel.indices = {{"point", points() * points()}};
    int64_t tiles = tiles_[0] * tiles_[1];
    for (int b : c_.batch) tiles *= Range(b);
    kernel.indices.push_back({"tile", tiles});
    kernel.indices.push_back(flat_.indices[c_.feature]);
    SetDenseOutput(&kernel, MakeExpr(DataType::kFloat32, Accumulator{}));
    SetRows(&kernel, Affine::Variable(0),
            Affine::Variable(1, Range(c_.feature)) + Affine::Variable(2),
            tiles * Range(c_.feature));
    const int channel = static_cast<int>(kernel.indices.size());
    kernel.indices.push_back(flat_.indices[c_.channel]);
    kernel.tensors = {{ir::kNoValue, data}, {ir::kNoValue, weights}};
    const Affine point = Affine::Variable(0);
    kernel.accesses = {
        {0, {point, Affine::Variable(1, Range(c_.channel)) + Affine::Variable(channel)}, {}},
        {1, {point, Affine::Variable(channel), Affine::Variable(2)}, {}}};
    kernel.aggregation = Aggregation::kSum;
    kernel.accumulator_type = DataType::kFloat32;
    kernel.body = MakeApply(ScalarOp::kMul, DataType::kFloat32, {ReadOf(0), ReadOf(1)});
    return kernel;
  }

  // Returns the original kernel over tiles and positions in them. Its aggregation is over a single
  // value, the inverse transform, so that a tile's values are computed together and outside of
  // guards.
  FlatContraction Result(const TensorShape& products) const {
    FlatContraction kernel = flat_;
    const int outputs = flat_.output_index_count;
    std::array<int, 2> inside = {outputs, outputs + 1};
    std::vector<Affine> place(flat_.indices.size());
    for (int i = 0; i < outputs; ++i) place[i] = Affine::Variable(i);
    for (size_t d = 0; d < 2; ++d) {
      const int position = c_.directions[d].position;
      place[position] = Affine::Variable(position, tile_) + Affine::Variable(inside[d]);
      if (Range(position) % tile_ != 0) {
        kernel.store_guard.push_back({Affine::Variable(position), Range(position)});
      }
    }
    kernel.body = nullptr;
    kernel.constraints.clear();
    kernel.may_be_empty = false;
    DropUnread(&kernel);
    kernel = MapPolys(kernel, [&](const Affine& poly) { return poly.Substitute(place); });
    kernel.indices.resize(outputs);
    for (size_t d = 0; d < 2; ++d) {
      Index& position = kernel.indices[c_.directions[d].position];
      kernel.indices.push_back({absl::StrCat(position.name, "_in"), tile_});
      position.range = tiles_[d];
    }
    kernel.output_index_count = outputs + 2;
    kernel.body = TransformedBack(products, inside, &kernel);
    return kernel;
  }

  ExprPtr TransformedBack(const TensorShape& products, const std::array<int, 2>& inside,
                          FlatContraction* kernel) const {
    const int tensor = static_cast<int>(kernel->tensors.size());
    kernel->tensors.push_back({ir::kNoValue, products});
    Affine position;  // position within a row
    int64_t count = Range(c_.feature);
    const auto add = [&](int index, int64_t range) {
      position.set_coefficient(index, count);
      count *= range;
    };
    add(c_.directions[1].position, tiles_[1]);
    add(c_.directions[0].position, tiles_[0]);
    for (size_t b = c_.batch.size(); b-- > 0;) add(c_.batch[b], Range(c_.batch[b]));
    std::vector<ExprPtr> elements;
    for (int64_t point = 0; point < points() * points(); ++point) {
      elements.push_back(ReadOf(static_cast<int>(kernel->accesses.size())));
      kernel->accesses.push_back(
          {tensor, {Affine::Constant(point), position + Affine::Variable(c_.feature)}, {}});
    }
    const std::vector<ExprPtr> results = TransformTile(transforms_.result, elements);
    std::vector<ExprPtr> rows;
    for (int64_t row = 0; row < tile_; ++row) {
      Choice choice{Affine::Variable(inside[1]), {}};
      for (int64_t x = 0; x < tile_; ++x) choice.values.push_back(results[row * tile_ + x]);
      rows.push_back(MakeExpr(DataType::kFloat32, std::move(choice)));
    }
    return MakeExpr(DataType::kFloat32, Choice{Affine::Variable(inside[0]), std::move(rows)});
  }

  const FlatContraction& flat_;
  const Correlation& c_;
  const int64_t tile_;
  const FilterTransforms transforms_;
  std::array<int64_t, 2> tiles_;
};

}  // namespace

int64_t TileCount(const FlatContraction& flat, const Correlation::Direction& direction,
                  int64_t tile) {
  return (flat.indices[direction.position].range + tile - 1) / tile;
}

WinogradKernels MakeWinograd(const FlatContraction& flat, const Correlation& correlation,
                             int64_t tile) {
  return Maker(flat, correlation, tile).Make();
}

}  // namespace tartan::poly
