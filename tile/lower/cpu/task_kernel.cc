// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/task_kernel.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/task_block.h"
#include "tile/lower/cpu/tile_results.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/plan/cpu/sliding_window.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// An underscore distinguishes names from Tile from keywords, functions and parameters.
std::vector<std::string> UniqueNames(const poly::FlatContraction& flat) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const poly::Index& index : flat.indices) {
    std::string name = absl::StrCat(index.name, "_");
    for (int n = 1; !taken.insert(name).second; ++n) name = absl::StrCat(index.name, "_", n);
    names.push_back(std::move(name));
  }
  return names;
}

class TaskLowerer : IndexBuilder {
 public:
  TaskLowerer(const poly::FlatContraction& flat, const plan::CpuPlan& plan, DataType index_type)
      : IndexBuilder(index_type),
        flat_(flat),
        plan_(plan),
        indices_(flat, index_type),
        names_(UniqueNames(flat)) {
    if (plan.block) block_.emplace(flat, plan, indices_, names_);
    if (flat.is_reduction()) {
      reduction_.emplace(flat, plan, indices_, names_, block_ ? &*block_ : nullptr);
    }
    results_.emplace(flat, plan, indices_, reduction_ ? &*reduction_ : nullptr);
  }

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginKernel(flat_, name, indices_.index_type());
    kernel.comments = flat_.comments;
    kernel.comments.push_back(plan_.ToString(flat_));
    const int64_t items = plan_.ItemCount(flat_);
    kernel.local_size[0] = plan_.threads;
    kernel.global_size[0] = (items + plan_.threads - 1) / plan_.threads * plan_.threads;
    kernel.body = Body(items);
    return kernel;
  }

  StmtPtr LowerTask(const std::vector<ExprPtr>& begins, const LoopPrologue& beside) {
    begin_ = begins;
    beside_ = beside;
    return OutputLoops(0);
  }

  VectorLoop LowerVectorLoop(const std::vector<ExprPtr>& begins, const ExprPtr& position) {
    for (int i = 0; i < flat_.output_index_count; ++i) indices_.Set(i, begins[i]);
    const int v = plan_.vector_index;
    indices_.Set(v, position);
    VectorLoop loop;
    if (reduction_) {
      loop.before = reduction_->DeclareAccumulators();
      loop.chunk_steps = reduction_->chunk_steps();
      if (loop.chunk_steps > 0) loop.before_chunk = reduction_->BeginChunk();
      loop.body = reduction_->AggregateTile();
      if (loop.chunk_steps > 0) loop.after_chunk = reduction_->EndChunk();
      loop.after = {reduction_->AggregateTail(), results_->Emit()};
      return loop;
    }
    loop.body = results_->Emit();
    const int64_t range = flat_.indices[v].range;
    if (range % plan_.unroll[v] != 0) {
      indices_.Set(v, Number(range - plan_.unroll[v]));
      loop.after.push_back(results_->Emit());
    }
    return loop;
  }

 private:
  StmtPtr Body(int64_t items) {
    const ExprPtr item = Var("item");
    std::vector<StmtPtr> statements = {
        Declare("item", loop::Work(loop::WorkId::kGlobal, 0, indices_.index_type()))};
    std::vector<StmtPtr> work = DecodeItem(item, items);
    if (block_) {
      for (StmtPtr& array : block_->Arrays()) work.push_back(std::move(array));
    }
    work.push_back(OutputLoops(0));
    StmtPtr block = loop::MakeBlock(std::move(work));
    if (items % plan_.threads != 0) {
      block = loop::MakeIf(loop::Less(item, Number(items)), std::move(block));
    }
    statements.push_back(std::move(block));
    return loop::MakeBlock(std::move(statements));
  }

  // Declares the beginning of the work-item's task in each output index; the last loop's index
  // varies fastest.
  std::vector<StmtPtr> DecodeItem(const ExprPtr& item, int64_t items) {
    std::vector<StmtPtr> statements;
    begin_.assign(flat_.output_index_count, Number(0));
    int64_t below = 1;
    for (size_t at = plan_.order.size(); at-- > 0;) {
      const int i = plan_.order[at];
      const int64_t tasks = plan_.TaskCount(flat_, i);
      if (tasks <= 1) continue;
      ExprPtr position = loop::Div(item, Number(below));
      if (below * tasks < items) position = loop::Mod(position, Number(tasks));
      const std::string name = plan_.task[i] == 1 ? names_[i] : absl::StrCat(names_[i], "task");
      statements.push_back(Declare(name, loop::Mul(position, Number(plan_.task[i]))));
      begin_[i] = Var(name);
      below *= tasks;
    }
    return statements;
  }

  // One past the last value of output index i in this work-item's task.
  ExprPtr End(int i) const {
    const int64_t range = flat_.indices[i].range;
    if (plan_.task[i] >= range) return Number(range);
    const ExprPtr end = loop::Add(begin_[i], Number(plan_.task[i]));
    if (range % plan_.task[i] == 0) return end;
    return loop::Select(loop::Less(end, Number(range)), end, Number(range));
  }

  // The work-item's loops from `level` on, including the copies and K chunks of the plan's cache
  // block.
  StmtPtr OutputLoops(size_t level) {
    if (!block_ || level != static_cast<size_t>(plan_.block->level)) return LoopsFrom(level);
    std::vector<TaskBlock::Task> tasks;
    for (int i = 0; i < flat_.output_index_count; ++i) tasks.push_back({begin_[i], End(i)});
    return block_->Emit(tasks, [&] { return LoopsFrom(level); });
  }

  // The last tile along an index overlaps the one before it, so that it is complete.
  StmtPtr LoopsFrom(size_t level) {
    if (level == plan_.order.size()) return Tile();
    const int i = plan_.order[level];
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    if (plan_.task[i] <= step) {
      if (block_) block_->SetOffset(i, Number(0));
      return WithTileAt(i, begin_[i], names_[i] + "at", level);
    }
    const bool is_whole = plan_.task[i] >= range && loop::LiteralValue(begin_[i]) == 0;
    if (const auto inner = plan::InnerTiles(flat_, plan_, i); inner && is_whole) {
      return DividedLoop(level, *inner);
    }
    const std::string counter = range % step == 0 ? names_[i] : absl::StrCat(names_[i], "step");
    if (block_) block_->SetOffset(i, loop::Sub(Var(counter), begin_[i]));
    if (range % step == 0) {
      indices_.Set(i, Var(names_[i]));
      return loop::MakeFor(names_[i], begin_[i], End(i), PrologueAndInner(i, level), step);
    }
    return loop::MakeFor(counter, begin_[i], End(i), WithTileAt(i, Var(counter), names_[i], level),
                         step);
  }

  // The body of a loop step over index i, with the statements of `beside_` if they are still
  // pending.
  StmtPtr PrologueAndInner(int i, size_t level) {
    if (beside_ == nullptr) return OutputLoops(level + 1);
    const LoopPrologue beside = std::exchange(beside_, nullptr);
    std::vector<StmtPtr> statements =
        beside(indices_.value(i), plan_.unroll[i], flat_.indices[i].range);
    statements.push_back(OutputLoops(level + 1));
    return loop::MakeBlock(std::move(statements));
  }

  // Peels the edge tiles, where a window reaches outside the data. Their positions are constants,
  // so that valid points are known at compile time. The inner tiles need no checks.
  StmtPtr DividedLoop(size_t level, const plan::TileRange& inner) {
    const int i = plan_.order[level];
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    std::vector<StmtPtr> parts;
    const auto edge = [&](int64_t at) {
      if (block_) block_->SetOffset(i, Number(at));
      indices_.Set(i, Number(std::min(at, range - step)));
      parts.push_back(
          loop::MakeFor(names_[i], Number(at), Number(at + step), OutputLoops(level + 1), step));
    };
    for (int64_t tile = 0; tile < inner.begin; ++tile) edge(tile * step);
    if (inner.begin < inner.end) {
      const ExprPtr at = Var(names_[i]);
      if (block_) block_->SetOffset(i, at);
      indices_.Set(i, at);
      const size_t before = assumed_.size();
      for (math::RangeConstraint& constraint : plan::WindowConstraints(flat_, plan_, i)) {
        assumed_.push_back(std::move(constraint));
      }
      reduction_->Assume(assumed_);
      parts.push_back(loop::MakeFor(names_[i], Number(inner.begin * step), Number(inner.end * step),
                                    OutputLoops(level + 1), step));
      assumed_.resize(before);
      reduction_->Assume(assumed_);
    }
    for (int64_t at = inner.end * step; at < range; at += step) edge(at);
    return loop::MakeBlock(std::move(parts));
  }

  StmtPtr WithTileAt(int i, const ExprPtr& begin, const std::string& name, size_t level) {
    const int64_t range = flat_.indices[i].range;
    const int64_t step = plan_.unroll[i];
    if (range % step == 0) {
      indices_.Set(i, begin);
      return OutputLoops(level + 1);
    }
    const ExprPtr last = Number(range - step);
    indices_.Set(i, Var(name));
    return loop::MakeBlock({Declare(name, loop::Select(loop::Less(begin, last), begin, last)),
                            OutputLoops(level + 1)});
  }

  // Emits everything for one register tile.
  StmtPtr Tile() {
    std::vector<StmtPtr> statements;
    if (block_) statements = block_->Places();
    if (reduction_) statements.push_back(loop::MakeBlock(reduction_->Emit()));
    StmtPtr results = results_->Emit();
    if (block_ && block_->has_chunks()) {
      results = loop::MakeIf(block_->IsLastChunk(), std::move(results),
                             loop::MakeBlock(reduction_->Suspend()));
    }
    statements.push_back(std::move(results));
    return loop::MakeBlock(std::move(statements));
  }

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  IndexEmitter indices_;
  const std::vector<std::string> names_;
  std::optional<TaskBlock> block_;
  std::optional<Reduction> reduction_;
  std::optional<TileResults> results_;
  LoopPrologue beside_;         // cleared once it is emitted
  std::vector<ExprPtr> begin_;  // of the work-item's task, per output index
  // Constraints that hold in the tiles that are being emitted.
  std::vector<math::RangeConstraint> assumed_;
};

}  // namespace

loop::Kernel LowerTaskKernel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                             const std::string& name, const LowerOptions& options) {
  // LLVM extends every 32-bit address inside loops over part of an index and in loops with many
  // loads per step. 64-bit indices are faster there.
  const bool extends = plan.block || plan::HasWindow(flat, plan);
  const bool is_wide = options.force_64bit_indices || extends || NeedsWideIndices(flat);
  return TaskLowerer(flat, plan, is_wide ? DataType::kInt64 : DataType::kInt32).Lower(name);
}

VectorLoop LowerVectorLoop(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                           const std::vector<ExprPtr>& begins, const ExprPtr& position) {
  return TaskLowerer(flat, plan, position->type.element).LowerVectorLoop(begins, position);
}

loop::StmtPtr LowerTask(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                        const std::vector<ExprPtr>& begins, DataType index_type,
                        const LoopPrologue& beside) {
  return TaskLowerer(flat, plan, index_type).LowerTask(begins, beside);
}

}  // namespace tartan::lower
