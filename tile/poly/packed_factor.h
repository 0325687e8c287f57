// SPDX-License-Identifier: Apache-2.0
// What is packed of one factor of a product (packed_product.h): the values of an expression over
// the elements of the largest tensor that it reads.
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

// An elementwise kernel over all of the kernel's indices that computes one of its expressions.
FlatContraction ElementsOf(const FlatContraction& flat, const ExprPtr& expr);

class PackedFactor {
 public:
  // `packed`: a reduced index. Empty where the expression cannot be packed along it.
  static std::optional<PackedFactor> Make(const FlatContraction& flat, const ExprPtr& expr,
                                          int packed);

  // Words along the packed index, with `count` values in each.
  int64_t WordCount(int64_t count) const;
  // The kernel that writes the words, of floats two as bfloat16; its only output has no value.
  FlatContraction Words(std::string name, int64_t count) const;
  // Where the word of the original kernel's point is, with the packed index over words.
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
  std::vector<math::Affine> coords_;  // of the largest tensor's read
  std::vector<int64_t> dims_;         // of that tensor
  bool is_guarded_ = false;
  int packed_dim_ = -1;
  std::vector<math::Interval> box_;  // per coordinate
};

}  // namespace tartan::poly
