// SPDX-License-Identifier: Apache-2.0
// Lowers GEMMs of few rows by constant weights (plan/few_rows_plan.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/index_emitter.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/few_rows_plan.h"

namespace tartan::lower {

loop::Kernel LowerFewRows(const poly::FlatContraction& flat, const plan::RowStreamPlan& plan,
                          const std::string& name, const LowerOptions& options);
loop::Kernel LowerFewRows(const poly::FlatContraction& flat, const plan::PersistentPlan& plan,
                          const std::string& name, const LowerOptions& options);

// The base of both lowerers. Kernels declare "item", the number of the work-item in its group.
class FewRowsLowerer : protected IndexBuilder {
 protected:
  static constexpr DataType kFloat = DataType::kFloat32;

  FewRowsLowerer(const poly::FlatContraction& flat, const plan::FewRowsPlan& plan,
                 const LowerOptions& options);

  static loop::ExprPtr Float(const std::string& name) { return loop::Var(name, {kFloat, 1}); }
  static loop::StmtPtr DeclareLocal(const std::string& name, int64_t size) {
    return loop::MakeArray({kFloat, 1}, name, size, loop::Space::kLocal);
  }

  // Statements for each `number` below the count, distributed over the work-items.
  loop::StmtPtr ForEach(const std::string& number, const std::string& round, int64_t count,
                        std::vector<loop::StmtPtr> statements) const;

  // Indices that are all zero.
  IndexEmitter Zeros() const;
  // Splits a number into the values of the indices and declares them.
  void SetDigits(const std::vector<int>& list, const loop::ExprPtr& number,
                 const std::string& prefix, IndexEmitter* indices,
                 std::vector<loop::StmtPtr>* statements) const;
  // The element of the rows at the indices, in global memory.
  loop::ExprPtr LoadRow(const IndexEmitter& indices) const;

  // Appends the stores of all outputs at the indices. `ahead` has operands that were loaded before.
  // Output number `carried` is also stored in the local array "rows", at `carried_place`.
  void StoreOutputs(const IndexEmitter& indices, std::vector<loop::ExprPtr> sums,
                    const std::map<int, loop::ExprPtr>& ahead, int carried,
                    const loop::ExprPtr& carried_place,
                    std::vector<loop::StmtPtr>* statements) const;

  const poly::FlatContraction& flat_;
  const int64_t rows_, columns_, k_size_;

 private:
  const plan::FewRowsPlan& plan_;
};

}  // namespace tartan::lower
