// SPDX-License-Identifier: Apache-2.0
// Copies tiles of an MMA operand to local memory. A tile's 16-byte vectors are numbered. In each
// round a work-item copies the vector whose number is its own plus a multiple of the work-group
// size. Values that follow from a vector's row are computed once, values that follow from its K
// position per step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/base/mma_tile.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Splits `number` into the values of the indices, the last varying fastest. Requires a number below
// the count of index combinations.
std::vector<loop::ExprPtr> Digits(const poly::FlatContraction& flat,
                                  const std::vector<int>& indices, const loop::ExprPtr& number,
                                  DataType index_type);

class MmaOperandLoader : IndexBuilder {
 public:
  // `name` begins the names of variables; `rows` are the indices of the tile's rows, `batch_values`
  // the values of plan.batch. The tile of a stage begins at `begin` in "tiles".
  MmaOperandLoader(const poly::FlatContraction& flat, const plan::MatrixPlan& plan,
                   const plan::MatrixOperand& operand, std::string name,
                   const std::vector<int>& rows, MatrixTile tile,
                   std::vector<loop::ExprPtr> batch_values, int64_t begin, DataType index_type);

  const plan::MatrixOperand& plan() const { return operand_; }
  // Declares what depends on the rows; `base` is the number of the tile's first row.
  std::vector<loop::StmtPtr> DeclareRows(const loop::ExprPtr& base) const;
  // Starts to copy the tiles at a step into the buffer of the stage.
  std::vector<loop::StmtPtr> Copy(const loop::ExprPtr& step, const loop::ExprPtr& stage) const;
  // Rounds the elements that the work-item has copied to tf32; `suffix` ends the names of its
  // variables.
  std::vector<loop::StmtPtr> Round(const loop::ExprPtr& stage, const std::string& suffix) const;
  // The copy in two parts, through registers, for operands that asynchronous copies cannot bring.
  std::vector<loop::StmtPtr> DeclareNext() const;
  std::vector<loop::StmtPtr> Fetch(const loop::ExprPtr& step) const;
  std::vector<loop::StmtPtr> Put(const loop::ExprPtr& stage) const;

 private:
  struct Vector {          // the vector of one round
    loop::ExprPtr row, k;  // within the tiles
    loop::ExprPtr place;   // offset from the beginning of the first tile
    loop::ExprPtr exists;  // null: always
  };
  // The address from which an element is read.
  struct Source {
    loop::ExprPtr from;   // address; the tensor's first element if not valid
    loop::ExprPtr valid;  // null: always
  };

  std::string Name(const char* what, int64_t round) const;
  int64_t VectorCount() const;
  int64_t RoundCount() const;
  // The offset of the first slice's tile of a stage.
  loop::ExprPtr Begin(const loop::ExprPtr& stage) const;
  Vector VectorOf(int64_t round) const;
  // Returns whether all rounds have the same K position, so that what follows from it is declared
  // once.
  bool KIsShared() const;
  // The terms of an affine function that belong to the indices of a list.
  loop::ExprPtr Part(const math::Affine& poly, const std::vector<int>& indices,
                     const std::vector<loop::ExprPtr>& values) const;
  // Declares the K terms of the address and of the constraints at `number`, and whether that K
  // position exists; names end in `suffix`.
  void DeclareK(const loop::ExprPtr& number, const std::string& suffix,
                std::vector<loop::StmtPtr>* statements) const;
  Source SourceOf(int64_t round, const std::string& k_suffix) const;
  // The vector's elements, with zeros for invalid ones.
  loop::ExprPtr FetchVector(int64_t round, const loop::ExprPtr& base,
                            std::vector<loop::StmtPtr>* statements) const;
  std::string KSuffix(int64_t round) const;
  void DeclareKs(const loop::ExprPtr& step, std::vector<loop::StmtPtr>* statements) const;

  const poly::FlatContraction& flat_;
  const plan::MatrixPlan& plan_;
  const plan::MatrixOperand& operand_;
  const std::string name_;
  const std::vector<int>& rows_;
  const MatrixTile tile_;
  const std::vector<loop::ExprPtr> batch_values_;
  const int64_t begin_;
  std::string buffer_;
  DataType stored_;
  math::Affine access_;  // the element's address
};

}  // namespace tartan::lower
