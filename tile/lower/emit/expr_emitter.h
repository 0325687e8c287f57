// SPDX-License-Identifier: Apache-2.0
// Emits a kernel's scalar expressions as loop IR, in vectors, for each position of a register tile.
// Shared subexpressions are computed once into variables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct VectorShape {
  int index = -1;  // position among the kernel's indices; -1: scalars
  int lanes = 1;
};

// An access that reads from an array instead of the tensor. The element at a position of the tile
// is at base + loops + the value of `tile` at that position.
struct StagedRead {
  std::string array;
  DataType type = DataType::kInvalid;
  loop::ExprPtr base;
  math::Affine loops;  // over the reduced indices
  math::Affine tile;   // over the output indices; coefficient 1 along vectors
};

// Emits into one block of straight-line code; declarations of shared values are appended to it.
class ExprEmitter {
 public:
  // `prefix` begins the names of variables. Tensor t is the parameter "in<t>". `positions` are all
  // positions for which the block will be emitted.
  ExprEmitter(const poly::FlatContraction& flat, const IndexEmitter& indices, VectorShape vector,
              const std::vector<Position>& positions, std::string prefix,
              std::vector<loop::StmtPtr>* block);

  // Constraints that hold here, so that reads guarded by them need no check.
  void Assume(const std::vector<math::RangeConstraint>& constraints) { assumed_ = constraints; }
  // Constraints that every read of the block must check.
  void CheckReads(const std::vector<math::RangeConstraint>& constraints) { checked_ = constraints; }
  // Uses `value` instead of loading through the access, at every position; a vector if the value
  // differs along the vector index.
  void Provide(int access, loop::ExprPtr value) { provided_[access] = std::move(value); }
  // Reads through the access come from this array.
  void ReadStaged(int access, StagedRead read) { staged_[access] = std::move(read); }
  // The vector index is a multiple of the lane count wherever the block is emitted.
  void AssumeAlignedLanes() { lanes_are_aligned_ = true; }
  // The block will be emitted for every position of a register tile of these sizes, all in range.
  // Reads that are contiguous along an index other than the vector index may then load square
  // blocks of the tile and transpose them.
  void AssumeWholeTile(std::vector<int64_t> sizes) { tile_sizes_ = std::move(sizes); }
  // Conditions that differ between lanes become vector masks where possible.
  void MaskLanes() { masks_lanes_ = true; }
  // Loads the operands of a select unconditionally. A GPU compiler would put a conditional load
  // into a branch, and wait there before it starts the next load. `is_chosen`: the block itself
  // selects between its values, so that all its loads are meant.
  void LoadUnconditionally(bool is_chosen = false) {
    loads_unconditionally_ = true;
    choices_ = is_chosen ? 1 : 0;
  }
  // Counts uses, so that values used more than once get variables. Call for every root first.
  void Count(const poly::ExprPtr& expr);
  // `accumulators` are the values of poly::Accumulator, by number.
  void MoveTo(const Position& position, std::vector<loop::ExprPtr> accumulators = {});
  // A vector if the value differs along the vector index, else a scalar.
  loop::ExprPtr Emit(const poly::ExprPtr& expr);
  // Declares "in<a>_ahead", the value of each unguarded access a that an output reads directly. The
  // result is for Provide, at another place.
  std::map<int, loop::ExprPtr> DeclareReads();
  // Stores a value of output number `output` at the indices; along the vector index as a vector.
  loop::StmtPtr Store(size_t output, const loop::ExprPtr& value) const;
  // The conjunction of the constraints at the current position, per lane if they differ; null:
  // true.
  loop::ExprPtr EmitConditions(const std::vector<math::RangeConstraint>& constraints);

 private:
  // The set of things that a value depends on: a bit per index, kAccumulatorBit for the
  // accumulator.
  using Dependence = uint64_t;
  using Key = std::pair<const poly::Expr*, std::vector<int64_t>>;
  static Dependence BitOf(int index);  // 0 for index -1

  Dependence DependenceOf(const math::Affine& poly) const;
  Dependence DependenceOf(const std::vector<math::RangeConstraint>& constraints) const;
  Dependence DependenceOf(const poly::ExprPtr& expr);
  bool VariesByLane(Dependence dependence) const;
  // Returns whether some constraint may hold in some lanes of a vector and not in others.
  bool VaryByLane(const std::vector<math::RangeConstraint>& constraints) const;
  // Returns whether several positions of the tile have the same value.
  bool IsShared(Dependence dependence) const;

  loop::ExprPtr EmitNew(const poly::ExprPtr& expr);
  loop::ExprPtr EmitApply(const poly::Apply& apply, DataType type);
  // Emits an operand between which a kSelect chooses.
  loop::ExprPtr EmitChosen(const poly::ExprPtr& expr);
  // A loaded value in the form in which it is used.
  loop::ExprPtr Loaded(loop::ExprPtr value);
  loop::ExprPtr EmitRead(const poly::ExprPtr& expr, const poly::TensorAccess& access);
  // A read for which different positions of the tile may share an element, as in sliding windows.
  loop::ExprPtr EmitSliding(const poly::ExprPtr& expr, int access);
  bool IsSliding(int access);
  loop::ExprPtr EmitStaged(const StagedRead& read) const;
  loop::ExprPtr EmitChoice(const poly::Choice& choice);
  loop::ExprPtr EmitReadAt(const poly::ExprPtr& expr, const poly::ReadAt& read);
  // Returns whether a whole vector can be loaded wherever the read is.
  bool HasVector(int tensor, const std::vector<math::RangeConstraint>& guard) const;
  // Returns whether the lanes of a read at computed coordinates are adjacent in memory.
  bool IsContiguous(const poly::ReadAt& read);
  loop::ExprPtr Load(int tensor, loop::ExprPtr index, int lanes,
                     const std::vector<math::RangeConstraint>& guard, bool is_aligned = false);
  // The index along which the read is contiguous and can be loaded in square blocks; -1: none.
  int TransposedIndex(const poly::ExprPtr& expr, const math::Affine& flat,
                      const poly::TensorAccess& access);
  // The vector at the current position, from a square block of the tile that is loaded along `row`.
  loop::ExprPtr EmitTransposed(const poly::ExprPtr& expr, const math::Affine& flat, int row);
  // Returns whether vectors at this address are aligned.
  bool IsAligned(const math::Affine& flat) const;
  // For a stride-2 read: whether it reads the first (0) or second (1) element of each pair. Nothing
  // if unknown, or if the last pair is incomplete.
  std::optional<int> PlaceInPair(const math::Affine& flat, int tensor) const;
  // The conjunction of the constraints as a vector mask; null: true.
  loop::ExprPtr EmitMasks(const std::vector<math::RangeConstraint>& constraints);
  loop::ExprPtr EmitMask(const math::RangeConstraint& constraint);
  // Computes each lane separately and assembles the vector.
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
  bool loads_unconditionally_ = false;
  int choices_ = 0;             // enclosing selects whose operands are being emitted
  loop::ExprPtr lane_numbers_;  // the vector 0, 1, 2 …; null until needed
  Position position_;
  int lane_ = 0;  // the current lane, where lanes are computed one by one
  std::vector<loop::ExprPtr> accumulators_;
  std::unordered_map<const poly::Expr*, int> uses_;
  std::unordered_map<const poly::Expr*, Dependence> dependence_;
  std::map<Key, loop::ExprPtr> emitted_;
  std::map<int, bool> sliding_;          // by access
  std::map<Key, loop::ExprPtr> places_;  // by expression and address
  std::map<std::string, loop::ExprPtr> conditions_;
  std::vector<int64_t> tile_sizes_;
  // The vectors of each square block, by expression and position of its first element.
  std::map<Key, std::vector<loop::ExprPtr>> squares_;
  int next_name_ = 0;
};

}  // namespace tartan::lower
