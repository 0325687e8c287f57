// SPDX-License-Identifier: Apache-2.0
// The weights of a persistent (weight-stationary) kernel. Each work-item keeps its own share in
// variables, which become registers, and in local memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/plan/few_rows_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// The share is numbered in vectors along K, in the order of multiplication: first by position along
// K, then by sum; each column has one sum per joined output. Expects these variables in scope:
// "item", "part" (the work-item's part of K), its first column, and "first_k".
class ResidentWeights : IndexBuilder {
 public:
  ResidentWeights(const poly::FlatContraction& flat, const plan::PersistentPlan& plan,
                  DataType index_type);

  // Declares the variables and the local array.
  void Declare(std::vector<loop::StmtPtr>* body) const;
  // Loads all weights from global memory. Past the end of K they are zero; for columns past the
  // last one, other columns' weights are loaded.
  void Read(std::vector<loop::StmtPtr>* body) const;

  // The four weights of a vector. `k` is its position along K, in vectors. A vector in local
  // memory is loaded into a variable.
  std::vector<loop::ExprPtr> Lanes(int64_t k, int64_t sum, std::vector<loop::StmtPtr>* body) const;

 private:
  int64_t VectorOf(int64_t k, int64_t sum) const;
  int64_t LocalBefore(int64_t vector) const;
  bool IsLocal(int64_t vector) const;
  // The offset of a vector in the local array.
  loop::ExprPtr LocalPlace(int64_t vector) const;
  bool AreInVectors() const;
  // The weights in global memory from an element `place` of the work-item's part of K on.
  loop::ExprPtr InMemory(int64_t place, int64_t sum, int lanes) const;
  void ReadVector(int64_t k, int64_t sum, std::vector<loop::StmtPtr>* body) const;

  const poly::FlatContraction& flat_;
  const plan::PersistentPlan& plan_;
  const int64_t k_size_, sums_, joined_;
};

}  // namespace tartan::lower
