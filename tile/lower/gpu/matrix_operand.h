// SPDX-License-Identifier: Apache-2.0
// How the work-items of a group bring tiles of a factor to local memory. A tile's vectors of 16
// bytes are numbered, and each work-item has those whose numbers are its own plus a multiple of the
// group's size: a round for each. What follows from a vector's row is computed once, what follows
// from its depth in every step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/base/matrix_tile.h"
#include "tile/loop/build.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// The values of indices that count as one number, the last varying fastest. Requires that the
// number is below the product of their ranges.
std::vector<loop::ExprPtr> Digits(const poly::FlatContraction& flat,
                                  const std::vector<int>& indices, const loop::ExprPtr& number,
                                  DataType index_type);

class MatrixOperandLoader {
 public:
  // `name` begins the names of variables; `rows` are the indices of the tile's rows, `batch_values`
  // the values of plan.batch. The tile of a stage begins at `begin` in "tiles".
  MatrixOperandLoader(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                      const plan::MatrixOperand& operand, std::string name,
                      const std::vector<int>& rows, MatrixTile tile,
                      std::vector<loop::ExprPtr> batch_values, int64_t begin, DataType index_type);

  const plan::MatrixOperand& plan() const { return operand_; }
  // What depends on the rows; `base` is the number of the tile's first.
  std::vector<loop::StmtPtr> DeclareRows(const loop::ExprPtr& base) const;
  // Starts to copy the tiles at a step into the stage.
  std::vector<loop::StmtPtr> Copy(const loop::ExprPtr& step, const loop::ExprPtr& stage) const;
  // Rounds what the work-item has copied there, by way of variables whose names end so.
  std::vector<loop::StmtPtr> Round(const loop::ExprPtr& stage, const std::string& suffix) const;
  // The same in two parts, by way of variables: where the operand is not copied as it is.
  std::vector<loop::StmtPtr> DeclareNext() const;
  std::vector<loop::StmtPtr> Fetch(const loop::ExprPtr& step) const;
  std::vector<loop::StmtPtr> Put(const loop::ExprPtr& stage) const;

 private:
  struct Vector {              // of one round
    loop::ExprPtr row, depth;  // within the tiles
    loop::ExprPtr place;       // from the begin of the first
    loop::ExprPtr exists;      // null: always
  };
  // What an element needs to be read.
  struct Source {
    loop::ExprPtr from;   // the tensor's first one where it is not valid
    loop::ExprPtr valid;  // null: always
  };

  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  loop::ExprPtr Var(const std::string& name) const { return loop::Var(name, {index_type_, 1}); }
  std::string Name(const char* what, int64_t round) const;
  int64_t VectorCount() const;
  int64_t RoundCount() const;
  // Where the first slice's tile of a stage begins.
  loop::ExprPtr Begin(const loop::ExprPtr& stage) const;
  Vector VectorOf(int64_t round) const;
  // Whether all rounds have the same depth, so that what follows from it is declared once.
  bool DepthIsShared() const;
  // The part of an affine function that the indices of a list have.
  loop::ExprPtr Part(const math::Affine& poly, const std::vector<int>& indices,
                     const std::vector<loop::ExprPtr>& values) const;
  // Declares the depth's share of the place in memory and of constraints at `number`, and whether
  // there is such a depth; names end in `suffix`.
  void DeclareDepth(const loop::ExprPtr& number, const std::string& suffix,
                    std::vector<loop::StmtPtr>* statements) const;
  Source SourceOf(int64_t round, const std::string& depth_suffix) const;
  // The vector's elements, and zeros for those that do not count.
  loop::ExprPtr FetchVector(int64_t round, const loop::ExprPtr& base,
                            std::vector<loop::StmtPtr>* statements) const;
  std::string DepthSuffix(int64_t round) const;
  void DeclareDepths(const loop::ExprPtr& step, std::vector<loop::StmtPtr>* statements) const;

  const poly::FlatContraction& flat_;
  const plan::MatrixPlan& plan_;
  const plan::MatrixOperand& operand_;
  const std::string name_;
  const std::vector<int>& rows_;
  const MatrixTile tile_;
  const std::vector<loop::ExprPtr> batch_values_;
  const int64_t begin_;
  const DataType index_type_;
  std::string buffer_;
  DataType stored_;
  math::Affine access_;  // the element's place in memory
};

}  // namespace tartan::lower
