// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/gpu/few_rows_kernel.h"
#include "tile/lower/gpu/resident_weights.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;
using plan::PersistentPlan;

constexpr int kRowLanes = PersistentPlan::kVector;

class PersistentLowerer : FewRowsLowerer {
 public:
  PersistentLowerer(const poly::FlatContraction& flat, const PersistentPlan& plan,
                    const LowerOptions& options)
      : FewRowsLowerer(flat, plan, options),
        plan_(plan),
        parts_(plan.Parts(flat)),
        own_k_(plan.OwnK(flat)),
        joined_(flat.accumulators_per_element()),
        padded_k_(plan.sharers * own_k_),
        padded_columns_(plan.columns * parts_),
        weights_(flat, plan, index_type_) {}

  loop::Kernel Lower(const std::string& name) {
    loop::Kernel kernel = BeginGroupKernel(flat_, plan_, name, index_type_);
    std::vector<StmtPtr> body = Declarations();
    body.push_back(loop::MakeOnce(loop::MakeBlock(LoadWeights())));
    if (IsOneRound()) ReadAhead(&body);
    StmtPtr rows = LoadRows();
    if (plan_.carried_output >= 0) {
      rows = loop::MakeFetch(First(RowsTensor(), flat_.tensors[RowsTensor()].shape.type, "in"),
                             First(plan_.carried_output, kFloat, "out"), std::move(rows));
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
  int RowsTensor() const { return flat_.accesses[plan_.rows_access].tensor; }
  ExprPtr First(int number, DataType stored, const std::string& kind) const {
    return loop::LoadFrom(absl::StrCat(kind, number), stored, Number(0));
  }

  int64_t ElementCount() const { return rows_ * columns_; }
  // Work-items that have a share of the columns and of K. The others repeat the last one's work
  // without storing it.
  int64_t BusyItems() const { return plan_.sharers * parts_; }
  bool IsOneRound() const { return ElementCount() <= plan_.threads(); }

  StmtPtr ForNumbers(const std::string& number, int64_t count,
                     std::vector<StmtPtr> statements) const {
    return ForEach(number, absl::StrCat(number, "_round"), count, std::move(statements));
  }

  static std::string Total(int64_t row, int64_t sum) {
    return absl::StrCat("total", row, "_", sum);
  }

  std::vector<StmtPtr> Declarations() const {
    std::vector<StmtPtr> body = {DeclareLocal("rows", plan_.RowsSize(flat_)),
                                 DeclareLocal("partials", plan_.PartialsSize(flat_)),
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
  std::vector<StmtPtr> LoadWeights() const {
    std::vector<StmtPtr> body;
    const int64_t past_k = padded_k_ - k_size_;
    if (past_k > 0) {
      const ExprPtr row = loop::Div(Var("zero"), Number(past_k));
      const ExprPtr k = loop::Add(loop::Mod(Var("zero"), Number(past_k)), Number(k_size_));
      body.push_back(
          ForNumbers("zero", rows_ * past_k,
                     {loop::MakeStore("rows", kFloat, RowPlace(row, k), loop::Float(0))}));
    }
    weights_.Read(&body);
    return body;
  }

  ExprPtr RowPlace(const ExprPtr& row, const ExprPtr& k) const {
    return loop::Add(loop::Mul(row, Number(padded_k_)), k);
  }

  StmtPtr LoadRows() const {
    std::vector<StmtPtr> body;
    IndexEmitter indices = Zeros();
    const ExprPtr row = loop::Div(Var("load"), Number(k_size_));
    const ExprPtr k = loop::Mod(Var("load"), Number(k_size_));
    SetDigits(plan_.rows, row, "row", &indices, &body);
    indices.Set(plan_.reduced.front(), k);
    body.push_back(loop::MakeStore("rows", kFloat, RowPlace(row, k), LoadRow(indices)));
    return ForNumbers("load", rows_ * k_size_, std::move(body));
  }

  void Multiply(std::vector<StmtPtr>* body) const {
    const int64_t sums = plan_.OwnSums(flat_);
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t sum = 0; sum < sums; ++sum) {
        body->push_back(
            loop::MakeDeclare({kFloat, 1}, Total(row, sum), loop::Float(0), /*is_mutable=*/true));
      }
    }
    for (int64_t k = 0; k < own_k_ / kRowLanes; ++k) MultiplyVectors(k, body);
  }

  void MultiplyVectors(int64_t k, std::vector<StmtPtr>* body) const {
    const loop::Type type = {kFloat, kRowLanes};
    const int64_t sums = plan_.OwnSums(flat_);
    const auto row_name = [&](int64_t row) { return absl::StrCat("row", row, "_", k); };
    for (int64_t row = 0; row < rows_; ++row) {
      const ExprPtr at = loop::Add(Var("first_k"), Number(row * padded_k_ + k * kRowLanes));
      body->push_back(loop::MakeDeclare(type, row_name(row),
                                        loop::LoadFrom("rows", kFloat, at, kRowLanes, true)));
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
        body.push_back(loop::MakeStore("partials", kFloat, place, Float(Total(row, sum))));
      }
    }
    StmtPtr all = loop::MakeBlock(std::move(body));
    if (BusyItems() == plan_.threads()) return all;
    return loop::MakeIf(loop::Less(Var("item"), Number(BusyItems())), std::move(all));
  }

  // Declares the output indices of an element and returns them.
  IndexEmitter ElementIndices(const ExprPtr& number, std::vector<StmtPtr>* statements) const {
    IndexEmitter indices = Zeros();
    statements->push_back(Declare("result_row", loop::Div(number, Number(columns_))));
    statements->push_back(Declare("result_column", loop::Mod(number, Number(columns_))));
    SetDigits(plan_.rows, Var("result_row"), "result", &indices, statements);
    indices.Set(plan_.column, Var("result_column"));
    return indices;
  }

  // Loads the operands of the epilogue before the matmul, for the work-item's only element.
  // Work-items without an element load the last element's operands.
  void ReadAhead(std::vector<StmtPtr>* body) {
    ExprPtr element = Var("item");
    if (ElementCount() < plan_.threads()) element = loop::Min(element, Number(ElementCount() - 1));
    body->push_back(Declare("element", element));
    const IndexEmitter indices = ElementIndices(Var("element"), body);
    const Position here(flat_.indices.size(), 0);
    ExprEmitter emitter(flat_, indices, {}, {here}, "r", body);
    emitter.MoveTo(here);
    ahead_ = emitter.DeclareReads();
  }

  StmtPtr StoreResults() const {
    std::vector<StmtPtr> body;
    std::vector<StmtPtr> declared;  // discarded: ReadAhead has declared them
    const IndexEmitter indices = IsOneRound() ? ElementIndices(Var("element"), &declared)
                                              : ElementIndices(Var("result"), &body);
    std::vector<ExprPtr> sums;
    for (int64_t joined = 0; joined < joined_; ++joined) {
      body.push_back(SumPartials(joined));
      sums.push_back(Float(absl::StrCat("sum", joined)));
    }
    StoreOutputs(indices, std::move(sums), ahead_, plan_.carried_output,
                 RowPlace(Var("result_row"), Var("result_column")), &body);
    if (!IsOneRound()) return ForNumbers("result", ElementCount(), std::move(body));
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
      const ExprPtr part = loop::LoadFrom("partials", kFloat, place);
      sum = sum == nullptr ? part : loop::Add(sum, part);
    }
    return loop::MakeDeclare({kFloat, 1}, absl::StrCat("sum", joined), sum);
  }

  const PersistentPlan& plan_;
  const int64_t parts_, own_k_, joined_, padded_k_, padded_columns_;
  const ResidentWeights weights_;
  std::map<int, ExprPtr> ahead_;  // operands loaded by ReadAhead, by access
};

}  // namespace

loop::Kernel LowerFewRows(const poly::FlatContraction& flat, const PersistentPlan& plan,
                          const std::string& name, const LowerOptions& options) {
  return PersistentLowerer(flat, plan, options).Lower(name);
}

}  // namespace tartan::lower
