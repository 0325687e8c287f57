// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/group_kernel.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/lower/gpu/group_reduction.h"
#include "tile/lower/gpu/group_stage.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr int64_t kNarrowLimit = int64_t{1} << 31;

DataType IndexTypeFor(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                      const LowerOptions& options) {
  bool wide = options.force_64bit_indices ||
              TensorShape{DataType::kBool, flat.output_dims}.element_count() >= kNarrowLimit;
  for (const poly::Tensor& tensor : flat.tensors) {
    wide |= tensor.shape.element_count() >= kNarrowLimit;
  }
  // The numbers of work-items past the last element must fit the index type, too.
  int64_t items = plan.threads();
  for (int i = 0; i < flat.output_index_count; ++i) {
    const int64_t tile = plan.splits[i].tile();
    items *= (flat.indices[i].range + tile - 1) / tile;
    wide |= items >= kNarrowLimit || flat.indices[i].range + tile >= kNarrowLimit;
  }
  return wide ? DataType::kInt64 : DataType::kInt32;
}

class GroupLowerer {
 public:
  GroupLowerer(const poly::FlatContraction& flat, const plan::GpuPlan& plan, DataType index_type,
               const GroupOrigins* origins = nullptr, const std::vector<int>& fetched = {},
               bool loads_first = true)
      : flat_(flat), plan_(plan), context_(flat, plan, index_type, origins, loads_first) {
    for (const plan::StagedAccess& access : plan.staged) stages_.emplace_back(context_, access);
    if (flat.is_reduction()) reduction_.emplace(context_, stages_, fetched);
  }

  loop::Kernel Lower(const std::string& name, bool overwrites_operands) {
    overwrites_operands_ = overwrites_operands;
    loop::Kernel kernel = BeginGroupKernel(flat_, plan_, name, context_.index_type());
    GroupPart part = Part();
    Append(std::move(part.compute), &part.fetch);
    kernel.body = loop::MakeBlock(std::move(part.fetch));
    return kernel;
  }

  GroupPart Part() {
    GroupPart part = {Prologue(), Steps()};
    Append(Results(), &part.compute);
    return part;
  }

  GroupKeyLoop ExecutionCount(const Rescaling* rescaling) {
    GroupKeyLoop turns = {Declarations(), reduction_->DeclareAccumulators(), {}, Results()};
    if (rescaling != nullptr) {
      turns.turn.push_back(reduction_->Rescale(rescaling->array, rescaling->row));
    }
    Append(Steps(), &turns.turn);
    return turns;
  }

 private:
  static void Append(std::vector<StmtPtr> from, std::vector<StmtPtr>* to) {
    for (StmtPtr& statement : from) to->push_back(std::move(statement));
  }

  std::vector<StmtPtr> Declarations() {
    std::vector<StmtPtr> statements;
    for (const GroupStage& stage : stages_) statements.push_back(stage.DeclareTile());
    Append(context_.DeclareGroup(), &statements);
    for (const GroupStage& stage : stages_) Append(stage.DeclareShare(), &statements);
    return statements;
  }

  std::vector<StmtPtr> Prologue() {
    std::vector<StmtPtr> statements = Declarations();
    if (!reduction_) return statements;
    if (RowsToPrefetch()) ReadAhead(&statements);
    Append(reduction_->Fetch(), &statements);
    Append(reduction_->DeclareAccumulators(), &statements);
    return statements;
  }

  // Returns whether the operands of the epilogue are loaded before the reduction: after the
  // barriers that combine the partial sums, the work-group would wait for memory again. Requires
  // one element per work-item; all work-items that share it load its operands. If the result may
  // overwrite its operands, only the storing work-item may read them, so the answer
  // is false.
  bool RowsToPrefetch() const {
    if (flat_.accumulator_index < 0 || plan_.partial_threads(flat_) == 1 || overwrites_operands_ ||
        !flat_.store_guard.empty() || !context_.OutputRanges().empty()) {
      return false;
    }
    for (int i = 0; i < context_.output_count(); ++i) {
      if (i != flat_.accumulator_index && context_.OwnCount(i) > 1) return false;
    }
    return true;
  }

  void ReadAhead(std::vector<StmtPtr>* statements) {
    const IndexEmitter indices = context_.Indices();
    const Position here(context_.index_count(), 0);
    ExprEmitter emitter(context_.padded(), indices, Lanes(), {here}, "r", statements);
    emitter.AssumeAlignedLanes();
    emitter.MoveTo(here);
    ahead_ = emitter.DeclareReads();
  }

  // The vector shape of stored elements.
  VectorShape Lanes() const {
    return context_.lanes_are_output() ? VectorShape{plan_.lane_index, context_.lanes()}
                                       : VectorShape{};
  }

  StmtPtr CopyAll(const std::string& suffix) const {
    std::vector<StmtPtr> statements;
    for (const GroupStage& stage : stages_) statements.push_back(stage.Copy(suffix));
    return loop::MakeBlock(std::move(statements));
  }

  std::vector<StmtPtr> Steps() {
    const int64_t steps = plan_.StepCount(flat_);
    const ExprPtr zero = context_.Number(0);
    if (!reduction_) {
      if (stages_.empty()) return {};
      return {CopyAll(""), loop::MakeBarrier()};
    }
    std::vector<StmtPtr> statements;
    if (steps == 1) {
      if (!stages_.empty()) statements = {CopyAll(""), loop::MakeBarrier()};
      statements.push_back(reduction_->Step());
    } else if (context_.has_tile_sets()) {
      statements = CopiedSteps(steps);
    } else if (!stages_.empty() && plan_.buffering == plan::Buffering::kRegisters) {
      statements = PipelinedSteps(steps);
    } else {
      const ExprPtr step = context_.Var("step");
      std::vector<StmtPtr> body = context_.DeclareStep(step, "");
      if (!stages_.empty()) {
        body.push_back(CopyAll(""));
        body.push_back(loop::MakeBarrier());
      }
      body.push_back(reduction_->Step());
      if (!stages_.empty()) body.push_back(loop::MakeBarrier());
      statements.push_back(
          loop::MakeFor("step", zero, context_.Number(steps), loop::MakeBlock(std::move(body))));
    }
    return statements;
  }

  std::vector<StmtPtr> Results() {
    std::vector<StmtPtr> statements;
    if (reduction_) statements = reduction_->ReducePartials();
    Append(Stores(), &statements);
    return statements;
  }

  // Software pipelining through registers: the next tile is loaded while the current one is
  // computed.
  std::vector<StmtPtr> PipelinedSteps(int64_t steps) {
    const ExprPtr zero = context_.Number(0);
    const ExprPtr step = context_.Var("step");
    const ExprPtr next = context_.Var("next_step");
    const ExprPtr has_next = loop::Less(next, context_.Number(steps));
    std::vector<StmtPtr> statements = context_.DeclareStep(zero, "_first");
    statements.push_back(CopyAll("_first"));
    statements.push_back(loop::MakeBarrier());
    std::vector<StmtPtr> body = context_.DeclareStep(step, "");
    body.push_back(
        loop::MakeDeclare(context_.IndexType(), "next_step", loop::Add(step, context_.Number(1))));
    std::vector<StmtPtr> fetch = context_.DeclareStep(next, "_next");
    std::vector<StmtPtr> put;
    for (const GroupStage& stage : stages_) {
      body.push_back(stage.DeclareNext());
      fetch.push_back(stage.Fetch("_next"));
      put.push_back(stage.Put());
    }
    body.push_back(loop::MakeIf(has_next, loop::MakeBlock(std::move(fetch))));
    body.push_back(reduction_->Step());
    body.push_back(loop::MakeBarrier());
    body.push_back(loop::MakeIf(has_next, loop::MakeBlock(std::move(put))));
    body.push_back(loop::MakeBarrier());
    statements.push_back(
        loop::MakeFor("step", zero, context_.Number(steps), loop::MakeBlock(std::move(body))));
    return statements;
  }

  // Software pipelining with asynchronous copies: the next tile has a buffer of its own.
  std::vector<StmtPtr> CopiedSteps(int64_t steps) {
    const ExprPtr zero = context_.Number(0);
    const ExprPtr step = context_.Var("step");
    const ExprPtr next = context_.Var("next_step");
    std::vector<StmtPtr> statements = context_.DeclareStep(zero, "_first");
    for (const GroupStage& stage : stages_)
      statements.push_back(stage.StartAsyncCopy(zero, "_first"));
    statements.push_back(loop::MakeEndCopies());
    std::vector<StmtPtr> body = context_.DeclareStep(step, "");
    // After the barrier no work-item still reads the previous step's buffer.
    body.push_back(loop::MakeAwaitCopies(0));
    body.push_back(loop::MakeBarrier());
    body.push_back(
        loop::MakeDeclare(context_.IndexType(), "next_step", loop::Add(step, context_.Number(1))));
    std::vector<StmtPtr> copies = context_.DeclareStep(next, "_next");
    for (const GroupStage& stage : stages_) {
      copies.push_back(stage.StartAsyncCopy(next, "_next"));
      body.push_back(stage.DeclareNow(step));
    }
    copies.push_back(loop::MakeEndCopies());
    body.push_back(
        loop::MakeIf(loop::Less(next, context_.Number(steps)), loop::MakeBlock(std::move(copies))));
    body.push_back(reduction_->Step());
    statements.push_back(
        loop::MakeFor("step", zero, context_.Number(steps), loop::MakeBlock(std::move(body))));
    return statements;
  }

  std::vector<StmtPtr> Stores() {
    std::vector<int> indices;
    for (int i = 0; i < context_.output_count(); ++i) {
      if (i != plan_.lane_index && i != flat_.accumulator_index) indices.push_back(i);
    }
    if (context_.lanes_are_output()) indices.push_back(plan_.lane_index);
    StmtPtr stores = context_.ForOwn(indices, [&] { return Element(); });
    if (reduction_ && plan_.partial_threads(flat_) > 1) {
      stores =
          loop::MakeIf(loop::Equals(context_.Var("sharer"), context_.Number(0)), std::move(stores));
    }
    return {std::move(stores)};
  }

  // Stores the output elements at the current position, one per lane of the lane index.
  StmtPtr Element() {
    std::vector<StmtPtr> outer;
    std::vector<StmtPtr> body;
    const IndexEmitter indices = context_.Indices();
    const Position here(context_.index_count(), 0);
    std::vector<math::RangeConstraint> guard = context_.OutputRanges();
    guard.insert(guard.end(), flat_.store_guard.begin(), flat_.store_guard.end());
    ExprEmitter outside(context_.padded(), indices, {}, {here}, "c", &outer);
    outside.MoveTo(here);
    const ExprPtr condition = outside.EmitConditions(guard);
    ExprEmitter emitter(context_.padded(), indices, Lanes(), {here}, "e", &body);
    emitter.AssumeAlignedLanes();
    emitter.Assume(guard);
    if (context_.loads_first()) emitter.LoadUnconditionally();
    for (const auto& [access, value] : ahead_) emitter.Provide(access, value);
    if (!reduction_) {
      for (const GroupStage& stage : stages_) {
        emitter.Provide(stage.access(), stage.Read(StagedLanes(stage)));
      }
    }
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here, reduction_ ? reduction_->Accumulated() : std::vector<ExprPtr>());
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      stores.push_back(emitter.Store(o, emitter.Emit(flat_.outputs[o].expr)));
    }
    Append(std::move(stores), &body);
    StmtPtr element = loop::MakeBlock(std::move(body));
    if (condition != nullptr) element = loop::MakeIf(condition, std::move(element));
    outer.push_back(std::move(element));
    return loop::MakeBlock(std::move(outer));
  }

  // The number of elements that an elementwise kernel reads at once from a staged tile.
  int StagedLanes(const GroupStage& stage) const {
    return context_.lanes_are_output() && stage.plan().vector_index == plan_.lane_index
               ? context_.lanes()
               : 1;
  }

  const poly::FlatContraction& flat_;
  const plan::GpuPlan& plan_;
  GroupContext context_;
  std::vector<GroupStage> stages_;
  std::optional<GroupReduction> reduction_;
  bool overwrites_operands_ = false;
  std::map<int, ExprPtr> ahead_;  // operands loaded by ReadAhead, by access
};

}  // namespace

loop::Kernel LowerGroupKernel(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                              const std::string& name, const LowerOptions& options) {
  return GroupLowerer(flat, plan, IndexTypeFor(flat, plan, options))
      .Lower(name, options.overwrites_operands);
}

GroupPart LowerGroupPart(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                         DataType index_type, const GroupOrigins& origins,
                         const std::vector<int>& fetched, bool loads_first) {
  return GroupLowerer(flat, plan, index_type, &origins, fetched, loads_first).Part();
}

GroupKeyLoop LowerGroupKeyLoop(const poly::FlatContraction& flat, const plan::GpuPlan& plan,
                               DataType index_type, const GroupOrigins& origins, bool loads_first,
                               const Rescaling* rescaling) {
  return GroupLowerer(flat, plan, index_type, &origins, {}, loads_first).ExecutionCount(rescaling);
}

}  // namespace tartan::lower
