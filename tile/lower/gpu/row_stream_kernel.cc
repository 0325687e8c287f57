// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/gpu/few_rows_kernel.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::RowStreamPlan;

constexpr int kCopied = 4;  // elements per vector of an asynchronous copy
// maximum unrolling (empirical): the loads of the unrolled iterations overlap
constexpr int64_t kUnrolled = 8;

class RowStreamLowerer : FewRowsLowerer {
 public:
  RowStreamLowerer(const poly::FlatContraction& flat, const RowStreamPlan& plan,
                   const LowerOptions& options)
      : FewRowsLowerer(flat, plan, options), plan_(plan), sharers_(plan.Sharers(flat)) {}

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginGroupKernel(flat_, plan_, name, index_type_);
    std::vector<StmtPtr> body = {DeclareLocal("weights", plan_.WeightsSize(flat_)),
                                 DeclareLocal("rows", plan_.RowsSize(flat_)),
                                 DeclareLocal("partials", plan_.PartialsSize(flat_)),
                                 DeclareLocal("slices", plan_.SlicesSize(flat_)),
                                 Declare("item", loop::Work(loop::WorkId::kLocal, 0, index_type_)),
                                 Declare("block", loop::Work(loop::WorkId::kGroup, 0, index_type_)),
                                 loop::MakeEarly(CopyWeights()),
                                 loop::MakeEndCopies(),
                                 LoadRows(),
                                 loop::MakeAwaitCopies(0),
                                 loop::MakeBarrier(),
                                 Multiply(),
                                 loop::MakeBarrier(),
                                 AddSharers(),
                                 loop::MakeBarrier(),
                                 StoreResults()};
    kernel.body = loop::MakeBlock(std::move(body));
    return kernel;
  }

 private:
  StmtPtr ForNumbers(const std::string& round, int64_t count,
                     std::vector<StmtPtr> statements) const {
    return ForEach("number", round, count, std::move(statements));
  }

  StmtPtr CopyWeights() const {
    const int64_t size = plan_.WeightsSize(flat_);
    const ExprPtr at = loop::Mul(Var("number"), Number(kCopied));
    const ExprPtr from = loop::Add(loop::Mul(Var("block"), Number(size)), at);
    const int tensor = flat_.accesses[plan_.weights_access].tensor;
    return ForNumbers("copy", size / kCopied,
                      {loop::MakeCopyVector(loop::LoadFrom("weights", kFloat, at, kCopied, true),
                                            loop::LoadFrom(absl::StrCat("in", tensor), kFloat, from,
                                                           kCopied, true))});
  }

  StmtPtr LoadRows() const {
    std::vector<StmtPtr> body;
    IndexEmitter indices = Zeros();
    SetDigits(plan_.rows, loop::Div(Var("number"), Number(k_size_)), "row", &indices, &body);
    SetDigits(plan_.reduced, loop::Mod(Var("number"), Number(k_size_)), "k", &indices, &body);
    body.push_back(loop::MakeStore("rows", kFloat, Var("number"), LoadRow(indices)));
    return ForNumbers("load", plan_.RowsSize(flat_), std::move(body));
  }

  // Multiplies each work-item's vector of columns at its positions along K.
  StmtPtr Multiply() const {
    const int64_t vectors = columns_ / plan_.vector;
    const int lanes = static_cast<int>(plan_.vector);
    const loop::Type type = {kFloat, lanes};
    const ExprPtr column = loop::Mul(Var("own_vector"), Number(plan_.vector));
    std::vector<StmtPtr> products;
    products.push_back(loop::MakeDeclare(
        type, "weight",
        loop::LoadFrom("weights", kFloat, loop::Add(loop::Mul(Var("k"), Number(columns_)), column),
                       lanes, true)));
    for (int64_t row = 0; row < rows_; ++row) {
      const ExprPtr factor =
          loop::LoadFrom("rows", kFloat, loop::Add(Number(row * k_size_), Var("k")));
      products.push_back(loop::MakeAssign(
          Total(row),
          loop::MulAdd(factor, loop::Var("weight", type), loop::Var(Total(row), type))));
    }
    const int64_t rounds = plan::TilesOf(k_size_, sharers_);
    const int64_t whole = k_size_ / sharers_;
    const auto at = [&](const ExprPtr& turn) {
      return Declare("k", loop::Add(loop::Mul(turn, Number(sharers_)), Var("sharer")));
    };
    std::vector<StmtPtr> body;
    for (int64_t row = 0; row < rows_; ++row) {
      body.push_back(loop::MakeDeclare(type, Total(row), loop::Splat(loop::Float(0), lanes), true));
    }
    int64_t unrolled = kUnrolled;
    while (unrolled > 1 && whole % unrolled != 0) --unrolled;
    std::vector<StmtPtr> turn = {
        at(unrolled == 1 ? Var("turns") : loop::Add(Var("turns"), Var("turn")))};
    turn.insert(turn.end(), products.begin(), products.end());
    StmtPtr turns = loop::MakeBlock(std::move(turn));
    if (unrolled > 1) turns = loop::MakeFor("turn", Number(0), Number(unrolled), turns, 1, true);
    if (whole > 0) {
      body.push_back(loop::MakeFor("turns", Number(0), Number(whole), std::move(turns), unrolled));
    }
    if (rounds > whole) {
      const StmtPtr last =
          loop::MakeIf(loop::Less(Var("k"), Number(k_size_)), loop::MakeBlock(std::move(products)));
      body.push_back(loop::MakeFor("rest", Number(whole), Number(rounds),
                                   loop::MakeBlock({at(Var("rest")), last})));
    }
    for (int64_t row = 0; row < rows_; ++row) {
      const ExprPtr place =
          loop::Add(loop::Mul(loop::Add(loop::Mul(Var("sharer"), Number(rows_)), Number(row)),
                              Number(columns_)),
                    column);
      body.push_back(loop::MakeStore("partials", kFloat, place, loop::Var(Total(row), type), true));
    }
    StmtPtr all = loop::MakeBlock(std::move(body));
    if (sharers_ * vectors < plan_.threads()) {
      all = loop::MakeIf(loop::Less(Var("sharer"), Number(sharers_)), std::move(all));
    }
    return loop::MakeBlock({Declare("own_vector", loop::Mod(Var("item"), Number(vectors))),
                            Declare("sharer", loop::Div(Var("item"), Number(vectors))), all});
  }

  static std::string Total(int64_t row) { return absl::StrCat("total", row); }

  // Adds up an element's partial sums: each of kSlices sums takes every kSlices-th sharer.
  StmtPtr AddSharers() const {
    const int64_t elements = rows_ * columns_;
    const loop::Type type = {kFloat, 1};
    const ExprPtr slice = loop::Div(Var("number"), Number(elements));
    std::vector<StmtPtr> body = {loop::MakeDeclare(type, "sum", loop::Float(0), true),
                                 Declare("slice", slice),
                                 Declare("element", loop::Mod(Var("number"), Number(elements)))};
    for (int64_t first = 0; first < sharers_; first += RowStreamPlan::kSlices) {
      const ExprPtr sharer = loop::Add(Number(first), Var("slice"));
      const ExprPtr value = loop::LoadFrom(
          "partials", kFloat, loop::Add(loop::Mul(sharer, Number(elements)), Var("element")));
      StmtPtr add = loop::MakeAssign("sum", loop::Add(loop::Var("sum", type), value));
      if (first + RowStreamPlan::kSlices > sharers_) {
        add = loop::MakeIf(loop::Less(sharer, Number(sharers_)), std::move(add));
      }
      body.push_back(std::move(add));
    }
    body.push_back(loop::MakeStore("slices", kFloat, Var("number"), loop::Var("sum", type)));
    return ForNumbers("part", plan_.SlicesSize(flat_), std::move(body));
  }

  StmtPtr StoreResults() const {
    const int64_t elements = rows_ * columns_;
    std::vector<StmtPtr> body;
    IndexEmitter indices = Zeros();
    SetDigits(plan_.rows, loop::Div(Var("number"), Number(columns_)), "at", &indices, &body);
    body.push_back(Declare("column", loop::Mod(Var("number"), Number(columns_))));
    indices.Set(plan_.block, Var("block"));
    indices.Set(plan_.column, Var("column"));
    const Position here(flat_.indices.size(), 0);
    ExprEmitter outside(flat_, indices, {}, {here}, "c", &body);
    outside.MoveTo(here);
    const ExprPtr condition = outside.EmitConditions(flat_.store_guard);
    ExprPtr sum = loop::LoadFrom("slices", kFloat, Var("number"));
    for (int64_t slice = 1; slice < RowStreamPlan::kSlices; ++slice) {
      sum = loop::Add(sum, loop::LoadFrom("slices", kFloat,
                                          loop::Add(Var("number"), Number(slice * elements))));
    }
    std::vector<StmtPtr> inner = {loop::MakeDeclare({kFloat, 1}, "sum", sum)};
    StoreOutputs(indices, {Float("sum")}, {}, -1, nullptr, &inner);
    StmtPtr element = loop::MakeBlock(std::move(inner));
    if (condition != nullptr) element = loop::MakeIf(condition, std::move(element));
    body.push_back(std::move(element));
    return ForNumbers("result", elements, std::move(body));
  }

  const RowStreamPlan& plan_;
  const int64_t sharers_;
};

}  // namespace

loop::Kernel LowerFewRows(const poly::FlatContraction& flat, const RowStreamPlan& plan,
                          const std::string& name, const LowerOptions& options) {
  return RowStreamLowerer(flat, plan, options).Lower(name);
}

}  // namespace tartan::lower
