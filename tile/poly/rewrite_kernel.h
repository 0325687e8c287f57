// SPDX-License-Identifier: Apache-2.0
// Changes of a kernel's iteration space that leave what it computes alone: plans and code are made
// from the form with the fewest indices, and from split indices where an operand is packed.
#pragma once

#include <functional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// The same kernel with every affine function of the indices (of accesses, guards, constraints,
// output coordinates and expressions) replaced. Sharing between expressions is kept.
FlatContraction MapPolys(const FlatContraction& flat,
                         const std::function<math::Affine(const math::Affine&)>& map);

// Visits every expression of the kernel once, also those within others.
void VisitExprs(const FlatContraction& flat, const std::function<void(const Expr&)>& visit);

// The first read through an access in the expression; null: none.
ExprPtr FindRead(const ExprPtr& expr, int access);

// An expression with others in place of those without operands (reads, literals …).
ExprPtr MapLeaves(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& map);

// The access of a kernel that reads what one of another kernel with the same indices does; -1:
// none.
int FindAccess(const FlatContraction& flat, const FlatContraction& of, int access);
// Adds such an access, and its tensor, unless it is there.
int AddAccess(const FlatContraction& from, int number, FlatContraction* to);

// Keeps the accesses that expressions read, and the tensors, in the order in which they come up:
// first in outputs, last in the body. Returns the new number of each tensor, -1 where it is gone.
std::vector<int> DropUnread(FlatContraction* flat);

// Tensors become sequences of elements (but for those read at computed coordinates), indices of
// range 1 vanish, and two indices that every affine function of the kernel sees as one (a whole run
// of the inner for each step of the outer) become one. The indices `kept` stay as they are; their
// positions are replaced by those in the result (-1 stays).
FlatContraction MergeIndices(FlatContraction flat, std::vector<int>* kept = nullptr);

// Replaces output index `index` by `index / size` (at its position) and `index % size` (after the
// other output indices), names with "_block" and "_lane" added. Where `size` does not divide the
// range, stores and reads are guarded; reads at computed coordinates must not follow the index.
FlatContraction SplitIndex(const FlatContraction& flat, int index, int64_t size);

}  // namespace tartan::poly
