// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/row_stream_kernel.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/lower/gpu/begin_kernel.h"
#include "tile/lower/gpu/mma_operand.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::RowStreamPlan;

constexpr DataType kStreamed = DataType::kFloat32;
constexpr int kCopied = 4;  // elements per vector of an asynchronous copy
// maximum unrolling (empirical): the loads of the unrolled iterations overlap
constexpr int64_t kUnrolled = 8;

class RowStreamLowerer : IndexBuilder {
 public:
  RowStreamLowerer(const poly::FlatContraction& flat, const RowStreamPlan& plan,
                   const LowerOptions& options)
      : IndexBuilder(IndexTypeOf(flat, options)),
        flat_(flat),
        plan_(plan),
        rows_(plan.RowCount(flat)),
        columns_(plan.ColumnCount(flat)),
        k_size_(plan.KSize(flat)),
        sharers_(plan.Sharers(flat)) {}

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
  StmtPtr DeclareLocal(const std::string& name, int64_t size) const {
    return loop::MakeArray({kStreamed, 1}, name, size, loop::Space::kLocal);
  }

  // Statements for each "number" below the count, distributed over the work-items.
  StmtPtr ForEach(const std::string& round, int64_t count, std::vector<StmtPtr> statements) const {
    const int64_t threads = plan_.threads();
    const int64_t rounds = plan::TilesOf(count, threads);
    StmtPtr body = loop::MakeBlock(std::move(statements));
    if (count % threads != 0) body = loop::MakeIf(loop::Less(Var("number"), Number(count)), body);
    const StmtPtr number =
        Declare("number", loop::Add(loop::Mul(Var(round), Number(threads)), Var("item")));
    return loop::MakeFor(round, Number(0), Number(rounds), loop::MakeBlock({number, body}));
  }

  StmtPtr CopyWeights() const {
    const int64_t size = plan_.WeightsSize(flat_);
    const ExprPtr at = loop::Mul(Var("number"), Number(kCopied));
    const ExprPtr from = loop::Add(loop::Mul(Var("block"), Number(size)), at);
    const int tensor = flat_.accesses[plan_.weights_access].tensor;
    return ForEach("copy", size / kCopied,
                   {loop::MakeCopyVector(loop::LoadFrom("weights", kStreamed, at, kCopied, true),
                                         loop::LoadFrom(absl::StrCat("in", tensor), kStreamed, from,
                                                        kCopied, true))});
  }

  StmtPtr LoadRows() const {
    const poly::TensorAccess& read = flat_.accesses[plan_.rows_access];
    const TensorShape& shape = flat_.tensors[read.tensor].shape;
    const int count = static_cast<int>(flat_.indices.size());
    std::vector<StmtPtr> body;
    IndexEmitter indices(flat_, index_type_);
    for (int i = 0; i < count; ++i) indices.Set(i, Number(0));
    SetDigits(plan_.rows, loop::Div(Var("number"), Number(k_size_)), "row", &indices, &body);
    SetDigits(plan_.reduced, loop::Mod(Var("number"), Number(k_size_)), "k", &indices, &body);
    const math::Affine place = poly::AsAffine(poly::Flatten(flat_, plan_.rows_access));
    body.push_back(loop::MakeStore(
        "rows", kStreamed, Var("number"),
        loop::LoadFrom(absl::StrCat("in", read.tensor), shape.type, indices.Emit(place))));
    return ForEach("load", plan_.RowsSize(flat_), std::move(body));
  }

  void SetDigits(const std::vector<int>& list, const ExprPtr& number, const std::string& prefix,
                 IndexEmitter* indices, std::vector<StmtPtr>* statements) const {
    const std::vector<ExprPtr> digits = Digits(flat_, list, number, index_type_);
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string name = absl::StrCat(prefix, "_", flat_.indices[list[i]].name);
      statements->push_back(Declare(name, digits[i]));
      indices->Set(list[i], Var(name));
    }
  }

  // Multiplies each work-item's vector of columns at its positions along K.
  StmtPtr Multiply() const {
    const int64_t vectors = columns_ / plan_.vector;
    const int lanes = static_cast<int>(plan_.vector);
    const loop::Type type = {kStreamed, lanes};
    const ExprPtr column = loop::Mul(Var("own_vector"), Number(plan_.vector));
    std::vector<StmtPtr> products;
    products.push_back(loop::MakeDeclare(
        type, "weight",
        loop::LoadFrom("weights", kStreamed,
                       loop::Add(loop::Mul(Var("k"), Number(columns_)), column), lanes, true)));
    for (int64_t row = 0; row < rows_; ++row) {
      const ExprPtr factor =
          loop::LoadFrom("rows", kStreamed, loop::Add(Number(row * k_size_), Var("k")));
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
      body.push_back(
          loop::MakeStore("partials", kStreamed, place, loop::Var(Total(row), type), true));
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
    const loop::Type type = {kStreamed, 1};
    const ExprPtr slice = loop::Div(Var("number"), Number(elements));
    std::vector<StmtPtr> body = {loop::MakeDeclare(type, "sum", loop::Float(0), true),
                                 Declare("slice", slice),
                                 Declare("element", loop::Mod(Var("number"), Number(elements)))};
    for (int64_t first = 0; first < sharers_; first += RowStreamPlan::kSlices) {
      const ExprPtr sharer = loop::Add(Number(first), Var("slice"));
      const ExprPtr value = loop::LoadFrom(
          "partials", kStreamed, loop::Add(loop::Mul(sharer, Number(elements)), Var("element")));
      StmtPtr add = loop::MakeAssign("sum", loop::Add(loop::Var("sum", type), value));
      if (first + RowStreamPlan::kSlices > sharers_) {
        add = loop::MakeIf(loop::Less(sharer, Number(sharers_)), std::move(add));
      }
      body.push_back(std::move(add));
    }
    body.push_back(loop::MakeStore("slices", kStreamed, Var("number"), loop::Var("sum", type)));
    return ForEach("part", plan_.SlicesSize(flat_), std::move(body));
  }

  StmtPtr StoreResults() const {
    const int64_t elements = rows_ * columns_;
    std::vector<StmtPtr> body;
    IndexEmitter indices(flat_, index_type_);
    SetDigits(plan_.rows, loop::Div(Var("number"), Number(columns_)), "at", &indices, &body);
    body.push_back(Declare("column", loop::Mod(Var("number"), Number(columns_))));
    indices.Set(plan_.block, Var("block"));
    indices.Set(plan_.column, Var("column"));
    for (int i : plan_.reduced) indices.Set(i, Number(0));
    const Position here(flat_.indices.size(), 0);
    ExprEmitter outside(flat_, indices, {}, {here}, "c", &body);
    outside.MoveTo(here);
    const ExprPtr condition = outside.EmitConditions(flat_.store_guard);
    ExprPtr sum = loop::LoadFrom("slices", kStreamed, Var("number"));
    for (int64_t slice = 1; slice < RowStreamPlan::kSlices; ++slice) {
      sum = loop::Add(sum, loop::LoadFrom("slices", kStreamed,
                                          loop::Add(Var("number"), Number(slice * elements))));
    }
    std::vector<StmtPtr> inner = {loop::MakeDeclare({kStreamed, 1}, "sum", sum)};
    ExprEmitter emitter(flat_, indices, {}, {here}, "e", &inner);
    emitter.Assume(flat_.store_guard);
    emitter.LoadUnconditionally();
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here, {loop::Var("sum", {kStreamed, 1})});
    const int count = static_cast<int>(flat_.indices.size());
    const math::Affine place =
        poly::AsAffine(poly::Flatten(flat_.output_coords, flat_.output_dims, count));
    std::vector<StmtPtr> stores;
    for (size_t o = 0; o < flat_.outputs.size(); ++o) {
      stores.push_back(loop::MakeStore(absl::StrCat("out", o), flat_.outputs[o].shape.type,
                                       indices.Emit(place), emitter.Emit(flat_.outputs[o].expr)));
    }
    for (StmtPtr& store : stores) inner.push_back(std::move(store));
    StmtPtr element = loop::MakeBlock(std::move(inner));
    if (condition != nullptr) element = loop::MakeIf(condition, std::move(element));
    body.push_back(std::move(element));
    return ForEach("result", elements, std::move(body));
  }

  const poly::FlatContraction& flat_;
  const RowStreamPlan& plan_;
  const int64_t rows_, columns_, k_size_, sharers_;
};

}  // namespace

loop::Kernel LowerRowStream(const poly::FlatContraction& flat, const RowStreamPlan& plan,
                            const std::string& name, const LowerOptions& options) {
  return RowStreamLowerer(flat, plan, options).Lower(name);
}

}  // namespace tartan::lower
