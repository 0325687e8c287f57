// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/mma_results.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/gpu/mma_operand.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::MatrixPlan;

// Maximum registers of a work-item for operands of the epilogue that are loaded ahead.
constexpr int64_t kAheadRegisters = 32;

class ResultWriter : IndexBuilder {
 public:
  ResultWriter(const poly::FlatContraction& flat, const MatrixPlan& plan,
               const std::vector<ExprPtr>& batch_values, DataType index_type, std::string held)
      : IndexBuilder(index_type),
        flat_(flat),
        plan_(plan),
        batch_values_(batch_values),
        held_(std::move(held)) {}

  std::vector<StmtPtr> Results() const {
    std::vector<StmtPtr> statements;
    if (!plan_.holds_results) statements.push_back(loop::MakeBarrier());
    statements.push_back(Declare("lane", loop::Mod(Var("item"), Number(32))));
    statements.push_back(Declare("first_row", FirstRow()));
    statements.push_back(
        Declare("first_column", loop::Mul(loop::Mod(Var("lane"), Number(4)), Number(2))));
    if (plan_.holds_results) {
      statements.push_back(HoldResults());
      return statements;
    }
    statements.push_back(loop::MakeArray({DataType::kFloat32, 1}, "totals",
                                         plan_.slices * plan_.totals_size(), loop::Space::kLocal,
                                         "tiles"));
    const int64_t stride = plan_.totals_stride();
    statements.push_back(Declare(
        "own",
        loop::Add(loop::Add(loop::Mul(Var("first_row"), Number(stride)), Var("first_column")),
                  loop::Mul(Var("slice"), Number(plan_.totals_size())))));
    const ExprPtr place =
        loop::Add(Var("own"), loop::Add(loop::Mul(RowOfSlot(), Number(stride)), ColumnOfSlot()));
    statements.push_back(ForSlots(loop::MakeStore("totals", DataType::kFloat32, place, SlotSum())));
    statements.push_back(loop::MakeBarrier());
    statements.push_back(Stores());
    return statements;
  }

 private:
  int64_t RowCount() const { return plan::CountOf(flat_, plan_.rows); }
  int64_t ColumnCount() const { return plan::CountOf(flat_, plan_.columns); }

  // The first row of the tile for which the work-item has sums.
  ExprPtr FirstRow() const {
    const ExprPtr warp = loop::Mod(loop::Div(Var("item"), Number(32)), Number(4));
    return loop::Add(
        loop::Add(loop::Mul(Var("warp_group"), Number(plan_.blocks() * MatrixPlan::kUnitRows)),
                  loop::Mul(warp, Number(16))),
        loop::Div(Var("lane"), Number(4)));
  }

  // Slot (block, round, h, e) is at row 64 block + 8 h and column 8 round + e, relative to FirstRow
  // and the work-item's first column.
  ExprPtr RowOfSlot() const {
    const ExprPtr block = loop::Div(Var("slot"), Number(plan_.column_tile / 2));
    return loop::Add(loop::Mul(block, Number(MatrixPlan::kUnitRows)),
                     loop::Mul(loop::Mod(loop::Div(Var("slot"), Number(2)), Number(2)), Number(8)));
  }
  ExprPtr ColumnOfSlot() const {
    const ExprPtr within = loop::Mod(Var("slot"), Number(plan_.column_tile / 2));
    return loop::Add(loop::Mul(loop::Div(within, Number(4)), Number(8)),
                     loop::Mod(Var("slot"), Number(2)));
  }
  ExprPtr SlotSum() const { return loop::LoadFrom("total", DataType::kFloat32, Var("slot")); }
  StmtPtr ForSlots(StmtPtr body) const {
    return loop::MakeFor("slot", Number(0), Number(plan_.accumulators()), std::move(body), 1, true);
  }

  // Computes pairs of columns, for both rows of the work-item. Results past the last column, up to
  // a multiple of 8, are computed, too, unless they would read operands there.
  StmtPtr HoldResults() const {
    std::vector<StmtPtr> body = {
        Declare("row", loop::Add(Var("first_row"), loop::Mul(Var("own_row"), Number(8)))),
        Declare("column", loop::Add(Var("first_column"), loop::Mul(Var("pair"), Number(8))))};
    const StmtPtr element = Element(2);
    const bool reads = plan::ReadsAlongColumns(flat_, plan_);
    body.push_back(reads ? loop::MakeIf(IsInside(), element) : element);
    return loop::MakeFor(
        "pair", Number(0), Number(plan_.ResultPairs(flat_)),
        loop::MakeFor("own_row", Number(0), Number(2), loop::MakeBlock(std::move(body)), 1, true),
        1, true);
  }

  // Tests that "row" and "column" are inside the result.
  ExprPtr IsInside() const {
    ExprPtr inside = loop::Bool(true);
    if (RowCount() % plan_.row_tile != 0) {
      inside = loop::And(inside, loop::Less(Var("row"), Number(RowCount())));
    }
    if (ColumnCount() % plan_.result_columns() != 0) {
      inside = loop::And(inside, loop::Less(Var("column"), Number(ColumnCount())));
    }
    return inside;
  }

  int64_t VectorsOfRow() const { return plan_.result_columns() / plan_.lanes; }
  int64_t Vectors() const { return plan_.row_tile * VectorsOfRow(); }

  // A work-item stores a vector per round. It loads operands of several rounds before it computes
  // the first of them, because each load waits for memory.
  StmtPtr Stores() const {
    const int64_t rounds = plan::TilesOf(Vectors(), plan_.threads());
    const std::vector<int> reads = RowReads();
    const int64_t together = RoundsTogether(rounds, static_cast<int64_t>(reads.size()));
    if (together == 1) {
      return loop::MakeFor("round", Number(0), Number(rounds), OfRound(Var("round"), {}));
    }
    std::vector<StmtPtr> body;
    std::map<int, ExprPtr> ahead;
    const int lanes = static_cast<int>(plan_.lanes);
    const ExprPtr place = loop::Mul(Var("ahead"), Number(lanes));
    for (const int access : reads) {
      const DataType type = ReadOf(access)->type;
      const std::string name = absl::StrCat("ahead", access);
      body.push_back(loop::MakeArray({type, 1}, name, together * lanes));
      ahead.emplace(access, loop::LoadFrom(name, type, place, lanes));
    }
    const ExprPtr round = loop::Add(loop::Mul(Var("turn"), Number(together)), Var("ahead"));
    for (const StmtPtr& part : {LoadAhead(round, ahead), OfRound(round, ahead)}) {
      body.push_back(loop::MakeFor("ahead", Number(0), Number(together), part, 1, true));
    }
    return loop::MakeFor("turn", Number(0), Number(rounds / together),
                         loop::MakeBlock(std::move(body)));
  }

  // The epilogue's read through the access; null: none.
  poly::ExprPtr ReadOf(int access) const {
    for (const poly::Output& output : flat_.outputs) {
      if (poly::ExprPtr read = poly::FindRead(output.expr, access)) return read;
    }
    return nullptr;
  }

  // The accesses of the epilogue that load a vector of their own for each vector of results.
  std::vector<int> RowReads() const {
    std::vector<int> reads;
    if (plan_.lanes == 1 || !flat_.store_guard.empty()) return reads;
    for (int a = 0; a < static_cast<int>(flat_.accesses.size()); ++a) {
      const poly::ExprPtr read = flat_.accesses[a].guard.empty() ? ReadOf(a) : nullptr;
      if (read == nullptr || read->type == DataType::kBool) continue;
      const std::vector<int64_t> strides = poly::Flatten(flat_, a).strides;
      const bool differs_by_row =
          std::any_of(plan_.rows.begin(), plan_.rows.end(), [&](int i) { return strides[i] != 0; });
      if (differs_by_row && strides[plan_.columns.back()] == 1) reads.push_back(a);
    }
    return reads;
  }

  // The number of rounds whose `reads` operands are loaded together: a divisor of all rounds.
  int64_t RoundsTogether(int64_t rounds, int64_t reads) const {
    int64_t together = 1;
    while (reads > 0 && rounds % (2 * together) == 0 &&
           2 * together * reads * plan_.lanes <= kAheadRegisters) {
      together *= 2;
    }
    return together;
  }

  // Declares the place of a round's vector in the tile.
  std::vector<StmtPtr> PlaceOf(const ExprPtr& round) const {
    return {Declare("number", loop::Add(loop::Mul(round, Number(plan_.threads())), Var("item"))),
            Declare("tile_row", loop::Div(Var("number"), Number(VectorsOfRow()))),
            Declare("tile_column", loop::Mul(loop::Mod(Var("number"), Number(VectorsOfRow())),
                                             Number(plan_.lanes)))};
  }

  // Loads a round's operands into arrays. Where the tile exceeds the results, the last ones are
  // loaded.
  StmtPtr LoadAhead(const ExprPtr& round, const std::map<int, ExprPtr>& ahead) const {
    std::vector<StmtPtr> body = PlaceOf(round);
    const int64_t last_column = (ColumnCount() - 1) / plan_.lanes * plan_.lanes;
    body.push_back(Declare(
        "row", loop::Min(loop::Add(Var("row_base"), Var("tile_row")), Number(RowCount() - 1))));
    body.push_back(Declare("column", loop::Min(loop::Add(Var("column_base"), Var("tile_column")),
                                               Number(last_column))));
    IndexEmitter indices(flat_, index_type_);
    SetIndices(&indices, &body);
    const int lanes = static_cast<int>(plan_.lanes);
    const Position here(flat_.indices.size(), 0);
    ExprEmitter emitter(flat_, indices, {plan_.columns.back(), lanes}, {here}, "r", &body);
    emitter.AssumeAlignedLanes();
    emitter.MoveTo(here);
    for (const auto& [access, held] : ahead) {
      const auto& load = std::get<loop::Load>(held->node);
      body.push_back(loop::MakeStore(load.buffer, held->type.element, load.index,
                                     loop::Splat(emitter.Emit(ReadOf(access)), lanes)));
    }
    return loop::MakeBlock(std::move(body));
  }

  // Computes and stores the vector of a round. `ahead`: values of accesses.
  StmtPtr OfRound(const ExprPtr& round, const std::map<int, ExprPtr>& ahead) const {
    std::vector<StmtPtr> body = PlaceOf(round);
    body.push_back(Declare("row", loop::Add(Var("row_base"), Var("tile_row"))));
    body.push_back(Declare("column", loop::Add(Var("column_base"), Var("tile_column"))));
    ExprPtr inside = IsInside();
    if (Vectors() % plan_.threads() != 0) {
      inside = loop::And(loop::Less(Var("number"), Number(Vectors())), inside);
    }
    body.push_back(loop::MakeIf(inside, Element(static_cast<int>(plan_.lanes), ahead)));
    return loop::MakeBlock(std::move(body));
  }

  // Declares the kernel's indices at "row" and "column".
  void SetIndices(IndexEmitter* indices, std::vector<StmtPtr>* statements) const {
    const auto set = [&](const std::vector<int>& list, const std::vector<ExprPtr>& values) {
      for (size_t i = 0; i < list.size(); ++i) {
        const std::string name = absl::StrCat("at_", flat_.indices[list[i]].name);
        statements->push_back(Declare(name, values[i]));
        indices->Set(list[i], Var(name));
      }
    };
    set(plan_.batch, batch_values_);
    set(plan_.rows, Digits(flat_, plan_.rows, Var("row"), index_type_));
    set(plan_.columns, Digits(flat_, plan_.columns, Var("column"), index_type_));
    for (int i : plan_.reduced) indices->Set(i, Number(0));
  }

  // Computes and stores `lanes` elements of a row, from "column" on.
  StmtPtr Element(int lanes, const std::map<int, ExprPtr>& ahead = {}) const {
    IndexEmitter indices(flat_, index_type_);
    std::vector<StmtPtr> outer;
    SetIndices(&indices, &outer);
    const VectorShape vector = lanes > 1 ? VectorShape{plan_.columns.back(), lanes} : VectorShape{};
    const Position here(flat_.indices.size(), 0);
    ExprEmitter outside(flat_, indices, {}, {here}, "c", &outer);
    outside.MoveTo(here);
    const ExprPtr condition = outside.EmitConditions(flat_.store_guard);
    std::vector<StmtPtr> body;
    ExprEmitter emitter(flat_, indices, vector, {here}, "e", &body);
    emitter.AssumeAlignedLanes();
    emitter.Assume(flat_.store_guard);
    emitter.LoadUnconditionally();
    for (const auto& [access, value] : ahead) emitter.Provide(access, value);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    const loop::Type type = {DataType::kFloat32, lanes};
    std::vector<ExprPtr> sums = {loop::Var("sum", type)};
    body.push_back(Sum("sum", 0));
    if (plan_.second) {
      body.push_back(Sum("second_sum", plan_.result_columns()));
      sums.push_back(loop::Var("second_sum", type));
    }
    emitter.MoveTo(here, std::move(sums));
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      const ExprPtr value = emitter.Emit(flat_.outputs[o].expr);
      stores.push_back(plan_.holds_results ? Hold(lanes, value) : emitter.Store(o, value));
    }
    for (StmtPtr& store : stores) body.push_back(std::move(store));
    StmtPtr element = loop::MakeBlock(std::move(body));
    if (condition != nullptr) element = loop::MakeIf(condition, std::move(element));
    outer.push_back(std::move(element));
    return loop::MakeBlock(std::move(outer));
  }

  // The sum over all slices, for columns from `begin` on in a row of the tile.
  StmtPtr Sum(const std::string& name, int64_t begin) const {
    if (plan_.holds_results) {
      const ExprPtr slot =
          loop::Add(loop::Mul(Var("pair"), Number(4)), loop::Mul(Var("own_row"), Number(2)));
      return loop::MakeDeclare({DataType::kFloat32, 2}, name,
                               loop::LoadFrom("total", DataType::kFloat32, slot, 2));
    }
    const int lanes = static_cast<int>(plan_.lanes);
    const ExprPtr place = loop::Add(
        loop::Add(loop::Mul(Var("tile_row"), Number(plan_.totals_stride())), Var("tile_column")),
        Number(begin));
    ExprPtr sum = loop::LoadFrom("totals", DataType::kFloat32, place, lanes, lanes > 1);
    for (int64_t slice = 1; slice < plan_.slices; ++slice) {
      const ExprPtr other = loop::Add(place, Number(slice * plan_.totals_size()));
      sum = loop::Add(sum, loop::LoadFrom("totals", DataType::kFloat32, other, lanes, lanes > 1));
    }
    return loop::MakeDeclare({DataType::kFloat32, lanes}, name, std::move(sum));
  }

  // Stores results in the registers that hold them for a later stage.
  StmtPtr Hold(int lanes, const ExprPtr& value) const {
    const ExprPtr pair =
        loop::Add(loop::Mul(Var("own_row"), Number(plan_.ResultPairs(flat_))), Var("pair"));
    return loop::MakeStore(held_, DataType::kFloat32, pair, loop::Splat(value, lanes));
  }

  const poly::FlatContraction& flat_;
  const MatrixPlan& plan_;
  const std::vector<ExprPtr>& batch_values_;
  const std::string held_;
};

}  // namespace

std::vector<StmtPtr> StoreMmaResults(const poly::FlatContraction& flat, const MatrixPlan& plan,
                                     const std::vector<ExprPtr>& batch_values, DataType index_type,
                                     const std::string& held) {
  return ResultWriter(flat, plan, batch_values, index_type, held).Results();
}

}  // namespace tartan::lower
