// SPDX-License-Identifier: Apache-2.0
// The weights that work-items of a persistent kernel keep: in variables, which become registers,
// and in local memory. Each work-item has its own, which no other one reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/plan/gpu/persistent/persistent_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Vectors along the depth, numbered in the order in which they are multiplied: by their place in
// the work-item's depth, then by its sums, of which each column has those that are joined. In
// scope: "item", and of the work-item's share "part", its first column, and "first_deep".
class KeptWeights {
 public:
  KeptWeights(const poly::FlatContraction& flat, const plan::PersistentPlan& plan,
              DataType index_type);

  // Those in variables and the local array.
  void Declare(std::vector<loop::StmtPtr>* body) const;
  // Reads all from memory. Behind the depth they are zeros; those of columns that there are not are
  // others'.
  void Read(std::vector<loop::StmtPtr>* body) const;

  // The four of a vector, at a place of the depth counted in vectors; those in local memory are
  // loaded into a variable.
  std::vector<loop::ExprPtr> Lanes(int64_t deep, int64_t sum,
                                   std::vector<loop::StmtPtr>* body) const;

 private:
  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  loop::ExprPtr Var(const std::string& name) const { return loop::Var(name, {index_type_, 1}); }

  int64_t VectorOf(int64_t deep, int64_t sum) const;
  int64_t LocalBefore(int64_t vector) const;
  bool IsLocal(int64_t vector) const;
  // The first of a vector in the local array.
  loop::ExprPtr LocalPlace(int64_t vector) const;
  bool LieInVectors() const;
  // In memory, so many from a place of the work-item's depth on.
  loop::ExprPtr InMemory(int64_t place, int64_t sum, int lanes) const;
  void ReadVector(int64_t deep, int64_t sum, std::vector<loop::StmtPtr>* body) const;

  const poly::FlatContraction& flat_;
  const plan::PersistentPlan& plan_;
  const DataType index_type_;
  const int64_t depth_, sums_, joined_;
};

}  // namespace tartan::lower
