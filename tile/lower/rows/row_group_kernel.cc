// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_group_kernel.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/gpu/mma_kernel.h"
#include "tile/lower/rows/blocked_rows.h"
#include "tile/lower/rows/row_matmul.h"
#include "tile/lower/rows/row_partials.h"
#include "tile/lower/rows/row_stage.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Declares which row of the block a work-item belongs to, and its position among the row's
// work-items.
std::vector<StmtPtr> DeclareItem(const RowStages& stages, const plan::RowGroupPlan& plan) {
  const loop::Type type = stages.IndexType();
  const ExprPtr item = stages.Var("item");
  std::vector<StmtPtr> statements = {
      loop::MakeDeclare(type, "item", loop::Work(loop::WorkId::kLocal, 0, type.element))};
  if (plan.item_rows > 1) {
    const ExprPtr warp = loop::Div(item, stages.Number(32));
    const ExprPtr in_warp = loop::Div(loop::Mod(item, stages.Number(32)), stages.Number(4));
    statements.push_back(loop::MakeDeclare(type, "item_row",
                                           loop::Add(loop::Mul(warp, stages.Number(16)), in_warp)));
    statements.push_back(
        loop::MakeDeclare(type, "lane", loop::Mod(item, stages.Number(plan.row_threads))));
    return statements;
  }
  const int64_t below = plan.rows_first ? plan.BlockRows() : plan.row_threads;
  const ExprPtr low = loop::Mod(item, stages.Number(below));
  const ExprPtr high = loop::Div(item, stages.Number(below));
  if (plan.BlockRows() > 1) {
    statements.push_back(loop::MakeDeclare(type, "row", plan.rows_first ? low : high));
  }
  if (plan.row_threads > 1) {
    statements.push_back(loop::MakeDeclare(type, "lane", plan.rows_first ? high : low));
  }
  return statements;
}

// Local memory: MMA tiles, intermediate values of the block, and partial results.
std::vector<StmtPtr> DeclareArrays(const RowStages& stages, const plan::RowGroupPlan& plan) {
  std::vector<StmtPtr> arrays;
  if (const int64_t tiles = plan.TilesSize(); tiles > 0) {
    const auto stage =
        std::find_if(plan.stages.begin(), plan.stages.end(),
                     [](const plan::RowGroupStage& one) { return one.ByTensorCores() != nullptr; });
    arrays.push_back(DeclareMmaTiles(*stage->ByTensorCores(), tiles));
  }
  std::set<DataType> partial_types;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    if (plan.Stores(s)) {
      if (StmtPtr kept = stages.DeclareKept(s, plan.block, loop::Space::kLocal)) {
        arrays.push_back(std::move(kept));
      }
    }
    const poly::FlatContraction& flat = plan.stages[s].block.flat;
    if (!flat.is_reduction() || plan.row_threads == 1) continue;
    if (plan.stages[s].product.has_value()) continue;
    if (!partial_types.insert(flat.accumulator_type).second) continue;
    Append(PartialResults(stages, plan, flat.accumulator_type).Declare(), &arrays);
  }
  return arrays;
}

std::vector<StmtPtr> DeclareHeld(const plan::RowGroupPlan& plan) {
  std::vector<StmtPtr> statements;
  for (size_t h = 0; h < plan.held.size(); ++h) {
    const plan::RegisterValue& held = plan.held[h];
    const std::string name = RegisterArrayName(static_cast<int>(h));
    if (held.iterations > 0 || plan.item_rows > 1) {
      const int64_t vectors = std::max<int64_t>(held.iterations, 1) * plan.item_rows;
      statements.push_back(loop::MakeArray({held.type, held.lanes}, name, vectors));
    } else {
      const ExprPtr zero = IsFloat(held.type) ? loop::Float(0, held.type) : loop::Int(0, held.type);
      statements.push_back(loop::MakeDeclare({held.type, 1}, name, zero, true));
    }
  }
  return statements;
}

// The stages of a plan that processes whole rows.
std::vector<StmtPtr> LowerStages(const RowStages& stages, const plan::RowGroupPlan& plan) {
  std::vector<StmtPtr> statements;
  std::vector<std::vector<StmtPtr>> products(plan.stages.size());
  bool fetches = false;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    if (!plan.stages[s].product.has_value()) continue;
    GroupPart part = LowerRowMatmul(stages, s, plan.stages[s]);
    fetches |= !part.fetch.empty();
    Append(std::move(part.fetch), &statements);
    products[s] = std::move(part.compute);
  }
  // A barrier keeps compilers from moving the loads down to their uses to save registers.
  if (fetches) statements.push_back(loop::MakeBarrier());
  std::map<DataType, bool> is_odd;
  // Other warps may still read the tiles of a matmul whose results stay in registers.
  bool tiles_are_in_use = false;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::RowGroupStage& stage = plan.stages[s];
    if (tiles_are_in_use && (stage.result_tile || stage.ByTensorCores() != nullptr)) {
      statements.push_back(loop::MakeBarrier());
      tiles_are_in_use = false;
    }
    if (stage.product.has_value()) {
      Append(std::move(products[s]), &statements);
      tiles_are_in_use = stage.ByTensorCores() != nullptr;
    } else {
      const bool odd = is_odd[stage.block.flat.accumulator_type];
      if (stage.block.flat.is_reduction()) is_odd[stage.block.flat.accumulator_type] = !odd;
      statements.push_back(LowerRowStage(stages, plan, {s, stage}, odd));
    }
    if (!stage.is_read_from_memory || plan.Threads() == 1) continue;
    statements.push_back(loop::MakeBarrier(stages.IsReadFromBuffers(s)));
    tiles_are_in_use = false;
  }
  return statements;
}

FusedRowKernel LowerGroups(const std::vector<poly::RowKernel>& kernels,
                           const std::vector<poly::RowTensor>& tensors,
                           const plan::RowGroupPlan& plan, const std::string& name,
                           const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type, plan.arrays);
  FusedRowKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.local_size[0] = plan.Threads();
  chain.kernel.global_size[0] = plan.Threads() * plan.GroupCount();
  std::vector<StmtPtr> statements = DeclareArrays(stages, plan);
  Append(DeclareItem(stages, plan), &statements);
  Append(stages.DeclareRows(loop::Work(loop::WorkId::kGroup, 0, index_type), plan.rows, plan.block),
         &statements);
  Append(DeclareHeld(plan), &statements);
  for (int h = 0; h < static_cast<int>(plan.held.size()); ++h) {
    if (plan.held[h].is_prefetched) statements.push_back(FetchRows(stages, plan, h));
  }
  Append(plan.walk.has_value() ? LowerBlockedRows(stages, plan) : LowerStages(stages, plan),
         &statements);
  chain.kernel.body = loop::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace

FusedRowKernel LowerRowGroups(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowGroupPlan& plan, const std::string& name,
                              const LowerOptions& options) {
  if (!plan.walk.has_value()) return LowerGroups(kernels, tensors, plan, name, options);
  const poly::OnlineSoftmax online = *poly::FindOnlineSoftmax(kernels, tensors);
  const poly::KeyBlocks blocks = poly::CutKeys(online, plan.walk->block, /*is_rest=*/false);
  return LowerGroups(blocks.kernels, blocks.tensors, plan, name, options);
}

}  // namespace tartan::lower
