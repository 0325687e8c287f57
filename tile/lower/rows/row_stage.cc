// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_stage.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/rows/online_softmax_state.h"
#include "tile/lower/rows/row_partials.h"
#include "tile/lower/rows/row_tiles.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr int64_t kMaxUnrolled = 8;
constexpr int64_t kTogether = 8;  // iterations that load before the first of them stores

// Emits one stage of the fused kernel, for the work-item "lane" of the block's row "row".
class StageLowerer : IndexBuilder {
 public:
  // `is_odd`: see PartialResults.
  StageLowerer(const RowStages& stages, const plan::RowGroupPlan& plan, const StageOfRows& of,
               bool is_odd)
      : IndexBuilder(stages.index_type()),
        stages_(stages),
        plan_(plan),
        stage_(of.stage),
        number_(of.number),
        flat_(stage_.block.flat),
        loads_first_(!stages.ReadsWhatIsWritten(of.number)),
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
    return ForOwnRows([&] { return LowerRow(); });
  }

  // Loads what an access reads into registers.
  StmtPtr Fetch(int access, int number) {
    return ForOwnRows([&] { return FetchRow(access, number); }, absl::StrCat("_in", access));
  }

 private:
  // The work-item's rows one after the other, without a loop. Values stay in registers only if
  // their array indices are constants, and compilers do not unroll a loop that contains barriers.
  // `suffix` is added to names.
  template <class Body>
  StmtPtr ForOwnRows(Body body, const std::string& suffix = "") {
    if (plan_.item_rows == 1) return body();
    std::vector<StmtPtr> rows;
    for (own_row_ = 0; own_row_ < plan_.item_rows; ++own_row_) {
      const ExprPtr row = loop::Add(Var("item_row"), Number(own_row_ * 8));
      std::vector<StmtPtr> statements = {loop::MakeDeclare(IndexType(), "row", row)};
      statements.push_back(body());
      const StmtPtr all = loop::MakeBlock(std::move(statements));
      loop::Renaming names;
      for (const std::string& name : loop::DeclaredNames(all)) {
        names[name] = absl::StrCat(name, suffix, "_of", own_row_);
      }
      rows.push_back(loop::Rename(all, names));
    }
    return loop::MakeBlock(std::move(rows));
  }

  StmtPtr LowerRow() {
    if (!flat_.is_reduction()) {
      if (stage_.inner.empty()) return StoreElement();
      if (!stage_.result_tile) return StoreRow();
      std::vector<StmtPtr> statements = {
          ForOwnElements([&] { return StoreInTile(); }, [&] { return StoreZeros(); })};
      statements.push_back(FillTile());
      return loop::MakeBlock(std::move(statements));
    }
    const loop::Type type = {flat_.accumulator_type, stage_.lanes};
    const ExprPtr identity = Identity(flat_.aggregation, type.element);
    std::vector<StmtPtr> statements = {
        loop::MakeDeclare(type, "acc", loop::Splat(identity, type.lanes), true)};
    statements.push_back(ForOwnElements([&] { return Accumulate(type); }));
    statements.push_back(PartialResults::ReduceLanes(flat_.aggregation, type));
    if (plan_.row_threads > 1) {
      const PartialResults partials(stages_, plan_, type.element);
      Append(partials.Join(flat_.aggregation, is_odd_), &statements);
    } else {
      statements.push_back(
          loop::MakeDeclare({type.element, 1}, "result", loop::Var("sum", {type.element, 1})));
    }
    const ExprPtr is_first = plan_.row_threads > 1 ? loop::Equals(Var("lane"), Number(0)) : nullptr;
    const ExprPtr result = loop::Var("result", {type.element, 1});
    statements.push_back(
        StoreElement(OnlineSoftmaxState(stages_, plan_)
                         .Carry(stage_.role, number_, result, is_first, &statements)));
    return loop::MakeBlock(std::move(statements));
  }

  StmtPtr FetchRow(int access, int number) {
    return ForOwnElements([&] {
      std::vector<StmtPtr> body;
      const DataType type = plan_.held[number].type;
      ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "t", &body);
      emitter.AssumeAlignedLanes();
      if (loads_first_) emitter.LoadUnconditionally();
      emitter.MoveTo(here_);
      body.push_back(Hold(number, emitter.Emit(poly::MakeExpr(type, poly::Read{access}))));
      return loop::MakeBlock(std::move(body));
    });
  }

  // Applies `body` to the work-item's elements of the row, `lanes` at a time. Work-items whose last
  // vector is past the end of the row execute `otherwise` instead, if it is not null.
  template <class Body>
  StmtPtr ForOwnElements(
      Body body, const std::function<StmtPtr()>& otherwise = [] { return nullptr; }) {
    if (stage_.inner.empty()) return body();
    const int64_t full = stage_.Elements() / (stage_.lanes * plan_.row_threads);
    const bool holds = std::any_of(stage_.register_reads.begin(), stage_.register_reads.end(),
                                   [&](int held) { return held >= 0; }) ||
                       stage_.register_result >= 0;
    const int64_t iterations = stage_.Iterations(plan_.row_threads);
    std::vector<StmtPtr> statements;
    iteration_ = Var("turn");
    if (part_ != Part::kAll) {
      statements.push_back(ForChunks(full / kTogether, body));
    } else if (full > 0) {
      statements.push_back(loop::MakeFor("turn", Number(0), Number(full), AtIteration(body), 1,
                                         iterations > 1 && (holds || iterations <= kMaxUnrolled)));
    }
    if (full < iterations) {
      iteration_ = Number(full);
      is_last_ = true;
      StmtPtr last = AtIteration(body);
      statements.push_back(loop::MakeIf(loop::Less(FirstElement(), Number(stage_.Elements())),
                                        std::move(last), otherwise()));
      is_last_ = false;
    }
    return loop::MakeBlock(std::move(statements));
  }

  // Stores do not move before loads that may alias them. So some iterations load before any stores.
  StmtPtr StoreRow() {
    const int64_t full = stage_.Elements() / (stage_.lanes * plan_.row_threads);
    const bool may_wait = !loads_first_ && stage_.stores && stage_.register_result < 0 &&
                          stage_.lanes > 1 && flat_.outputs.size() == 1 && full % kTogether == 0;
    if (may_wait && full > 0 && plan_.item_rows > 1) part_ = Part::kCompute;
    StmtPtr row = ForOwnElements([&] { return StoreElements(); });
    part_ = Part::kAll;
    return row;
  }

  template <class Body>
  StmtPtr ForChunks(int64_t count, Body body) {
    iteration_ = loop::Add(loop::Mul(Var("chunk"), Number(kTogether)), Var("turn"));
    const loop::Type type = {ComputeType(flat_.outputs.front().expr->type), stage_.lanes};
    const ExprPtr zero = Number(0), turns = Number(kTogether);
    std::vector<StmtPtr> chunk = {loop::MakeArray(type, "together", kTogether)};
    for (const Part part : {Part::kCompute, Part::kStore}) {
      part_ = part;
      chunk.push_back(loop::MakeFor("turn", zero, turns, AtIteration(body), 1, true));
    }
    part_ = Part::kAll;
    return loop::MakeFor("chunk", zero, Number(count), loop::MakeBlock(std::move(chunk)), 1, true);
  }

  // A vector of the row; if its second element is past the end of the row, `neutral` replaces it.
  ExprPtr WithinRow(const ExprPtr& vector, const ExprPtr& neutral) const {
    if (!is_last_ || stage_.Elements() % stage_.lanes == 0) return vector;
    const ExprPtr second = loop::Add(FirstElement(), Number(1));
    return loop::Select(loop::Less(second, Number(stage_.Elements())), vector,
                        loop::MakeShuffle(vector, loop::Splat(neutral, 2), {0, 2}));
  }

  ExprPtr FirstElement() const {
    const ExprPtr before = loop::Mul(iteration_, Number(plan_.row_threads));
    const ExprPtr vector = plan_.row_threads > 1 ? loop::Add(before, Var("lane")) : before;
    return loop::Mul(vector, Number(stage_.lanes));
  }

  template <class Body>
  StmtPtr AtIteration(Body body) {
    std::vector<StmtPtr> statements = {loop::MakeDeclare(IndexType(), "at", FirstElement())};
    int64_t below = 1;
    for (size_t n = stage_.inner.size(); n-- > 0;) {
      const int64_t range = flat_.indices[stage_.inner[n]].range;
      ExprPtr digit = loop::Div(Var("at"), Number(below));
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

  // The index of the current iteration's vector in the array of a value kept in registers.
  ExprPtr PlaceOfHeld(const plan::RegisterValue& value) const {
    const ExprPtr vector = value.iterations == 0 ? Number(0) : iteration_;
    if (plan_.item_rows == 1) return vector;
    const int64_t vectors = std::max<int64_t>(value.iterations, 1);
    return loop::Add(Number(own_row_ * vectors), vector);
  }

  bool IsVariable(const plan::RegisterValue& value) const {
    return value.iterations == 0 && plan_.item_rows == 1;
  }

  ExprPtr HeldAt(int number) const {
    const plan::RegisterValue& value = plan_.held[number];
    if (IsVariable(value)) return loop::Var(RegisterArrayName(number), {value.type, 1});
    return loop::LoadFrom(RegisterArrayName(number), value.type, PlaceOfHeld(value), value.lanes);
  }

  StmtPtr Hold(int number, ExprPtr vector) const {
    const plan::RegisterValue& value = plan_.held[number];
    if (IsVariable(value)) return loop::MakeAssign(RegisterArrayName(number), std::move(vector));
    return loop::MakeStore(RegisterArrayName(number), value.type, PlaceOfHeld(value),
                           loop::Splat(std::move(vector), value.lanes));
  }

  void ProvideHeld(ExprEmitter* emitter) const {
    for (size_t a = 0; a < stage_.register_reads.size(); ++a) {
      const int number = stage_.register_reads[a];
      if (number >= 0) emitter->Provide(static_cast<int>(a), HeldAt(number));
    }
  }

  StmtPtr Accumulate(const loop::Type& type) {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "t", &body);
    emitter.AssumeAlignedLanes();
    if (loads_first_) emitter.LoadUnconditionally();
    ProvideHeld(&emitter);
    emitter.Count(flat_.body);
    emitter.MoveTo(here_);
    const ExprPtr value = WithinRow(loop::Splat(emitter.Emit(flat_.body), type.lanes),
                                    Identity(flat_.aggregation, type.element));
    body.push_back(
        loop::MakeAssign("acc", PartialResults::Aggregate(flat_, loop::Var("acc", type), value)));
    StmtPtr block = loop::MakeBlock(std::move(body));
    const ExprPtr valid = All(indices_, flat_.constraints);
    return valid == nullptr ? block : loop::MakeIf(valid, std::move(block));
  }

  // For rows with one output element: all work-items of the row compute it, the first one stores
  // it.
  StmtPtr StoreElement(ExprPtr total = nullptr) {
    std::vector<StmtPtr> body;
    // If later stages need only its shape, as index() does, nothing is computed.
    if (stage_.register_result < 0 && !stage_.stores) return loop::MakeBlock({});
    ExprEmitter emitter(flat_, indices_, {}, {here_}, "e", &body);
    if (loads_first_) emitter.LoadUnconditionally();
    ProvideHeld(&emitter);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here_, {std::move(total)});
    StmtPtr store = loop::MakeBlock(StoreOutputs(&emitter, 1, &body));
    const ExprPtr is_first = plan_.row_threads > 1 ? loop::Equals(Var("lane"), Number(0)) : nullptr;
    if (stage_.register_result < 0) {
      // Only the storing work-item needs the value.
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
    if (loads_first_) emitter.LoadUnconditionally();
    ProvideHeld(&emitter);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here_);
    std::vector<StmtPtr> stores = StoreOutputs(&emitter, stage_.lanes, &body);
    if (part_ == Part::kStore) return loop::MakeBlock(std::move(stores));
    if (stage_.stores && part_ == Part::kAll) Append(std::move(stores), &body);
    return loop::MakeBlock(std::move(body));
  }

  // The offset in the MMA tiles of the work-item's elements of the current iteration.
  ExprPtr PlaceInTile() const {
    return OffsetInTiles(stages_, *stage_.result_tile, stage_.lanes, plan_.row_threads, iteration_);
  }

  // Returns whether the expression is one value in a register for the whole row.
  bool IsOfRow(const poly::ExprPtr& expr) const {
    const auto* read = std::get_if<poly::Read>(&expr->node);
    const int held = read == nullptr ? -1 : stage_.register_reads[read->access];
    return held >= 0 && plan_.held[held].iterations == 0;
  }

  StmtPtr StoreInTile() {
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices_, Vector(), {here_}, "e", &body);
    emitter.AssumeAlignedLanes();
    if (loads_first_) emitter.LoadUnconditionally();
    ProvideHeld(&emitter);
    const poly::ExprPtr result = WithReciprocals(
        flat_.outputs.front().expr, [&](const poly::ExprPtr& expr) { return IsOfRow(expr); });
    emitter.Count(result);
    emitter.MoveTo(here_);
    const ExprPtr value = loop::Splat(emitter.Emit(result), stage_.lanes);
    body.push_back(loop::MakeTileStore("tiles", stage_.result_tile->format, PlaceInTile(),
                                       WithinRow(value, loop::Float(0))));
    return loop::MakeBlock(std::move(body));
  }

  StmtPtr StoreZeros() const {
    return loop::MakeTileStore("tiles", stage_.result_tile->format, PlaceInTile(),
                               loop::Splat(loop::Float(0), stage_.lanes));
  }

  // Zeros the tile after the last vectors of the row.
  StmtPtr FillTile() {
    const int64_t width = stage_.lanes * plan_.row_threads;
    const int64_t all = stage_.result_steps * stage_.result_tile->depth() / width;
    iteration_ = Var("turn");
    return loop::MakeFor("turn", Number(stage_.Iterations(plan_.row_threads)), Number(all),
                         StoreZeros(), 1, true);
  }

  // The store statements. `body` receives the computation, and assignments of values kept in
  // registers.
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
      if (stage_.register_result >= 0) {
        body->push_back(Hold(stage_.register_result, std::move(value)));
        value = HeldAt(stage_.register_result);
      } else if (part_ != Part::kAll) {
        const DataType type = value->type.element;
        body->push_back(loop::MakeStore("together", type, Var("turn"), loop::Splat(value, lanes)));
        value = loop::LoadFrom("together", type, Var("turn"), lanes);
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
  const size_t number_;
  const poly::FlatContraction& flat_;
  const bool loads_first_;
  const bool is_odd_;
  IndexEmitter indices_;
  const Position here_;
  ExprPtr iteration_;  // the iteration for which statements are emitted
  bool is_last_ = false;
  enum class Part { kAll, kCompute, kStore } part_ = Part::kAll;  // of iterations; see StoreRow
  int64_t own_row_ = 0;  // number of the current row among the work-item's rows
};

}  // namespace

std::string RegisterArrayName(int number) { return absl::StrCat("held", number); }

StmtPtr LowerRowStage(const RowStages& stages, const plan::RowGroupPlan& plan,
                      const StageOfRows& stage, bool is_odd) {
  return stages.Named(stage.number, StageLowerer(stages, plan, stage, is_odd).Lower());
}

StmtPtr FetchRows(const RowStages& stages, const plan::RowGroupPlan& plan, int number) {
  const plan::RegisterValue& held = plan.held[number];
  const auto s = static_cast<size_t>(held.stage);
  StageLowerer lowerer(stages, plan, {s, plan.stages[s]}, false);
  return stages.Named(s, lowerer.Fetch(held.access, number));
}

}  // namespace tartan::lower
