// SPDX-License-Identifier: Apache-2.0
// Packs one factor of a low-precision matmul (packed_matmul.h) into words: the values of an
// expression over the elements of its largest tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/integer_system.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

ExprPtr Int32Apply(ScalarOp op, ExprPtr a, ExprPtr b);

// Returns an elementwise kernel over all indices of `flat` that computes `expr`.
FlatContraction ElementsOf(const FlatContraction& flat, const ExprPtr& expr);

class PackedFactor {
 public:
  // `packed`: a reduced index. Returns nothing if the expression cannot be packed along it.
  static std::optional<PackedFactor> Make(const FlatContraction& flat, const ExprPtr& expr,
                                          int packed);

  // Number of words along the packed index, with `count` values each.
  int64_t WordCount(int64_t count) const;
  // Returns the kernel that writes the words; two floats become two bfloat16. Its only output has
  // no value.
  FlatContraction Words(std::string name, int64_t count) const;
  // Returns the coordinates of a point's word; the packed index counts words.
  std::vector<math::Affine> WordCoords() const;

 private:
  bool FindMain();
  bool FindBox();
  bool DependsOnCoordsOnly() const;
  bool IsAlone(absl::Span<const math::Affine> coords, size_t d) const;
  std::optional<math::Affine> OverCoords(const math::Affine& poly) const;
  ExprPtr Part(int64_t ahead, FlatContraction* words) const;

  int packed_ = -1;
  FlatContraction values_;
  std::vector<math::Affine> coords_;  // of the largest tensor's access
  std::vector<int64_t> dims_;         // of the largest tensor
  bool is_guarded_ = false;
  int packed_dim_ = -1;
  std::vector<math::Interval> box_;  // per coordinate: range of elements that the kernel reads
};

}  // namespace tartan::poly
