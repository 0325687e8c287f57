// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/blocked_rows.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/rows/online_softmax_state.h"
#include "tile/lower/rows/row_matmul.h"
#include "tile/lower/rows/row_stage.h"

namespace tartan::lower {
namespace {

using loop::StmtPtr;
using poly::OnlineRole;

// The statement without its local arrays, which are appended to `arrays`. A kernel declares them
// only in its outermost scope.
StmtPtr TakeArrays(const StmtPtr& statement, std::vector<StmtPtr>* arrays) {
  const auto* block = std::get_if<loop::Block>(&statement->node);
  if (block == nullptr) return statement;
  std::vector<StmtPtr> others;
  for (const StmtPtr& inner : block->statements) {
    const auto* array = std::get_if<loop::DeclareArray>(&inner->node);
    if (array != nullptr && array->space == loop::Space::kLocal) {
      arrays->push_back(inner);
    } else {
      others.push_back(TakeArrays(inner, arrays));
    }
  }
  return loop::MakeBlock(std::move(others));
}

// The parts of a matmul: once before the loop over blocks, per whole block, for the remainder
// (`rest_`) after the last whole block, and once after the loop.
struct WalkedProduct {
  StmtPtr before, turn, rest_before, rest_turn, after;
};

class WalkLowerer {
 public:
  WalkLowerer(const RowStages& stages, const plan::RowGroupPlan& plan)
      : stages_(stages), plan_(plan), has_rest_(!plan.walk->rest.empty()) {}

  std::vector<StmtPtr> Run() {
    std::vector<StmtPtr> all = OnlineSoftmaxState(stages_, plan_).Declare();
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (plan_.stages[s].product.has_value() && poly::IsInKeyLoop(plan_.stages[s].role)) {
        AddProduct(s, &all);
      }
    }
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (plan_.stages[s].role == OnlineRole::kBefore) AddOnce(s, &all);
    }
    const int64_t count = plan_.walk->Count();
    all.push_back(Walk(0, count, plan_.stages, /*is_rest=*/false));
    if (has_rest_) all.push_back(Walk(count, count + 1, plan_.walk->rest, /*is_rest=*/true));
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      if (plan_.stages[s].role == OnlineRole::kAfter) AddOnce(s, &all);
      if (products_.count(s) == 0 || products_[s].after == nullptr) continue;
      all.push_back(products_[s].after);
      AddBarrier(s, plan_.stages[s], &all);
    }
    return all;
  }

 private:
  void AddBarrier(size_t s, const plan::RowGroupStage& stage, std::vector<StmtPtr>* to) const {
    if (!stage.is_read_from_memory || plan_.Threads() == 1) return;
    to->push_back(loop::MakeBarrier(stages_.IsReadFromBuffers(s)));
  }

  // A stage outside the loop over blocks.
  void AddOnce(size_t s, std::vector<StmtPtr>* to) {
    const plan::RowGroupStage& stage = plan_.stages[s];
    if (stage.product.has_value()) {
      Append(LowerRowMatmul(stages_, s, stage).compute, to);
    } else {
      AddRows(s, stage, to);
    }
    AddBarrier(s, stage, to);
  }

  void AddRows(size_t s, const plan::RowGroupStage& stage, std::vector<StmtPtr>* to) {
    const poly::FlatContraction& flat = stage.block.flat;
    bool& is_odd = is_odd_[flat.accumulator_type];
    to->push_back(LowerRowStage(stages_, plan_, {s, stage}, is_odd));
    if (flat.is_reduction()) is_odd = !is_odd;
  }

  StmtPtr Walk(int64_t begin, int64_t end, const std::vector<plan::RowGroupStage>& stages,
               bool is_rest) {
    std::vector<StmtPtr> turn;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (!poly::IsInKeyLoop(stages[s].role)) continue;
      const auto product = products_.find(s);
      if (product == products_.end()) {
        AddRows(s, stages[s], &turn);
      } else {
        turn.push_back(is_rest ? product->second.rest_turn : product->second.turn);
        if (stages[s].role == OnlineRole::kSum) continue;  // the sums stay in registers
      }
      AddBarrier(s, stages[s], &turn);
    }
    // The next iteration overwrites what this one reads.
    if (plan_.Threads() > 1) turn.push_back(loop::MakeBarrier());
    return loop::MakeFor(RowStages::RowName(plan_.rows.size()), stages_.Number(begin),
                         stages_.Number(end), loop::MakeBlock(std::move(turn)));
  }

  void AddProduct(size_t s, std::vector<StmtPtr>* all) {
    WalkedProduct product = Lower(s, plan_.stages[s]);
    if (has_rest_) {
      WalkedProduct rest = Lower(s, plan_.walk->rest[s]);
      loop::Renaming names;
      for (const std::string& name :
           loop::DeclaredNames(loop::MakeBlock({rest.before, rest.turn}))) {
        names[name] = absl::StrCat("rest_", name);
      }
      product.rest_before = loop::Rename(rest.before, names);
      product.rest_turn = loop::Rename(rest.turn, names);
    }
    Name(s, &product);
    for (StmtPtr* part : {&product.before, &product.rest_before}) {
      if (*part != nullptr) all->push_back(*part);
    }
    for (StmtPtr* part : {&product.turn, &product.rest_turn}) {
      if (*part != nullptr) *part = TakeArrays(*part, all);
    }
    products_[s] = std::move(product);
  }

  // The parts with the names of the stage's own kernel. Only the plan for whole blocks declares the
  // running sums.
  WalkedProduct Lower(size_t s, const plan::RowGroupStage& stage) const {
    const bool is_sum = stage.role == OnlineRole::kSum;
    const Rescaling rescaling = {kRescales, stage.block.rows[plan_.rows.size() - 1]};
    GroupKeyLoop turns = LowerGroupKeyLoop(
        stage.block.flat, *stage.ByWorkItems(), stages_.IndexType().element,
        OriginsOf(stages_, stage), !stages_.ReadsWhatIsWritten(s), is_sum ? &rescaling : nullptr);
    WalkedProduct product;
    if (is_sum) {
      if (&stage == &plan_.stages[s]) Append(std::move(turns.sums), &turns.declare);
      product.after = loop::MakeBlock(std::move(turns.store));
    } else {
      Append(std::move(turns.turn), &turns.sums);
      Append(std::move(turns.store), &turns.sums);
      turns.turn = std::move(turns.sums);
    }
    product.before = loop::MakeBlock(std::move(turns.declare));
    product.turn = loop::MakeBlock(std::move(turns.turn));
    return product;
  }

  // Renames all parts at once to the names of the fused kernel, because they share declarations.
  void Name(size_t s, WalkedProduct* product) const {
    std::vector<StmtPtr*> parts;
    std::vector<StmtPtr> statements;
    for (StmtPtr* part : {&product->before, &product->turn, &product->rest_before,
                          &product->rest_turn, &product->after}) {
      if (*part == nullptr) continue;
      parts.push_back(part);
      statements.push_back(*part);
    }
    statements = stages_.Named(s, std::move(statements));
    for (size_t p = 0; p < parts.size(); ++p) *parts[p] = std::move(statements[p]);
  }

  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
  const bool has_rest_;
  std::map<size_t, WalkedProduct> products_;
  std::map<DataType, bool> is_odd_;
};

}  // namespace

std::vector<StmtPtr> LowerBlockedRows(const RowStages& stages, const plan::RowGroupPlan& plan) {
  return WalkLowerer(stages, plan).Run();
}

}  // namespace tartan::lower
