// SPDX-License-Identifier: Apache-2.0
// How the part of a tensor that a work-group needs is laid out in local memory and loaded by its
// work-items: indices that address together are merged, each merged index gets a stride in the tile
// and its share of the work-items.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Indices that address together: position = origin + sum(scale * index), 0 <= position < range.
struct TileDim {
  struct Member {
    int index;
    int64_t scale;  // negative: the index walks the tensor backwards
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;
  int64_t origin = 0;  // of positions, so that they are not negative
  int64_t range = 1;
  int64_t global_stride = 0;  // > 0
  int64_t local_stride = 0;
  // The load: `vector` neighbouring positions at once, `threads` work-items side by side, the rest
  // in a loop.
  int64_t vector = 1;
  int64_t threads = 1;

  int64_t Rounds() const { return (range + vector * threads - 1) / (vector * threads); }
  bool operator==(const TileDim&) const = default;
};

struct TileLayout {
  std::vector<TileDim> dims;  // by global stride
  int64_t size = 1;           // elements in local memory

  // Elements of the tile, without padding.
  int64_t ElementCount() const;
  // Dimension and scale of an index; {-1, 0} where the tile does not depend on it.
  std::pair<int, int64_t> DimOf(int index) const;
  // How far one step of an index moves in the tile.
  int64_t LocalStride(int index) const;
  // The dimension of which several neighbours are loaded at once; -1: none.
  int VectorDim() const;
  // They are neighbours in the tile, too, and begin where vectors do.
  bool StoresVectors() const;
  bool operator==(const TileLayout&) const = default;
};

// The merged indices of an access over a tile of tile[i] values of each index. Two are merged where
// one's stride is a multiple of the other's that lies within its range, and every constraint sees
// both alike, so that it can be told from the merged position. Ranges of 1 are left out.
std::vector<TileDim> MergeTileDims(const poly::FlatAccess& access, absl::Span<const int64_t> tile,
                                   absl::Span<const math::RangeConstraint> constraints);

// Gives every dimension an odd local stride, which is prime to the number of banks: odd ranges
// first, then the largest.
TileLayout OddLayout(std::vector<TileDim> dims);

// Puts dimension `contiguous` innermost and makes all other strides multiples of `vector`, so that
// `vector` neighbours can be read at once.
TileLayout VectorLayout(std::vector<TileDim> dims, int contiguous, int64_t vector);

// The layout with its dimensions in the same order, and nothing between them but what vectors need.
TileLayout WithoutPadding(TileLayout layout);

// Spreads `threads` (a power of two) work-items over the dimensions: those that step less than half
// a line of `line_elements` first, then those whose ranges are closest to a power of two,
// the larger before the smaller.
void SpreadThreads(int64_t threads, int64_t line_elements, TileLayout* layout);

// Memory transactions of `line_elements` to load the tile.
double LoadCount(const TileLayout& layout, int64_t line_elements);

}  // namespace tartan::plan
