#include "tile/lower/row_kernel.h"

#include <utility>

#include "tile/lower/row_stages.h"

namespace tartan::lower {

using sem::ExprPtr;
using sem::StmtPtr;

namespace {

// The stages for the block of a number.
std::vector<StmtPtr> Block(const RowStages& stages, const plan::RowPlan& plan,
                           const ExprPtr& number) {
  std::vector<StmtPtr> statements = stages.DeclareRows(number, plan.rows, plan.block);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::RowStage& stage = plan.stages[s];
    std::vector<ExprPtr> begins(stage.block.flat.output_index_count, stages.Number(0));
    for (size_t a = 0; a < stage.block.origins.size(); ++a) {
      const int origin = stage.block.origins[a];
      if (origin >= 0) begins[origin] = stages.Var(RowStages::RowName(a));
    }
    statements.push_back(stages.Named(
        s, LowerTask(stage.block.flat, stage.plan, begins, stages.IndexType().element)));
  }
  return statements;
}

}  // namespace

RowChainKernel LowerRowChain(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const plan::RowPlan& plan,
                             const std::string& name, const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type);
  RowChainKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.global_size[0] = plan.ItemCount();
  const ExprPtr item = stages.Var("item");
  std::vector<StmtPtr> statements = {
      sem::MakeDeclare(stages.IndexType(), "item", sem::Work(sem::WorkId::kGlobal, 0, index_type))};
  for (StmtPtr& array : stages.DeclareKept(plan.block, sem::Space::kPrivate)) {
    statements.push_back(std::move(array));
  }
  if (plan.item_blocks == 1) {
    for (StmtPtr& statement : Block(stages, plan, item)) {
      statements.push_back(std::move(statement));
    }
  } else {
    const ExprPtr begin = sem::Mul(item, stages.Number(plan.item_blocks));
    ExprPtr end = sem::Add(begin, stages.Number(plan.item_blocks));
    if (plan.BlockCount() % plan.item_blocks != 0) {
      end = sem::Min(end, stages.Number(plan.BlockCount()));
    }
    statements.push_back(sem::MakeDeclare(stages.IndexType(), "last", std::move(end)));
    statements.push_back(sem::MakeFor("block", begin, stages.Var("last"),
                                      sem::MakeBlock(Block(stages, plan, stages.Var("block")))));
  }
  chain.kernel.body = sem::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace tartan::lower
