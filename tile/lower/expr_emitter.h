// SPDX-License-Identifier: Apache-2.0
// Scalar expressions of a kernel as loop IR expressions, at one position after another of a
// register tile and in vectors, with what several uses share computed once into a variable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/index_emitter.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct VectorShape {
  int index = -1;  // of the kernel's indices; -1: scalars
  int lanes = 1;
};

// Elements of an access that lie in an array instead of the tensor: the one at a position of the
// tile is at base + loops + what `tile` gains there.
struct StagedRead {
  std::string array;
  DataType type = DataType::kInvalid;
  loop::ExprPtr base;
  math::Affine loops;  // of the reduced indices
  math::Affine tile;   // of the output indices; along vectors 1
};

// Emits into one block of straight-line code: declarations of shared values are appended to it.
class ExprEmitter {
 public:
  // `prefix` begins the names of variables. Tensor t is the parameter "in<t>". `positions` are
  // those the block will be emitted for.
  ExprEmitter(const poly::FlatContraction& flat, const IndexEmitter& indices, VectorShape vector,
              const std::vector<Position>& positions, std::string prefix,
              std::vector<loop::StmtPtr>* block);

  // Constraints that hold here: nothing under them needs a check.
  void Assume(const std::vector<math::RangeConstraint>& constraints) { assumed_ = constraints; }
  // Constraints that every read of the block must be checked for.
  void CheckReads(const std::vector<math::RangeConstraint>& constraints) { checked_ = constraints; }
  // The value that reads through an access have at every position, instead of that in memory: a
  // vector where it differs along the vector index.
  void Provide(int access, loop::ExprPtr value) { provided_[access] = std::move(value); }
  // Reads through an access are of that array.
  void ReadStaged(int access, StagedRead read) { staged_[access] = std::move(read); }
  // The vector index is a multiple of the lanes wherever the block is emitted.
  void AssumeAlignedLanes() { lanes_are_aligned_ = true; }
  // The block will be emitted for every position of a register tile of this size per index, all of
  // them within the ranges: reads whose neighbours lie along an index other than the vector's may
  // load squares of the tile and transpose them.
  void AssumeWholeTile(std::vector<int64_t> sizes) { tile_sizes_ = std::move(sizes); }
  // Conditions that differ between lanes are computed as vectors where they can be.
  void MaskLanes() { masks_lanes_ = true; }
  // Elements that an expression chooses between, or all where the block chooses between its values,
  // are loaded whichever is chosen: a GPU's compiler puts a load that only one choice needs into a
  // branch, and waits for it there before it begins the next one.
  void LoadBeforeChoices(bool is_chosen = false) {
    loads_before_choices_ = true;
    choices_ = is_chosen ? 1 : 0;
  }
  // Counts uses, so that what is used more than once gets a variable. Call for every root first.
  void Count(const poly::ExprPtr& expr);
  // `accumulators`: the values of poly::Accumulator, by number.
  void MoveTo(const Position& position, std::vector<loop::ExprPtr> accumulators = {});
  // A vector where the value differs along the vector index, else a scalar.
  loop::ExprPtr Emit(const poly::ExprPtr& expr);
  // All of the constraints at the current position, for each lane where they differ; null: true.
  loop::ExprPtr EmitConditions(const std::vector<math::RangeConstraint>& constraints);

 private:
  // What a value depends on: a bit per index, kAccumulatorBit for the accumulator.
  using Dependence = uint64_t;
  using Key = std::pair<const poly::Expr*, std::vector<int64_t>>;
  static Dependence BitOf(int index);  // 0 for no index

  Dependence DependenceOf(const math::Affine& poly) const;
  Dependence DependenceOf(const std::vector<math::RangeConstraint>& constraints) const;
  Dependence DependenceOf(const poly::ExprPtr& expr);
  bool VariesByLane(Dependence dependence) const;
  // Not all lanes of a vector are on the same side of some constraint.
  bool VaryByLane(const std::vector<math::RangeConstraint>& constraints) const;
  // Several positions of the tile have the same value.
  bool IsShared(Dependence dependence) const;

  loop::ExprPtr EmitNew(const poly::ExprPtr& expr);
  loop::ExprPtr EmitApply(const poly::Apply& apply, DataType type);
  // Operands that the operation before them chooses between.
  loop::ExprPtr EmitChosen(const poly::ExprPtr& expr);
  // A value that is loaded, as it is to be used.
  loop::ExprPtr Loaded(loop::ExprPtr value);
  loop::ExprPtr EmitRead(const poly::ExprPtr& expr, const poly::TensorAccess& access);
  // The read where positions along several indices of the tile may have the same element.
  loop::ExprPtr EmitSliding(const poly::ExprPtr& expr, int access);
  bool IsSliding(int access);
  loop::ExprPtr EmitStaged(const StagedRead& read) const;
  loop::ExprPtr EmitChoice(const poly::Choice& choice);
  loop::ExprPtr EmitReadAt(const poly::ExprPtr& expr, const poly::ReadAt& read);
  // The tensor has the elements of a vector wherever the read is.
  bool HasVector(int tensor, const std::vector<math::RangeConstraint>& guard) const;
  // True where the lanes of a read at computed coordinates are neighbours in memory.
  bool IsContiguous(const poly::ReadAt& read);
  loop::ExprPtr Load(int tensor, loop::ExprPtr index, int lanes,
                     const std::vector<math::RangeConstraint>& guard, bool is_aligned = false);
  // The index along which the read's neighbours lie where it can be loaded in squares; -1: none.
  int TransposedIndex(const poly::ExprPtr& expr, const math::Affine& flat,
                      const poly::TensorAccess& access);
  // The vector at the current position, from a square of the tile that is loaded along `row`.
  loop::ExprPtr EmitTransposed(const poly::ExprPtr& expr, const math::Affine& flat, int row);
  // Vectors at the polynomial are on a boundary of vectors.
  bool IsAligned(const math::Affine& flat) const;
  // Whether a read at every other place sees the first or the second of each two neighbours;
  // nothing where that is not known, or the last element has no neighbour.
  std::optional<int> PlaceInPair(const math::Affine& flat, int tensor) const;
  // All of the constraints, some of which differ between lanes, as a vector; null: true.
  loop::ExprPtr EmitMasks(const std::vector<math::RangeConstraint>& constraints);
  loop::ExprPtr EmitMask(const math::RangeConstraint& constraint);
  // Computes each lane by itself and puts them together.
  loop::ExprPtr LaneByLane(DataType type, const std::function<loop::ExprPtr()>& emit);
  loop::ExprPtr AtFirstLane(const std::function<loop::ExprPtr()>& emit);
  std::vector<math::RangeConstraint> Unproven(
      const std::vector<math::RangeConstraint>& guard) const;
  loop::ExprPtr Name(loop::ExprPtr value);
  std::string NewName();
  bool CanBeNamed(const loop::ExprPtr& value) const;

  const poly::FlatContraction& flat_;
  const IndexEmitter& indices_;
  VectorShape vector_;
  const std::vector<Position> positions_;
  Dependence tile_ = 0;  // the indices along which positions differ
  const std::string prefix_;
  std::vector<loop::StmtPtr>* block_;
  std::vector<math::RangeConstraint> assumed_;
  std::vector<math::RangeConstraint> checked_;
  std::map<int, loop::ExprPtr> provided_;
  std::map<int, StagedRead> staged_;
  bool lanes_are_aligned_ = false;
  bool masks_lanes_ = false;
  bool loads_before_choices_ = false;
  int choices_ = 0;             // that the expression emitted now is chosen by
  loop::ExprPtr lane_numbers_;  // 0, 1, 2 …; null where none were needed yet
  Position position_;
  int lane_ = 0;  // of a vector, where lanes are computed one by one
  std::vector<loop::ExprPtr> accumulators_;
  std::unordered_map<const poly::Expr*, int> uses_;
  std::unordered_map<const poly::Expr*, Dependence> dependence_;
  std::map<Key, loop::ExprPtr> emitted_;
  std::map<int, bool> sliding_;          // by access
  std::map<Key, loop::ExprPtr> places_;  // by expression and place in memory
  std::map<std::string, loop::ExprPtr> conditions_;
  std::vector<int64_t> tile_sizes_;
  // By expression and the position of a square's first element: its vectors.
  std::map<Key, std::vector<loop::ExprPtr>> squares_;
  int next_name_ = 0;
};

}  // namespace tartan::lower
