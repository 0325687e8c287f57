// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_group_kernel.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/expr_emitter.h"
#include "tile/lower/gpu/group_kernel.h"
#include "tile/lower/rows/row_partials.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr int64_t kMostUnrolled = 8;

std::string HeldName(int number) { return absl::StrCat("held", number); }

void Append(std::vector<StmtPtr> from, std::vector<StmtPtr>* to) {
  for (StmtPtr& statement : from) to->push_back(std::move(statement));
}

// One kernel of the chain, for the work-item "lane" of the block's row "row".
class StageLowerer {
 public:
  // `is_odd`: see PartialResults.
  StageLowerer(const RowStages& stages, const plan::RowGroupPlan& plan, size_t s, bool is_odd)
      : stages_(stages),
        plan_(plan),
        stage_(plan.stages[s]),
        flat_(stage_.block.flat),
        loads_first_(!stages.ReadsWhatIsWritten(s)),
        is_odd_(is_odd),
        indices_(flat_, stages.IndexType().element),
        here_(flat_.indices.size(), 0) {
    for (size_t a = 0; a < stage_.block.origins.size(); ++a) {
      if (stage_.block.origins[a] >= 0) {
        indices_.Set(stage_.block.origins[a], stages.Var(RowStages::RowName(a)));
      }
      if (stage_.block.rows[a] >= 0) indices_.Set(stage_.block.rows[a], stages.Var("row"));
    }
  }

  StmtPtr Lower() {
    if (!flat_.is_reduction()) {
      if (stage_.inner.empty()) return StoreElement();
      return ForOwnElements([&] { return StoreElements(); });
    }
    const loop::Type type = {flat_.accumulator_type, stage_.lanes};
    const ExprPtr identity = Identity(flat_.aggregation, type.element);
    std::vector<StmtPtr> statements = {
        loop::MakeDeclare(type, "acc", loop::Splat(identity, type.lanes), true)};
    statements.push_back(ForOwnElements([&] { return Accumulate(type); }));
    statements.push_back(JoinLanes(type));
    if (plan_.row_threads > 1) {
      const PartialResults partials(stages_, plan_, type.element);
      Append(partials.Join(flat_.aggregation, is_odd_), &statements);
    } else {
      statements.push_back(
          loop::MakeDeclare({type.element, 1}, "result", loop::Var("sum", {type.element, 1})));
    }
    statements.push_back(StoreElement(loop::Var("result", {type.element, 1})));
    return loop::MakeBlock(std::move(statements));
  }

  // Loads what an access reads into registers.
  StmtPtr Fetch(int access, int number) {
    return ForOwnElements([&] {
      std::vector<StmtPtr> body;
      const DataType type = plan_.held[number].type;
      ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "t", &body);
      emitter.AssumeAlignedLanes();
      if (loads_first_) emitter.LoadBeforeChoices();
      emitter.MoveTo(here_);
      body.push_back(Hold(number, emitter.Emit(poly::MakeExpr(type, poly::Read{access}))));
      return loop::MakeBlock(std::move(body));
    });
  }

 private:
  ExprPtr Number(int64_t value) const { return stages_.Number(value); }

  // The elements of the row that are the work-item's, `lanes` at a time.
  template <class Body>
  StmtPtr ForOwnElements(Body body) {
    if (stage_.inner.empty()) return body();
    const int64_t vectors = stage_.Elements() / stage_.lanes;
    const int64_t full = vectors / plan_.row_threads;
    const bool holds = std::any_of(stage_.held_reads.begin(), stage_.held_reads.end(),
                                   [&](int held) { return held >= 0; }) ||
                       stage_.held_result >= 0;
    const int64_t iterations = stage_.Iterations(plan_.row_threads);
    std::vector<StmtPtr> statements;
    iteration_ = stages_.Var("turn");
    if (full > 0) {
      statements.push_back(loop::MakeFor("turn", Number(0), Number(full), AtIteration(body), 1,
                                         iterations > 1 && (holds || iterations <= kMostUnrolled)));
    }
    if (full < iterations) {
      iteration_ = Number(full);
      StmtPtr last = AtIteration(body);
      statements.push_back(
          loop::MakeIf(loop::Less(FirstElement(), Number(stage_.Elements())), std::move(last)));
    }
    return loop::MakeBlock(std::move(statements));
  }

  ExprPtr FirstElement() const {
    const ExprPtr before = loop::Mul(iteration_, Number(plan_.row_threads));
    const ExprPtr vector = plan_.row_threads > 1 ? loop::Add(before, stages_.Var("lane")) : before;
    return loop::Mul(vector, Number(stage_.lanes));
  }

  template <class Body>
  StmtPtr AtIteration(Body body) {
    std::vector<StmtPtr> statements = {
        loop::MakeDeclare(stages_.IndexType(), "at", FirstElement())};
    int64_t below = 1;
    for (size_t n = stage_.inner.size(); n-- > 0;) {
      const int64_t range = flat_.indices[stage_.inner[n]].range;
      ExprPtr digit = loop::Div(stages_.Var("at"), Number(below));
      if (n > 0) digit = loop::Mod(digit, Number(range));
      indices_.Set(stage_.inner[n], std::move(digit));
      below *= range;
    }
    statements.push_back(body());
    return loop::MakeBlock(std::move(statements));
  }

  VectorShape Vector() const {
    return stage_.lanes > 1 ? VectorShape{stage_.inner.back(), stage_.lanes} : VectorShape{};
  }

  ExprPtr HeldAt(int number) const {
    const plan::HeldValue& value = plan_.held[number];
    if (value.iterations == 0) return loop::Var(HeldName(number), {value.type, 1});
    return loop::LoadFrom(HeldName(number), value.type, iteration_, value.lanes);
  }

  StmtPtr Hold(int number, ExprPtr vector) const {
    const plan::HeldValue& value = plan_.held[number];
    if (value.iterations == 0) return loop::MakeAssign(HeldName(number), std::move(vector));
    return loop::MakeStore(HeldName(number), value.type, iteration_,
                           loop::Splat(std::move(vector), value.lanes));
  }

  void ProvideHeld(ExprEmitter* emitter) const {
    for (size_t a = 0; a < stage_.held_reads.size(); ++a) {
      const int number = stage_.held_reads[a];
      if (number >= 0) emitter->Provide(static_cast<int>(a), HeldAt(number));
    }
  }

  StmtPtr Accumulate(const loop::Type& type) {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "t", &body);
    emitter.AssumeAlignedLanes();
    if (loads_first_) emitter.LoadBeforeChoices();
    ProvideHeld(&emitter);
    emitter.Count(flat_.body);
    emitter.MoveTo(here_);
    const ExprPtr value = loop::Splat(emitter.Emit(flat_.body), type.lanes);
    body.push_back(loop::MakeAssign("acc", Aggregate(loop::Var("acc", type), value)));
    StmtPtr block = loop::MakeBlock(std::move(body));
    const ExprPtr valid = All(indices_, flat_.constraints);
    return valid == nullptr ? block : loop::MakeIf(valid, std::move(block));
  }

  ExprPtr Aggregate(const ExprPtr& old, const ExprPtr& value) const {
    const auto* apply = std::get_if<loop::Apply>(&value->node);
    if (flat_.aggregation == Aggregation::kSum && IsFloat(flat_.accumulator_type) &&
        apply != nullptr && apply->op == ScalarOp::kMul) {
      return loop::MulAdd(apply->operands[0], apply->operands[1], old);
    }
    return loop::ApplyOp(poly::AggregationOp(flat_.aggregation), {old, value});
  }

  // Declares "sum", the work-item's partial result.
  StmtPtr JoinLanes(const loop::Type& type) const {
    const ExprPtr acc = loop::Var("acc", type);
    std::vector<ExprPtr> parts;
    if (type.lanes == 1) parts.push_back(acc);
    for (int lane = 0; type.lanes > 1 && lane < type.lanes; ++lane) {
      parts.push_back(loop::LaneOf(acc, lane));
    }
    return loop::MakeDeclare({type.element, 1}, "sum",
                             PartialResults::Tree(flat_.aggregation, std::move(parts)));
  }

  // Of a row that has one element: all its work-items compute it, the first stores it.
  StmtPtr StoreElement(ExprPtr total = nullptr) {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, {}, {here_}, "e", &body);
    if (loads_first_) emitter.LoadBeforeChoices();
    ProvideHeld(&emitter);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here_, {std::move(total)});
    StmtPtr store = loop::MakeBlock(StoreOutputs(&emitter, 1, &body));
    const ExprPtr is_first =
        plan_.row_threads > 1 ? loop::Equals(stages_.Var("lane"), Number(0)) : nullptr;
    if (stage_.held_result < 0) {
      // Nobody else needs it.
      body.push_back(std::move(store));
      StmtPtr all = loop::MakeBlock(std::move(body));
      return is_first == nullptr ? all : loop::MakeIf(is_first, std::move(all));
    }
    if (is_first != nullptr) store = loop::MakeIf(is_first, std::move(store));
    if (stage_.stores) body.push_back(std::move(store));
    return loop::MakeBlock(std::move(body));
  }

  StmtPtr StoreElements() {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "e", &body);
    emitter.AssumeAlignedLanes();
    if (loads_first_) emitter.LoadBeforeChoices();
    ProvideHeld(&emitter);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here_);
    std::vector<StmtPtr> stores = StoreOutputs(&emitter, stage_.lanes, &body);
    if (stage_.stores) Append(std::move(stores), &body);
    return loop::MakeBlock(std::move(body));
  }

  // The stores; `body` computes, and holds what is to be held.
  std::vector<StmtPtr> StoreOutputs(ExprEmitter* emitter, int lanes,
                                    std::vector<StmtPtr>* body) const {
    const poly::FlatAccess flat = poly::Flatten(flat_.output_coords, flat_.output_dims,
                                                static_cast<int>(flat_.indices.size()));
    bool is_aligned = flat.offset % lanes == 0;
    for (size_t i = 0; i < flat.strides.size(); ++i) {
      const int index = static_cast<int>(i);
      const bool is_lane = lanes > 1 && index == stage_.inner.back();
      is_aligned = is_aligned && (is_lane || flat.strides[i] % lanes == 0);
    }
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      ExprPtr value = emitter->Emit(flat_.outputs[o].expr);
      if (stage_.held_result >= 0) {
        body->push_back(Hold(stage_.held_result, std::move(value)));
        value = HeldAt(stage_.held_result);
      }
      stores.push_back(loop::MakeStore(
          absl::StrCat("out", o), flat_.outputs[o].shape.type, indices_.Emit(poly::AsAffine(flat)),
          loop::Splat(std::move(value), lanes), lanes > 1 && is_aligned));
    }
    return stores;
  }

  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
  const plan::RowGroupStage& stage_;
  const poly::FlatContraction& flat_;
  const bool loads_first_;
  const bool is_odd_;
  IndexEmitter indices_;
  const Position here_;
  ExprPtr iteration_;  // that statements are made for
};

// A product of matrices, for the group.
GroupPart LowerProduct(const RowStages& stages, size_t s, const plan::RowGroupStage& stage) {
  GroupOrigins origins;
  for (size_t a = 0; a < stage.block.origins.size(); ++a) {
    const int origin = stage.block.origins[a];
    if (origin >= 0) origins[origin] = stages.Var(RowStages::RowName(a));
  }
  const GroupPart part =
      LowerGroupPart(stage.block.flat, *stage.product, stages.IndexType().element, origins,
                     stage.fetched, !stages.ReadsWhatIsWritten(s));
  const std::vector<StmtPtr> named =
      stages.Named(s, {loop::MakeBlock(part.fetch), loop::MakeBlock(part.compute)});
  if (stage.fetched.empty()) return {{}, named};
  return {{named[0]}, {named[1]}};
}

// Which row of the block a work-item is for, and which of the row's it is.
std::vector<StmtPtr> DeclareItem(const RowStages& stages, const plan::RowGroupPlan& plan) {
  const loop::Type type = stages.IndexType();
  const ExprPtr item = stages.Var("item");
  std::vector<StmtPtr> statements = {
      loop::MakeDeclare(type, "item", loop::Work(loop::WorkId::kLocal, 0, type.element))};
  const int64_t below = plan.rows_first ? plan.BlockRows() : plan.row_threads;
  const ExprPtr low = loop::Mod(item, stages.Number(below));
  const ExprPtr high = loop::Div(item, stages.Number(below));
  if (plan.BlockRows() > 1) {
    statements.push_back(loop::MakeDeclare(type, "row", plan.rows_first ? low : high));
  }
  if (plan.row_threads > 1) {
    statements.push_back(loop::MakeDeclare(type, "lane", plan.rows_first ? high : low));
  }
  return statements;
}

// In local memory: what is kept of a block, and partial results.
std::vector<StmtPtr> DeclareArrays(const RowStages& stages, const plan::RowGroupPlan& plan) {
  std::vector<StmtPtr> arrays;
  std::set<DataType> partial_types;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.stages[s].stores) {
      if (StmtPtr kept = stages.DeclareKept(s, plan.block, loop::Space::kLocal)) {
        arrays.push_back(std::move(kept));
      }
    }
    const poly::FlatContraction& flat = plan.stages[s].block.flat;
    if (!flat.is_reduction() || plan.row_threads == 1) continue;
    if (plan.stages[s].product.has_value()) continue;
    if (!partial_types.insert(flat.accumulator_type).second) continue;
    Append(PartialResults(stages, plan, flat.accumulator_type).Declare(), &arrays);
  }
  return arrays;
}

std::vector<StmtPtr> DeclareHeld(const plan::RowGroupPlan& plan) {
  std::vector<StmtPtr> statements;
  for (size_t h = 0; h < plan.held.size(); ++h) {
    const plan::HeldValue& held = plan.held[h];
    const std::string name = HeldName(static_cast<int>(h));
    if (held.iterations > 0) {
      statements.push_back(loop::MakeArray({held.type, held.lanes}, name, held.iterations));
    } else {
      const ExprPtr zero = IsFloat(held.type) ? loop::Float(0, held.type) : loop::Int(0, held.type);
      statements.push_back(loop::MakeDeclare({held.type, 1}, name, zero, true));
    }
  }
  return statements;
}

}  // namespace

RowChainKernel LowerRowGroups(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowGroupPlan& plan, const std::string& name,
                              const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type, plan.arrays);
  RowChainKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.local_size[0] = plan.Threads();
  chain.kernel.global_size[0] = plan.Threads() * plan.GroupCount();
  std::vector<StmtPtr> statements = DeclareArrays(stages, plan);
  Append(DeclareItem(stages, plan), &statements);
  Append(stages.DeclareRows(loop::Work(loop::WorkId::kGroup, 0, index_type), plan.rows, plan.block),
         &statements);
  Append(DeclareHeld(plan), &statements);
  for (size_t h = 0; h < plan.held.size(); ++h) {
    const plan::HeldValue& held = plan.held[h];
    if (!held.is_fetched) continue;
    StageLowerer lowerer(stages, plan, held.stage, false);
    statements.push_back(stages.Named(held.stage, lowerer.Fetch(held.access, static_cast<int>(h))));
  }
  std::vector<std::vector<StmtPtr>> products(plan.stages.size());
  bool fetches = false;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    if (!plan.stages[s].product.has_value()) continue;
    GroupPart part = LowerProduct(stages, s, plan.stages[s]);
    fetches |= !part.fetch.empty();
    Append(std::move(part.fetch), &statements);
    products[s] = std::move(part.compute);
  }
  // Compilers move loads down to where they are used, to have fewer registers, but past no barrier.
  if (fetches) statements.push_back(loop::MakeBarrier());
  std::map<DataType, bool> is_odd;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::RowGroupStage& stage = plan.stages[s];
    if (stage.product.has_value()) {
      Append(std::move(products[s]), &statements);
    } else {
      const bool odd = is_odd[stage.block.flat.accumulator_type];
      if (stage.block.flat.is_reduction()) is_odd[stage.block.flat.accumulator_type] = !odd;
      statements.push_back(stages.Named(s, StageLowerer(stages, plan, s, odd).Lower()));
    }
    if (!stage.is_read_from_memory || plan.Threads() == 1) continue;
    statements.push_back(loop::MakeBarrier(stages.IsReadFromBuffers(s)));
  }
  chain.kernel.body = loop::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace tartan::lower
