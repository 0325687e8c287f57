#include "tile/lower/row_kernel.h"

#include <utility>

#include "tile/lower/row_stages.h"

namespace tartan::lower {

using sem::ExprPtr;
using sem::StmtPtr;

RowChainKernel LowerRowChain(const std::vector<poly::RowKernel>& kernels,
                             const std::vector<poly::RowTensor>& tensors, const plan::RowPlan& plan,
                             const std::string& name, const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type);
  RowChainKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.global_size[0] = plan.ItemCount();
  std::vector<StmtPtr> statements = {
      sem::MakeDeclare(stages.IndexType(), "item", sem::Work(sem::WorkId::kGlobal, 0, index_type))};
  const auto append = [&](std::vector<StmtPtr> more) {
    for (StmtPtr& statement : more) statements.push_back(std::move(statement));
  };
  append(stages.DeclareRows(stages.Var("item"), plan.rows, plan.block));
  append(stages.DeclareKept(plan.block, sem::Space::kPrivate));
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::RowStage& stage = plan.stages[s];
    std::vector<ExprPtr> begins(stage.block.flat.output_index_count, stages.Number(0));
    for (size_t a = 0; a < stage.block.origins.size(); ++a) {
      const int origin = stage.block.origins[a];
      if (origin >= 0) begins[origin] = stages.Var(RowStages::RowName(a));
    }
    statements.push_back(
        stages.Named(s, LowerTask(stage.block.flat, stage.plan, begins, index_type)));
  }
  chain.kernel.body = sem::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace tartan::lower
