// SPDX-License-Identifier: Apache-2.0
// Layout of a staged tile in local memory, and its loading by the work-items. Indices that address
// the tensor jointly are merged. Each merged index gets a stride in the tile and a share of the
// work-items.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// A merged index: position = origin + sum(scale * index), 0 <= position < range.
struct TileDim {
  struct Member {
    int index;
    int64_t scale;  // negative: the index traverses the tensor backwards
    bool operator==(const Member&) const = default;
  };
  std::vector<Member> members;
  int64_t origin = 0;  // makes all positions nonnegative
  int64_t range = 1;
  int64_t global_stride = 0;  // in the tensor, elements; > 0
  int64_t local_stride = 0;
  // The load: `vector` contiguous positions at once, `threads` adjacent work-items, and a loop over
  // the rest.
  int64_t vector = 1;
  int64_t threads = 1;

  int64_t Rounds() const { return (range + vector * threads - 1) / (vector * threads); }
  bool operator==(const TileDim&) const = default;
};

struct TileLayout {
  std::vector<TileDim> dims;  // ascending by global stride
  int64_t size = 1;           // elements in local memory, padding included

  // Elements of the tile, without padding.
  int64_t ElementCount() const;
  // Returns the dimension and scale of an index; {-1, 0} if the tile does not depend on it.
  std::pair<int, int64_t> DimOf(int index) const;
  // Elements in the tile from one value of an index to the next.
  int64_t LocalStride(int index) const;
  // Dimension whose elements are loaded in vectors; -1: none.
  int VectorDim() const;
  // Returns whether these vectors are contiguous and aligned in the tile, too.
  bool StoresVectors() const;
  bool operator==(const TileLayout&) const = default;
};

// Merges the indices of an access over a tile of tile[i] values of index i. Two indices are merged
// if one's stride is a multiple of the other's within its range. Every constraint must be
// expressible by the merged position, too. Ranges of 1 are left out.
std::vector<TileDim> MergeTileDims(const poly::FlatAccess& access, absl::Span<const int64_t> tile,
                                   absl::Span<const math::RangeConstraint> constraints);

// Gives every dimension an odd local stride, coprime to the number of banks: odd ranges first, then
// the largest.
TileLayout OddLayout(std::vector<TileDim> dims);

// Makes dimension `contiguous` the innermost, and all other strides multiples of `vector`, so that
// `vector` contiguous elements can be read at once.
TileLayout VectorLayout(std::vector<TileDim> dims, int contiguous, int64_t vector);

// Returns the layout with the same order of dimensions, padded only as far as vectors need.
TileLayout WithoutPadding(TileLayout layout);

// Distributes `threads` (a power of two) work-items over the dimensions. Dimensions of stride less
// than half a line of `line_elements` are first, then those with ranges closest to a power of two,
// larger ranges first.
void SpreadThreads(int64_t threads, int64_t line_elements, TileLayout* layout);

// Memory transactions of `line_elements` elements to load the tile.
double LoadCount(const TileLayout& layout, int64_t line_elements);

}  // namespace tartan::plan
