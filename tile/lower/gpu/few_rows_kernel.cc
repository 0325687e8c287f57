// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/few_rows_kernel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/lower/emit/begin_kernel.h"
#include "tile/lower/gpu/mma_operand.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

FewRowsLowerer::FewRowsLowerer(const poly::FlatContraction& flat, const plan::FewRowsPlan& plan,
                               const LowerOptions& options)
    : IndexBuilder(IndexTypeOf(flat, options)),
      flat_(flat),
      rows_(plan.RowCount(flat)),
      columns_(plan.ColumnCount(flat)),
      k_size_(plan.KSize(flat)),
      plan_(plan) {}

StmtPtr FewRowsLowerer::ForEach(const std::string& number, const std::string& round, int64_t count,
                                std::vector<StmtPtr> statements) const {
  const int64_t threads = plan_.threads();
  StmtPtr body = loop::MakeBlock(std::move(statements));
  if (count % threads != 0) body = loop::MakeIf(loop::Less(Var(number), Number(count)), body);
  const StmtPtr declare =
      Declare(number, loop::Add(loop::Mul(Var(round), Number(threads)), Var("item")));
  return loop::MakeFor(round, Number(0), Number(plan::TilesOf(count, threads)),
                       loop::MakeBlock({declare, body}));
}

IndexEmitter FewRowsLowerer::Zeros() const {
  IndexEmitter indices(flat_, index_type_);
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) indices.Set(i, Number(0));
  return indices;
}

void FewRowsLowerer::SetDigits(const std::vector<int>& list, const ExprPtr& number,
                               const std::string& prefix, IndexEmitter* indices,
                               std::vector<StmtPtr>* statements) const {
  const std::vector<ExprPtr> digits = Digits(flat_, list, number, index_type_);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string name = absl::StrCat(prefix, "_", flat_.indices[list[i]].name);
    statements->push_back(Declare(name, digits[i]));
    indices->Set(list[i], Var(name));
  }
}

ExprPtr FewRowsLowerer::LoadRow(const IndexEmitter& indices) const {
  const int tensor = flat_.accesses[plan_.rows_access].tensor;
  const math::Affine place = poly::AsAffine(poly::Flatten(flat_, plan_.rows_access));
  return loop::LoadFrom(absl::StrCat("in", tensor), flat_.tensors[tensor].shape.type,
                        indices.Emit(place));
}

void FewRowsLowerer::StoreOutputs(const IndexEmitter& indices, std::vector<ExprPtr> sums,
                                  const std::map<int, ExprPtr>& ahead, int carried,
                                  const ExprPtr& carried_place,
                                  std::vector<StmtPtr>* statements) const {
  const Position here(flat_.indices.size(), 0);
  ExprEmitter emitter(flat_, indices, {}, {here}, "e", statements);
  emitter.Assume(flat_.store_guard);
  emitter.LoadUnconditionally();
  for (const auto& [access, value] : ahead) emitter.Provide(access, value);
  for (const poly::Output& output : flat_.outputs) emitter.Count(output.expr);
  emitter.MoveTo(here, std::move(sums));
  std::vector<StmtPtr> stores;
  for (int o = 0; o < static_cast<int>(flat_.outputs.size()); ++o) {
    ExprPtr value = emitter.Emit(flat_.outputs[o].expr);
    if (o == carried) {
      stores.push_back(loop::MakeDeclare({kFloat, 1}, "next", value));
      value = Float("next");
      stores.push_back(loop::MakeStore("rows", kFloat, carried_place, value));
    }
    stores.push_back(emitter.Store(o, value));
  }
  for (StmtPtr& store : stores) statements->push_back(std::move(store));
}

}  // namespace tartan::lower
