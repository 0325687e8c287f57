#include "tile/lower/row_group_kernel.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/expr_emitter.h"
#include "tile/lower/reduction.h"
#include "tile/lower/row_stages.h"

namespace tartan::lower {
namespace {

using sem::ExprPtr;
using sem::StmtPtr;

constexpr int64_t kMostUnrolled = 8;

std::string PartialName(DataType type) { return absl::StrCat("partial_", Name(type)); }

void Append(std::vector<StmtPtr> from, std::vector<StmtPtr>* to) {
  for (StmtPtr& statement : from) to->push_back(std::move(statement));
}

// One kernel of the chain, for the work-item "lane" of the block's row "row".
class StageLowerer {
 public:
  StageLowerer(const RowStages& stages, const plan::RowGroupPlan& plan,
               const plan::RowGroupStage& stage)
      : stages_(stages),
        plan_(plan),
        stage_(stage),
        flat_(stage.block.flat),
        indices_(flat_, stages.IndexType().element),
        here_(flat_.indices.size(), 0) {
    for (size_t a = 0; a < stage.block.origins.size(); ++a) {
      if (stage.block.origins[a] >= 0) {
        indices_.Set(stage.block.origins[a], stages.Var(RowStages::RowName(a)));
      }
      if (stage.block.rows[a] >= 0) indices_.Set(stage.block.rows[a], stages.Var("row"));
    }
  }

  StmtPtr Lower() {
    if (!flat_.is_reduction()) return ForOwnElements([&] { return StoreElements(); });
    const sem::Type type = {flat_.accumulator_type, stage_.lanes};
    const ExprPtr identity = Identity(flat_.aggregation, type.element);
    std::vector<StmtPtr> statements = {
        sem::MakeDeclare(type, "acc", sem::Splat(identity, type.lanes), true)};
    statements.push_back(ForOwnElements([&] { return Accumulate(type); }));
    Append(JoinLanes(type), &statements);
    Append(JoinPartials(), &statements);
    statements.push_back(OnFirst(StoreResult()));
    return sem::MakeBlock(std::move(statements));
  }

 private:
  ExprPtr Number(int64_t value) const { return stages_.Number(value); }

  StmtPtr OnFirst(StmtPtr statement) const {
    if (plan_.row_threads == 1) return statement;
    return sem::MakeIf(sem::Equals(stages_.Var("lane"), Number(0)), std::move(statement));
  }

  // The elements of the row that are the work-item's, `lanes` at a time.
  template <class Body>
  StmtPtr ForOwnElements(Body body) {
    if (stage_.inner.empty()) return OnFirst(body());
    const int64_t elements = stage_.Elements();
    const int64_t vectors = elements / stage_.lanes;
    const int64_t turns = (vectors + plan_.row_threads - 1) / plan_.row_threads;
    std::vector<StmtPtr> statements = {
        sem::MakeDeclare(stages_.IndexType(), "at",
                         sem::Mul(sem::Add(sem::Mul(stages_.Var("turn"), Number(plan_.row_threads)),
                                           plan_.row_threads > 1 ? stages_.Var("lane") : Number(0)),
                                  Number(stage_.lanes)))};
    int64_t below = 1;
    for (size_t n = stage_.inner.size(); n-- > 0;) {
      const int64_t range = flat_.indices[stage_.inner[n]].range;
      ExprPtr digit = sem::Div(stages_.Var("at"), Number(below));
      if (n > 0) digit = sem::Mod(digit, Number(range));
      indices_.Set(stage_.inner[n], std::move(digit));
      below *= range;
    }
    StmtPtr inside = body();
    if (vectors % plan_.row_threads != 0) {
      inside = sem::MakeIf(sem::Less(stages_.Var("at"), Number(elements)), std::move(inside));
    }
    statements.push_back(std::move(inside));
    return sem::MakeFor("turn", Number(0), Number(turns), sem::MakeBlock(std::move(statements)), 1,
                        turns > 1 && turns <= kMostUnrolled);
  }

  VectorShape Vector() const {
    return stage_.lanes > 1 ? VectorShape{stage_.inner.back(), stage_.lanes} : VectorShape{};
  }

  StmtPtr Accumulate(const sem::Type& type) {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "t", &body);
    emitter.AssumeAlignedLanes();
    emitter.Count(flat_.body);
    emitter.MoveTo(here_);
    const ExprPtr value = sem::Splat(emitter.Emit(flat_.body), type.lanes);
    body.push_back(sem::MakeAssign("acc", Aggregate(sem::Var("acc", type), value)));
    StmtPtr block = sem::MakeBlock(std::move(body));
    const ExprPtr valid = All(indices_, flat_.constraints);
    return valid == nullptr ? block : sem::MakeIf(valid, std::move(block));
  }

  ExprPtr Aggregate(const ExprPtr& old, const ExprPtr& value) const {
    const auto* apply = std::get_if<sem::Apply>(&value->node);
    if (flat_.aggregation == Aggregation::kSum && IsFloat(flat_.accumulator_type) &&
        apply != nullptr && apply->op == ScalarOp::kMul) {
      return sem::MulAdd(apply->operands[0], apply->operands[1], old);
    }
    return sem::ApplyOp(AggregationOp(flat_.aggregation), {old, value});
  }

  // Declares "sum", the work-item's partial result.
  std::vector<StmtPtr> JoinLanes(const sem::Type& type) const {
    const ExprPtr acc = sem::Var("acc", type);
    std::vector<ExprPtr> parts;
    if (type.lanes == 1) parts.push_back(acc);
    for (int lane = 0; type.lanes > 1 && lane < type.lanes; ++lane) {
      parts.push_back(sem::LaneOf(acc, lane));
    }
    for (; parts.size() > 1; parts.resize(parts.size() / 2)) {
      for (size_t i = 0; i < parts.size() / 2; ++i) {
        parts[i] =
            sem::ApplyOp(AggregationOp(flat_.aggregation), {parts[i], parts[i + parts.size() / 2]});
      }
    }
    return {sem::MakeDeclare({type.element, 1}, "sum", parts[0])};
  }

  ExprPtr Partial(const ExprPtr& item) const {
    return sem::LoadFrom(PartialName(flat_.accumulator_type), flat_.accumulator_type, item);
  }

  StmtPtr SetPartial(ExprPtr value) const {
    return sem::MakeStore(PartialName(flat_.accumulator_type), flat_.accumulator_type,
                          stages_.Var("item"), std::move(value));
  }

  // A tree: in each round the first half of those that share a row take the other half's.
  std::vector<StmtPtr> JoinPartials() const {
    if (plan_.row_threads == 1) return {};
    const int64_t distance = plan_.rows_first ? plan_.BlockRows() : 1;
    const ExprPtr item = stages_.Var("item");
    std::vector<StmtPtr> statements = {SetPartial(sem::Var("sum", {flat_.accumulator_type, 1})),
                                       sem::MakeBarrier()};
    for (int64_t half = plan_.row_threads / 2; half > 0; half /= 2) {
      const ExprPtr other = Partial(sem::Add(item, Number(half * distance)));
      statements.push_back(sem::MakeIf(
          sem::Less(stages_.Var("lane"), Number(half)),
          SetPartial(sem::ApplyOp(AggregationOp(flat_.aggregation), {Partial(item), other}))));
      // The first reads what it has written itself.
      if (half > 1) statements.push_back(sem::MakeBarrier());
    }
    return statements;
  }

  StmtPtr StoreResult() {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, {}, {here_}, "e", &body);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    const sem::Type type = {flat_.accumulator_type, 1};
    ExprPtr total = plan_.row_threads == 1 ? sem::Var("sum", type) : Partial(stages_.Var("item"));
    body.push_back(sem::MakeDeclare(type, "result", std::move(total)));
    emitter.MoveTo(here_, sem::Var("result", type));
    StoreOutputs(&emitter, 1, &body);
    return sem::MakeBlock(std::move(body));
  }

  StmtPtr StoreElements() {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "e", &body);
    emitter.AssumeAlignedLanes();
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here_);
    StoreOutputs(&emitter, stage_.lanes, &body);
    return sem::MakeBlock(std::move(body));
  }

  void StoreOutputs(ExprEmitter* emitter, int lanes, std::vector<StmtPtr>* body) const {
    const poly::FlatAccess flat = poly::Flatten(flat_.output_coords, flat_.output_dims,
                                                static_cast<int>(flat_.indices.size()));
    math::Affine poly = math::Affine::Constant(flat.offset);
    bool is_aligned = flat.offset % lanes == 0;
    for (size_t i = 0; i < flat.strides.size(); ++i) {
      const int index = static_cast<int>(i);
      if (flat.strides[i] == 0) continue;
      poly.set_coefficient(index, flat.strides[i]);
      const bool is_lane = lanes > 1 && index == stage_.inner.back();
      is_aligned = is_aligned && (is_lane || flat.strides[i] % lanes == 0);
    }
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      ExprPtr value = emitter->Emit(flat_.outputs[o].expr);
      stores.push_back(sem::MakeStore(absl::StrCat("out", o), flat_.outputs[o].shape.type,
                                      indices_.Emit(poly), sem::Splat(std::move(value), lanes),
                                      lanes > 1 && is_aligned));
    }
    Append(std::move(stores), body);
  }

  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
  const plan::RowGroupStage& stage_;
  const poly::FlatContraction& flat_;
  IndexEmitter indices_;
  const Position here_;
};

// Which row of the block a work-item is for, and which of the row's it is.
std::vector<StmtPtr> DeclareItem(const RowStages& stages, const plan::RowGroupPlan& plan) {
  const sem::Type type = stages.IndexType();
  const ExprPtr item = stages.Var("item");
  std::vector<StmtPtr> statements = {
      sem::MakeDeclare(type, "item", sem::Work(sem::WorkId::kLocal, 0, type.element))};
  const int64_t below = plan.rows_first ? plan.BlockRows() : plan.row_threads;
  const ExprPtr low = sem::Mod(item, stages.Number(below));
  const ExprPtr high = sem::Div(item, stages.Number(below));
  if (plan.BlockRows() > 1) {
    statements.push_back(sem::MakeDeclare(type, "row", plan.rows_first ? low : high));
  }
  if (plan.row_threads > 1) {
    statements.push_back(sem::MakeDeclare(type, "lane", plan.rows_first ? high : low));
  }
  return statements;
}

}  // namespace

RowChainKernel LowerRowGroups(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowGroupPlan& plan, const std::string& name,
                              const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type);
  RowChainKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.local_size[0] = plan.Threads();
  chain.kernel.global_size[0] = plan.Threads() * plan.GroupCount();
  std::vector<StmtPtr> statements = stages.DeclareKept(plan.block, sem::Space::kLocal);
  std::set<DataType> partial_types;
  for (const plan::RowGroupStage& stage : plan.stages) {
    const DataType type = stage.block.flat.accumulator_type;
    if (!stage.block.flat.is_reduction() || plan.row_threads == 1) continue;
    if (!partial_types.insert(type).second) continue;
    statements.push_back(
        sem::MakeArray({type, 1}, PartialName(type), plan.Threads(), sem::Space::kLocal));
  }
  Append(DeclareItem(stages, plan), &statements);
  Append(stages.DeclareRows(sem::Work(sem::WorkId::kGroup, 0, index_type), plan.rows, plan.block),
         &statements);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    statements.push_back(stages.Named(s, StageLowerer(stages, plan, plan.stages[s]).Lower()));
    if (s + 1 == plan.stages.size() || plan.Threads() == 1) continue;
    statements.push_back(sem::MakeBarrier(stages.IsReadFromBuffers(s)));
  }
  chain.kernel.body = sem::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace tartan::lower
