// SPDX-License-Identifier: Apache-2.0
// Names and expressions shared by all parts of a work-group's kernel: the positions of the
// work-group, of a step of its loop, and of a work-item in the index space.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/plan/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Values of output indices, fixed for the work-group.
using GroupOrigins = std::map<int, loop::ExprPtr>;

// The value of an index is base + thread + offset: `base` begins the work-group's tile, `thread`
// the work-item's part of it, and `offset` counts the work-item's own values.
class GroupContext : public IndexBuilder {
 public:
  // `origins`: values of the output indices along which the work-group has one value; along all
  // others it covers the whole range. Null: the values follow from the work-group's number.
  // `loads_first`: see ExprEmitter::LoadUnconditionally.
  GroupContext(const poly::FlatContraction& flat, const plan::GpuPlan& plan, DataType index_type,
               const GroupOrigins* origins = nullptr, bool loads_first = true);

  const poly::FlatContraction& flat() const { return flat_; }
  // The kernel with ranges rounded up to whole tiles, as index values reach them.
  const poly::FlatContraction& padded() const { return padded_; }
  const plan::GpuPlan& plan() const { return plan_; }
  bool loads_first() const { return loads_first_; }
  bool has_tile_sets() const { return plan_.tile_buffer_count() > 1; }
  int index_count() const { return static_cast<int>(flat_.indices.size()); }
  int output_count() const { return flat_.output_index_count; }
  bool is_output(int i) const { return i < output_count(); }
  const plan::IndexSplit& split(int i) const { return plan_.splits[i]; }
  int64_t TileCount(int i) const { return padded_.indices[i].range / split(i).tile(); }
  bool IsRagged(int i) const { return padded_.indices[i].range != flat_.indices[i].range; }
  // The constraints that exclude index values past an output index's range.
  std::vector<math::RangeConstraint> OutputRanges() const;
  int lanes() const;  // lanes of plan().lane_index
  bool lanes_are_output() const { return lanes() > 1 && is_output(plan_.lane_index); }

  const std::string& name(int i) const { return names_[i]; }

  // Declares "item" (the work-item's number in the group) and what follows from it; without
  // origins, also what follows from the work-group's number.
  std::vector<loop::StmtPtr> DeclareGroup() const;
  // Declares the bases of the reduced indices at a step; `suffix` ends their names.
  std::vector<loop::StmtPtr> DeclareStep(const loop::ExprPtr& step,
                                         const std::string& suffix) const;
  loop::ExprPtr Base(int i, const std::string& suffix = "") const;
  loop::ExprPtr Thread(int i) const;
  // The work-item's position among those that share an output element.
  loop::ExprPtr PartialThread() const;
  // `number / below % count`; `total` bounds the number.
  loop::ExprPtr Digit(const loop::ExprPtr& number, int64_t below, int64_t count,
                      int64_t total) const;

  // Sets which of the work-item's own values is current: a number below split(i).held(), or below
  // split(i).blocks for the lane index.
  void SetOwn(int i, loop::ExprPtr own) { own_[i] = std::move(own); }
  const loop::ExprPtr& own(int i) const { return own_[i]; }
  int64_t OwnCount(int i) const { return plan_.OwnCount(i); }
  loop::ExprPtr Offset(int i) const;
  // An index emitter for the current position; `suffix` ends the names of the bases.
  IndexEmitter Indices() const;

  // Unrolled loops over the work-item's own values of the given indices, the last innermost.
  loop::StmtPtr ForOwn(const std::vector<int>& indices, const std::function<loop::StmtPtr()>& body);

 private:
  std::vector<loop::StmtPtr> DeclareBases() const;

  const poly::FlatContraction& flat_;
  const plan::GpuPlan& plan_;
  const GroupOrigins* const origins_;
  const bool loads_first_;
  poly::FlatContraction padded_;
  std::vector<std::string> names_;
  std::vector<loop::ExprPtr> own_;
};

}  // namespace tartan::lower
