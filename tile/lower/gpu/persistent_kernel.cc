// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/persistent_kernel.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/lower/gpu/begin_kernel.h"
#include "tile/lower/gpu/mma_operand.h"
#include "tile/lower/gpu/resident_weights.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::PersistentPlan;

constexpr DataType kRow = DataType::kFloat32;
constexpr int kRowLanes = PersistentPlan::kVector;

class PersistentLowerer : IndexBuilder {
 public:
  PersistentLowerer(const poly::FlatContraction& flat, const PersistentPlan& plan,
                    const LowerOptions& options)
      : IndexBuilder(IndexTypeOf(flat, options)),
        flat_(flat),
        plan_(plan),
        rows_(plan.RowCount(flat)),
        columns_(plan.ColumnCount(flat)),
        k_size_(plan.KSize(flat)),
        parts_(plan.Parts(flat)),
        own_k_(plan.OwnK(flat)),
        joined_(flat.accumulators_per_element()),
        padded_k_(plan.sharers * own_k_),
        padded_columns_(plan.columns * parts_),
        weights_(flat, plan, index_type_) {}

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginGroupKernel(flat_, plan_, name, index_type_);
    std::vector<StmtPtr> body = Declarations();
    body.push_back(loop::MakeOnce(loop::MakeBlock(PlanPersistentRnn())));
    if (IsOneRound()) ReadAhead(&body);
    StmtPtr rows = LoadRows();
    if (plan_.carried_output >= 0) {
      rows = loop::MakeFetch(First(RowsTensor(), flat_.tensors[RowsTensor()].shape.type, "in"),
                             First(plan_.carried_output, kRow, "out"), std::move(rows));
    }
    body.push_back(std::move(rows));
    body.push_back(loop::MakeBarrier());
    Multiply(&body);
    body.push_back(StorePartials());
    body.push_back(loop::MakeBarrier());
    body.push_back(StoreResults());
    kernel.body = loop::MakeBlock(std::move(body));
    return kernel;
  }

 private:
  static ExprPtr Float(const std::string& name) { return loop::Var(name, {kRow, 1}); }

  int RowsTensor() const { return flat_.accesses[plan_.rows_access].tensor; }
  ExprPtr First(int number, DataType stored, const std::string& kind) const {
    return loop::LoadFrom(absl::StrCat(kind, number), stored, Number(0));
  }

  int64_t ElementCount() const { return rows_ * columns_; }
  // Work-items that have a share of the columns and of K. The others repeat the last one's work
  // without storing it.
  int64_t BusyItems() const { return plan_.sharers * parts_; }
  bool IsOneRound() const { return ElementCount() <= plan_.threads(); }

  // Statements for each `number` below the count, distributed over the work-items.
  StmtPtr ForEach(const std::string& number, int64_t count, std::vector<StmtPtr> statements) const {
    const int64_t threads = plan_.threads();
    const std::string round = absl::StrCat(number, "_round");
    StmtPtr body = loop::MakeBlock(std::move(statements));
    if (count % threads != 0) body = loop::MakeIf(loop::Less(Var(number), Number(count)), body);
    const StmtPtr declare =
        Declare(number, loop::Add(loop::Mul(Var(round), Number(threads)), Var("item")));
    return loop::MakeFor(round, Number(0), Number(plan::TilesOf(count, threads)),
                         loop::MakeBlock({declare, body}));
  }

  static std::string Total(int64_t row, int64_t sum) {
    return absl::StrCat("total", row, "_", sum);
  }

  std::vector<StmtPtr> Declarations() const {
    const auto declare_local = [&](const std::string& name, int64_t size) {
      return loop::MakeArray({kRow, 1}, name, size, loop::Space::kLocal);
    };
    std::vector<StmtPtr> body = {declare_local("rows", plan_.RowsSize(flat_)),
                                 declare_local("partials", plan_.PartialsSize(flat_)),
                                 Declare("item", loop::Work(loop::WorkId::kLocal, 0, index_type_))};
    ExprPtr share = Var("item");
    if (BusyItems() < plan_.threads()) share = loop::Min(share, Number(BusyItems() - 1));
    body.push_back(Declare("share", share));
    body.push_back(Declare("part", loop::Mod(Var("share"), Number(parts_))));
    body.push_back(Declare("sharer", loop::Div(Var("share"), Number(parts_))));
    body.push_back(Declare("first_k", loop::Mul(Var("sharer"), Number(own_k_))));
    weights_.Declare(&body);
    return body;
  }

  // Zeros the rows past the end of K, where the weights are zero, too.
  std::vector<StmtPtr> PlanPersistentRnn() const {
    std::vector<StmtPtr> body;
    const int64_t past_k = padded_k_ - k_size_;
    if (past_k > 0) {
      const ExprPtr row = loop::Div(Var("zero"), Number(past_k));
      const ExprPtr k = loop::Add(loop::Mod(Var("zero"), Number(past_k)), Number(k_size_));
      body.push_back(ForEach("zero", rows_ * past_k,
                             {loop::MakeStore("rows", kRow, RowPlace(row, k), loop::Float(0))}));
    }
    weights_.Read(&body);
    return body;
  }

  ExprPtr RowPlace(const ExprPtr& row, const ExprPtr& k) const {
    return loop::Add(loop::Mul(row, Number(padded_k_)), k);
  }

  StmtPtr LoadRows() const {
    std::vector<StmtPtr> body;
    IndexEmitter indices(flat_, index_type_);
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) indices.Set(i, Number(0));
    const ExprPtr row = loop::Div(Var("load"), Number(k_size_));
    const ExprPtr k = loop::Mod(Var("load"), Number(k_size_));
    SetRows(row, "row", &indices, &body);
    indices.Set(plan_.reduced, k);
    const math::Affine at = poly::AsAffine(poly::Flatten(flat_, plan_.rows_access));
    body.push_back(
        loop::MakeStore("rows", kRow, RowPlace(row, k),
                        loop::LoadFrom(absl::StrCat("in", RowsTensor()), kRow, indices.Emit(at))));
    return ForEach("load", rows_ * k_size_, std::move(body));
  }

  // Splits a row number into the values of the row indices and declares them.
  void SetRows(const ExprPtr& number, const std::string& prefix, IndexEmitter* indices,
               std::vector<StmtPtr>* statements) const {
    const std::vector<ExprPtr> digits = Digits(flat_, plan_.rows, number, index_type_);
    for (size_t i = 0; i < plan_.rows.size(); ++i) {
      const std::string name = absl::StrCat(prefix, "_", flat_.indices[plan_.rows[i]].name);
      statements->push_back(Declare(name, digits[i]));
      indices->Set(plan_.rows[i], Var(name));
    }
  }

  void Multiply(std::vector<StmtPtr>* body) const {
    const int64_t sums = plan_.OwnSums(flat_);
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t sum = 0; sum < sums; ++sum) {
        body->push_back(
            loop::MakeDeclare({kRow, 1}, Total(row, sum), loop::Float(0), /*is_mutable=*/true));
      }
    }
    for (int64_t k = 0; k < own_k_ / kRowLanes; ++k) MultiplyVectors(k, body);
  }

  void MultiplyVectors(int64_t k, std::vector<StmtPtr>* body) const {
    const loop::Type type = {kRow, kRowLanes};
    const int64_t sums = plan_.OwnSums(flat_);
    const auto row_name = [&](int64_t row) { return absl::StrCat("row", row, "_", k); };
    for (int64_t row = 0; row < rows_; ++row) {
      const ExprPtr at = loop::Add(Var("first_k"), Number(row * padded_k_ + k * kRowLanes));
      body->push_back(loop::MakeDeclare(type, row_name(row),
                                        loop::LoadFrom("rows", kRow, at, kRowLanes, true)));
    }
    std::vector<std::vector<ExprPtr>> weights;
    for (int64_t sum = 0; sum < sums; ++sum) weights.push_back(weights_.Lanes(k, sum, body));
    // Consecutive additions go to different accumulators, to hide the latency of an addition.
    for (int lane = 0; lane < kRowLanes; ++lane) {
      for (int64_t sum = 0; sum < sums; ++sum) {
        for (int64_t row = 0; row < rows_; ++row) {
          const ExprPtr factor = loop::LaneOf(loop::Var(row_name(row), type), lane);
          const std::string total = Total(row, sum);
          body->push_back(
              loop::MakeAssign(total, loop::MulAdd(factor, weights[sum][lane], Float(total))));
        }
      }
    }
  }

  // The offset of a sharer's partial sums, at the first column.
  ExprPtr PartialsPlace(const ExprPtr& row, const ExprPtr& sharer, int64_t joined) const {
    const ExprPtr of_row = loop::Add(loop::Mul(row, Number(plan_.sharers)), sharer);
    return loop::Mul(loop::Add(loop::Mul(of_row, Number(joined_)), Number(joined)),
                     Number(padded_columns_));
  }

  StmtPtr StorePartials() const {
    std::vector<StmtPtr> body;
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t sum = 0; sum < plan_.OwnSums(flat_); ++sum) {
        const ExprPtr column = loop::Add(Var("part"), Number(sum / joined_ * parts_));
        const ExprPtr place =
            loop::Add(PartialsPlace(Number(row), Var("sharer"), sum % joined_), column);
        body.push_back(loop::MakeStore("partials", kRow, place, Float(Total(row, sum))));
      }
    }
    StmtPtr all = loop::MakeBlock(std::move(body));
    if (BusyItems() == plan_.threads()) return all;
    return loop::MakeIf(loop::Less(Var("item"), Number(BusyItems())), std::move(all));
  }

  // Declares and sets the output indices of an element.
  void SetElement(const ExprPtr& number, IndexEmitter* indices,
                  std::vector<StmtPtr>* statements) const {
    for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) indices->Set(i, Number(0));
    statements->push_back(Declare("result_row", loop::Div(number, Number(columns_))));
    statements->push_back(Declare("result_column", loop::Mod(number, Number(columns_))));
    SetRows(Var("result_row"), "result", indices, statements);
    indices->Set(plan_.column, Var("result_column"));
  }

  // Loads the operands of the epilogue before the matmul, for the work-item's only element.
  // Work-items without an element load the last element's operands.
  void ReadAhead(std::vector<StmtPtr>* body) {
    ExprPtr element = Var("item");
    if (ElementCount() < plan_.threads()) element = loop::Min(element, Number(ElementCount() - 1));
    body->push_back(Declare("element", element));
    IndexEmitter indices(flat_, index_type_);
    SetElement(Var("element"), &indices, body);
    const Position here(flat_.indices.size(), 0);
    ExprEmitter emitter(flat_, indices, {}, {here}, "r", body);
    emitter.MoveTo(here);
    for (int a = 0; a < static_cast<int>(flat_.accesses.size()); ++a) {
      if (!flat_.accesses[a].guard.empty()) continue;
      for (const poly::Output& output : flat_.outputs) {
        const poly::ExprPtr read = poly::FindRead(output.expr, a);
        if (read == nullptr) continue;
        const ExprPtr value = emitter.Emit(read);
        const std::string name = absl::StrCat("in", a, "_ahead");
        body->push_back(loop::MakeDeclare(value->type, name, value));
        ahead_.emplace(a, loop::Var(name, value->type));
        break;
      }
    }
  }

  StmtPtr StoreResults() const {
    std::vector<StmtPtr> body;
    IndexEmitter indices(flat_, index_type_);
    if (IsOneRound()) {
      std::vector<StmtPtr> declared;  // discarded: ReadAhead has declared them
      SetElement(Var("element"), &indices, &declared);
    } else {
      SetElement(Var("result"), &indices, &body);
    }
    std::vector<ExprPtr> sums;
    for (int64_t joined = 0; joined < joined_; ++joined) {
      body.push_back(SumPartials(joined));
      sums.push_back(Float(absl::StrCat("sum", joined)));
    }
    const Position here(flat_.indices.size(), 0);
    ExprEmitter emitter(flat_, indices, {}, {here}, "e", &body);
    emitter.LoadUnconditionally();
    for (const auto& [access, value] : ahead_) emitter.Provide(access, value);
    for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
    emitter.MoveTo(here, std::move(sums));
    const math::Affine place = poly::AsAffine(poly::Flatten(
        flat_.output_coords, flat_.output_dims, static_cast<int>(flat_.indices.size())));
    std::vector<StmtPtr> stores;
    for (int o = 0; o < static_cast<int>(flat_.outputs.size()); ++o) {
      const poly::Output& output = flat_.outputs[o];
      ExprPtr value = emitter.Emit(output.expr);
      if (o == plan_.carried_output) {
        stores.push_back(loop::MakeDeclare({kRow, 1}, "next", value));
        value = Float("next");
        stores.push_back(loop::MakeStore("rows", kRow,
                                         RowPlace(Var("result_row"), Var("result_column")), value));
      }
      stores.push_back(loop::MakeStore(absl::StrCat("out", o), output.shape.type,
                                       indices.Emit(place), std::move(value)));
    }
    for (StmtPtr& store : stores) body.push_back(std::move(store));
    if (!IsOneRound()) return ForEach("result", ElementCount(), std::move(body));
    StmtPtr all = loop::MakeBlock(std::move(body));
    if (ElementCount() == plan_.threads()) return all;
    return loop::MakeIf(loop::Less(Var("item"), Number(ElementCount())), std::move(all));
  }

  // Declares the element's sum number `joined`: the total over all sharers.
  StmtPtr SumPartials(int64_t joined) const {
    ExprPtr sum;
    for (int64_t sharer = 0; sharer < plan_.sharers; ++sharer) {
      const ExprPtr place =
          loop::Add(PartialsPlace(Var("result_row"), Number(sharer), joined), Var("result_column"));
      const ExprPtr part = loop::LoadFrom("partials", kRow, place);
      sum = sum == nullptr ? part : loop::Add(sum, part);
    }
    return loop::MakeDeclare({kRow, 1}, absl::StrCat("sum", joined), sum);
  }

  const poly::FlatContraction& flat_;
  const PersistentPlan& plan_;
  const int64_t rows_, columns_, k_size_, parts_, own_k_, joined_, padded_k_, padded_columns_;
  const ResidentWeights weights_;
  std::map<int, ExprPtr> ahead_;  // operands loaded by ReadAhead, by access
};

}  // namespace

loop::Kernel LowerPersistent(const poly::FlatContraction& flat, const plan::PersistentPlan& plan,
                             const std::string& name, const LowerOptions& options) {
  return PersistentLowerer(flat, plan, options).Lower(name);
}

}  // namespace tartan::lower
