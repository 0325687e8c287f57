// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/mma_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/lower/gpu/mma_operand.h"
#include "tile/lower/gpu/mma_results.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::MatrixPlan;

// Row tiles per band (empirical). Work-groups traverse a band column by column, so that work-groups
// that run at the same time share tiles in the cache.
constexpr int64_t kBand = 8;

class MmaLowerer : IndexBuilder {
 public:
  // `origins`: values of plan.batch; null: they follow from the work-group's number.
  MmaLowerer(const poly::FlatContraction& flat, const MatrixPlan& plan, DataType index_type,
             const GroupOrigins* origins = nullptr, std::string held = "")
      : IndexBuilder(index_type), flat_(flat), plan_(plan), held_(std::move(held)) {
    std::vector<ExprPtr> batch;
    for (int i : plan.batch) {
      batch.push_back(origins != nullptr ? origins->at(i)
                                         : Var(absl::StrCat("batch_", flat.indices[i].name)));
    }
    batch_values_ = batch;
    int64_t begin = 0;
    const auto add = [&](const plan::MatrixOperand& operand, const char* name,
                         const std::vector<int>& rows, const MatrixTile& tile) {
      operands_.emplace_back(flat, plan, operand, name, rows, tile, batch, begin, index_type_);
      begin += tile.size();
    };
    if (plan.resident_steps == 0) add(plan.left, "left", plan.rows, plan.left_tile());
    add(plan.right, "right", plan.columns, plan.right_tile());
    if (plan.second) add(*plan.second, "second", plan.columns, plan.right_tile());
  }

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginGroupKernel(flat_, plan_, name, index_type_);
    std::vector<StmtPtr> statements = {
        DeclareMmaTiles(plan_, plan_.tiles_size()),
        Declare("item", loop::Work(loop::WorkId::kLocal, 0, index_type_))};
    Append(DeclareWarpGroup(), &statements);
    Append(DeclareTile(), &statements);
    Append(OfTile(), &statements);
    kernel.body = loop::MakeBlock(std::move(statements));
    return kernel;
  }

  // Emits the work-group's only tile.
  std::vector<StmtPtr> LowerPart() {
    std::vector<StmtPtr> statements = DeclareWarpGroup();
    statements.push_back(Declare("row_base", Number(0)));
    statements.push_back(Declare("column_base", Number(0)));
    Append(OfTile(), &statements);
    return statements;
  }

 private:
  static void Append(std::vector<StmtPtr> from, std::vector<StmtPtr>* to) {
    for (StmtPtr& statement : from) to->push_back(std::move(statement));
  }

  int64_t RowCount() const { return plan::CountOf(flat_, plan_.rows); }
  int64_t ColumnCount() const { return plan::CountOf(flat_, plan_.columns); }

  std::vector<StmtPtr> DeclareWarpGroup() const {
    const ExprPtr warp_group = loop::Div(Var("item"), Number(MatrixPlan::kWarpGroup));
    const bool is_sliced = plan_.slices > 1;
    return {
        Declare("warp_group",
                is_sliced ? loop::Mod(warp_group, Number(plan_.warp_groups)) : warp_group),
        Declare("slice", is_sliced ? loop::Div(warp_group, Number(plan_.warp_groups)) : Number(0))};
  }

  // Emits the work for the tile at "row_base" and "column_base".
  std::vector<StmtPtr> OfTile() const {
    std::vector<StmtPtr> statements;
    for (const MmaOperandLoader& operand : operands_) {
      const bool is_left = &operand.plan() == &plan_.left;
      Append(operand.DeclareRows(Var(is_left ? "row_base" : "column_base")), &statements);
    }
    statements.push_back(loop::MakeArray({DataType::kFloat32, 1}, "total", plan_.accumulators()));
    statements.push_back(loop::MakeFor(
        "slot", Number(0), Number(plan_.accumulators()),
        loop::MakeStore("total", DataType::kFloat32, Var("slot"), loop::Float(0)), 1, true));
    Append(plan_.is_at_once     ? StepsAtOnce()
           : plan_.copies_all() ? CopiedSteps()
                                : FetchedSteps(),
           &statements);
    Append(StoreMmaResults(flat_, plan_, batch_values_, index_type_, held_), &statements);
    return statements;
  }

  // Declares which tile the work-group computes.
  std::vector<StmtPtr> DeclareTile() const {
    const int64_t rows = plan::TilesOf(RowCount(), plan_.row_tile);
    const int64_t columns = plan::TilesOf(ColumnCount(), plan_.result_columns());
    std::vector<StmtPtr> statements = {
        Declare("group", loop::Work(loop::WorkId::kGroup, 0, index_type_)),
        Declare("tile", loop::Mod(Var("group"), Number(rows * columns)))};
    const std::vector<ExprPtr> digits =
        Digits(flat_, plan_.batch, loop::Div(Var("group"), Number(rows * columns)), index_type_);
    for (size_t b = 0; b < plan_.batch.size(); ++b) {
      statements.push_back(
          Declare(absl::StrCat("batch_", flat_.indices[plan_.batch[b]].name), digits[b]));
    }
    ExprPtr row, column;
    if (rows <= kBand) {
      row = loop::Mod(Var("tile"), Number(rows));
      column = loop::Div(Var("tile"), Number(rows));
    } else {
      // The last band may have fewer rows.
      statements.push_back(Declare("band", loop::Div(Var("tile"), Number(kBand * columns))));
      statements.push_back(Declare("in_band", loop::Mod(Var("tile"), Number(kBand * columns))));
      const int64_t last = rows % kBand == 0 ? kBand : rows % kBand;
      const ExprPtr is_last = loop::Equals(Var("band"), Number(rows / kBand));
      const auto of = [&](int64_t width, bool is_row) {
        return is_row ? loop::Mod(Var("in_band"), Number(width))
                      : loop::Div(Var("in_band"), Number(width));
      };
      const auto choose = [&](bool is_row) {
        return last == kBand ? of(kBand, is_row)
                             : loop::Select(is_last, of(last, is_row), of(kBand, is_row));
      };
      row = loop::Add(loop::Mul(Var("band"), Number(kBand)), choose(true));
      column = choose(false);
    }
    statements.push_back(Declare("row_base", loop::Mul(row, Number(plan_.row_tile))));
    statements.push_back(Declare("column_base", loop::Mul(column, Number(plan_.result_columns()))));
    return statements;
  }

  // Issues the MMA instructions for the tiles of a step, which are in the buffer of a stage.
  std::vector<StmtPtr> Multiply(const ExprPtr& step, const ExprPtr& stage) const {
    std::vector<StmtPtr> statements;
    const DataType type = ElementType(plan_.format);
    const MatrixTile left = plan_.left_tile();
    const ExprPtr begin = loop::Add(loop::Add(loop::Mul(stage, Number(plan_.stage_size())),
                                              loop::Mul(Var("slice"), Number(plan_.slice_size()))),
                                    Number(plan_.resident_size()));
    const bool is_resident = plan_.resident_steps > 0;
    const ExprPtr left_begin = is_resident ? loop::Mul(step, Number(left.size())) : begin;
    const ExprPtr right_begin = is_resident ? begin : loop::Add(begin, Number(left.size()));
    for (int64_t block = 0; block < plan_.blocks(); ++block) {
      const ExprPtr rows =
          loop::Add(loop::Mul(Var("warp_group"), Number(plan_.blocks())), Number(block));
      loop::MultiplyTiles product;
      product.accumulators =
          loop::LoadFrom("total", DataType::kFloat32, Number(block * plan_.column_tile / 2));
      product.left = loop::LoadFrom(
          "tiles", type,
          loop::Add(left_begin, loop::Mul(rows, Number(MatrixPlan::kUnitRows * left.depth()))));
      product.right = loop::LoadFrom("tiles", type, right_begin);
      product.format = plan_.format;
      product.columns = static_cast<int>(plan_.column_tile);
      product.left_along_rows = plan_.left.along_rows;
      product.right_along_columns = plan_.right.along_rows;
      statements.push_back(loop::MakeMultiplyTiles(std::move(product)));
    }
    return statements;
  }

  // Copies the tiles of all steps asynchronously, then multiplies all of them.
  std::vector<StmtPtr> StepsAtOnce() const {
    const ExprPtr step = Var("step");
    const auto for_all = [&](std::vector<StmtPtr> body) {
      return loop::MakeFor("step", Number(0), Number(plan_.stages), loop::MakeBlock(body));
    };
    std::vector<StmtPtr> copy, round;
    for (const MmaOperandLoader& operand : operands_) {
      Append(operand.Copy(step, step), &copy);
      if (operand.plan().is_rounded) Append(operand.Round(step, ""), &round);
    }
    std::vector<StmtPtr> statements = {for_all(std::move(copy)), loop::MakeEndCopies(),
                                       loop::MakeAwaitCopies(0)};
    if (!round.empty()) statements.push_back(for_all(std::move(round)));
    statements.push_back(loop::MakeMmaBarrier());
    statements.push_back(for_all(Multiply(step, step)));
    statements.push_back(loop::MakeAwaitTiles());
    return statements;
  }

  // Software pipelining with asynchronous copies, several stages ahead.
  std::vector<StmtPtr> CopiedSteps() const {
    const int64_t steps = plan_.StepCount(flat_);
    const auto copy = [&](const ExprPtr& step, const ExprPtr& stage) {
      std::vector<StmtPtr> statements;
      for (const MmaOperandLoader& operand : operands_) {
        Append(operand.Copy(step, stage), &statements);
      }
      return statements;
    };
    std::vector<StmtPtr> statements;
    const ExprPtr ahead = Var("ahead");
    const int64_t first = std::min(plan_.stages - 1, steps);
    const int pending = static_cast<int>(plan_.stages) - 2;
    std::vector<StmtPtr> early, begin;
    for (const MmaOperandLoader& operand : operands_) {
      Append(operand.Copy(ahead, ahead), operand.plan().is_early ? &early : &begin);
    }
    begin.push_back(loop::MakeEndCopies());
    const auto for_all_ahead = [&](std::vector<StmtPtr> body) {
      return loop::MakeFor("ahead", Number(0), Number(first), loop::MakeBlock(std::move(body)));
    };
    if (!early.empty()) statements.push_back(loop::MakeEarly(for_all_ahead(std::move(early))));
    statements.push_back(for_all_ahead(std::move(begin)));
    for (int64_t missing = first; missing < plan_.stages - 1; ++missing) {
      statements.push_back(loop::MakeEndCopies());
    }
    statements.push_back(loop::MakeAwaitCopies(pending));
    Append(Round(Number(0), "_first"), &statements);
    const ExprPtr step = Var("step");
    std::vector<StmtPtr> body = {loop::MakeMmaBarrier(),
                                 Declare("stage", loop::Mod(step, Number(plan_.stages)))};
    Append(Multiply(step, Var("stage")), &body);
    body.push_back(Declare("later", loop::Add(step, Number(plan_.stages - 1))));
    body.push_back(Declare("free", loop::Mod(Var("later"), Number(plan_.stages))));
    body.push_back(loop::MakeIf(loop::Less(Var("later"), Number(steps)),
                                loop::MakeBlock(copy(Var("later"), Var("free")))));
    body.push_back(loop::MakeEndCopies());
    body.push_back(loop::MakeAwaitCopies(pending));
    body.push_back(Declare("next_step", loop::Add(step, Number(1))));
    AppendIf(loop::Less(Var("next_step"), Number(steps)),
             Round(loop::Mod(Var("next_step"), Number(plan_.stages)), ""), &body);
    body.push_back(loop::MakeAwaitTiles());
    statements.push_back(
        loop::MakeFor("step", Number(0), Number(steps), loop::MakeBlock(std::move(body))));
    return statements;
  }

  // Software pipelining through registers: the next step's tiles are loaded during this step's
  // MMAs.
  std::vector<StmtPtr> FetchedSteps() const {
    const int64_t steps = plan_.StepCount(flat_);
    std::vector<StmtPtr> statements;
    std::vector<StmtPtr> first;
    AppendFetch(Number(0), Number(0), &first);
    AppendPut(Number(0), &first);
    // A loop of one iteration gives the names a scope.
    statements.push_back(
        loop::MakeFor("first", Number(0), Number(1), loop::MakeBlock(std::move(first))));
    statements.push_back(loop::MakeAwaitCopies(0));
    Append(Round(Number(0), "_first"), &statements);
    statements.push_back(loop::MakeMmaBarrier());
    const ExprPtr step = Var("step");
    std::vector<StmtPtr> body = {Declare("stage", loop::Mod(step, Number(2))),
                                 Declare("other", loop::Sub(Number(1), Var("stage"))),
                                 Declare("next_step", loop::Add(step, Number(1)))};
    const ExprPtr has_next = loop::Less(Var("next_step"), Number(steps));
    for (const MmaOperandLoader& operand : operands_) {
      if (!operand.plan().is_copied) Append(operand.DeclareNext(), &body);
    }
    std::vector<StmtPtr> fetch;
    AppendFetch(Var("next_step"), Var("other"), &fetch, /*declares=*/false);
    body.push_back(loop::MakeIf(has_next, loop::MakeBlock(std::move(fetch))));
    Append(Multiply(step, Var("stage")), &body);
    std::vector<StmtPtr> put;
    AppendPut(Var("other"), &put);
    AppendIf(has_next, std::move(put), &body);
    body.push_back(loop::MakeAwaitCopies(0));
    AppendIf(has_next, Round(Var("other"), ""), &body);
    body.push_back(loop::MakeAwaitTiles());
    body.push_back(loop::MakeMmaBarrier());
    statements.push_back(
        loop::MakeFor("step", Number(0), Number(steps), loop::MakeBlock(std::move(body))));
    return statements;
  }

  static void AppendIf(const ExprPtr& condition, std::vector<StmtPtr> body,
                       std::vector<StmtPtr>* to) {
    if (!body.empty()) to->push_back(loop::MakeIf(condition, loop::MakeBlock(std::move(body))));
  }

  // Rounds the copied tiles in the buffer of a stage; `suffix` ends the names of variables.
  std::vector<StmtPtr> Round(const ExprPtr& stage, const std::string& suffix) const {
    std::vector<StmtPtr> statements;
    for (const MmaOperandLoader& operand : operands_) {
      if (operand.plan().is_rounded) Append(operand.Round(stage, suffix), &statements);
    }
    return statements;
  }

  void AppendFetch(const ExprPtr& step, const ExprPtr& stage, std::vector<StmtPtr>* statements,
                   bool declares = true) const {
    for (const MmaOperandLoader& operand : operands_) {
      if (operand.plan().is_copied) {
        Append(operand.Copy(step, stage), statements);
        statements->push_back(loop::MakeEndCopies());
        continue;
      }
      if (declares) Append(operand.DeclareNext(), statements);
      Append(operand.Fetch(step), statements);
    }
  }

  void AppendPut(const ExprPtr& stage, std::vector<StmtPtr>* statements) const {
    for (const MmaOperandLoader& operand : operands_) {
      if (!operand.plan().is_copied) Append(operand.Put(stage), statements);
    }
  }

  const poly::FlatContraction& flat_;
  const MatrixPlan& plan_;
  const std::string held_;  // the array in which results stay; "": none
  std::vector<ExprPtr> batch_values_;
  std::vector<MmaOperandLoader> operands_;
};

}  // namespace

loop::Kernel LowerMmaKernel(const poly::FlatContraction& flat, const MatrixPlan& plan,
                            const std::string& name, const LowerOptions& options) {
  return MmaLowerer(flat, plan, IndexTypeOf(flat, options)).Lower(name);
}

StmtPtr DeclareMmaTiles(const MatrixPlan& plan, int64_t size) {
  return loop::MakeArray({ElementType(plan.format), 1}, "tiles", size, loop::Space::kLocal, "",
                         MatrixTile::kVectors * MatrixTile::kLineBytes);
}

std::vector<StmtPtr> LowerMmaPart(const poly::FlatContraction& flat, const MatrixPlan& plan,
                                  DataType index_type, const GroupOrigins& origins,
                                  const std::string& held) {
  return MmaLowerer(flat, plan, index_type, &origins, held).LowerPart();
}

}  // namespace tartan::lower
