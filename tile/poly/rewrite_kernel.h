// SPDX-License-Identifier: Apache-2.0
// Transformations of a kernel's iteration space that do not change its results: merging indices for
// planning, splitting indices for packing.
#pragma once

#include <functional>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns the kernel with `map` applied to every affine function of the indices, in accesses,
// guards, constraints, output coordinates and expressions. Shared expressions stay shared.
FlatContraction MapPolys(const FlatContraction& flat,
                         const std::function<math::Affine(const math::Affine&)>& map);

// Visits every expression of the kernel once, including subexpressions.
void VisitExprs(const FlatContraction& flat, const std::function<void(const Expr&)>& visit);

// Returns the first read through an access in the expression, or null.
ExprPtr FindRead(const ExprPtr& expr, int access);

// Returns the expression with `map` applied to its leaves (reads, literals and so on).
ExprPtr MapLeaves(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& map);

// Returns the access of `flat` that equals access `access` of `of`, which has the same indices, or
// -1.
int FindAccess(const FlatContraction& flat, const FlatContraction& of, int access);
// Adds an access and its tensor, unless `to` has an equal one; returns its number.
int AddAccess(const FlatContraction& from, int number, FlatContraction* to);

// Drops accesses and tensors that no expression reads. The others are renumbered in order of
// appearance: outputs first, body last. Returns the new number of each tensor, or -1.
std::vector<int> DropUnread(FlatContraction* flat);

// Flattens tensors to one dimension, except those read at computed coordinates. Drops indices of
// range 1, and merges pairs of indices that all affine functions traverse contiguously.
// The indices `kept` are not changed; their positions are updated (-1 stays).
FlatContraction MergeIndices(FlatContraction flat, std::vector<int>* kept = nullptr);

// Splits output index `index` into `index / size` (same position) and `index % size` (after the
// other output indices), named with "_block" and "_lane". If `size` does not divide the range,
// stores and reads are guarded; reads at computed coordinates must not depend on the index.
FlatContraction SplitIndex(const FlatContraction& flat, int index, int64_t size);

}  // namespace tartan::poly
