// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/task_kernel.h"
#include "tile/plan/machine.h"

namespace tartan::lower {

using loop::ExprPtr;
using loop::StmtPtr;

namespace {

// Emits the statements of the fused kernel for one block of rows.
class BlockLowerer {
 public:
  BlockLowerer(const RowStages& stages, const plan::RowPlan& plan) : stages_(stages), plan_(plan) {}

  // The statements for the block with the given number.
  std::vector<StmtPtr> Lower(const ExprPtr& number) {
    std::vector<StmtPtr> statements = stages_.DeclareRows(number, plan_.rows, plan_.block);
    for (size_t l = 0; l < plan_.loops.size(); ++l) {
      const plan::RowLoop& loop = plan_.loops[l];
      statements.push_back(loop.length == 0 ? Stage(loop.stages[0], loop.ahead)
                                            : Loop(loop, absl::StrCat("at", l)));
    }
    return statements;
  }

 private:
  // The block's position along each output index of a stage.
  std::vector<ExprPtr> Begins(int s) const {
    const poly::RowBlock& block = plan_.stages[s].block;
    std::vector<ExprPtr> begins(block.flat.output_index_count, stages_.Number(0));
    for (size_t a = 0; a < block.origins.size(); ++a) {
      if (block.origins[a] >= 0) begins[block.origins[a]] = stages_.Var(RowStages::RowName(a));
    }
    return begins;
  }

  StmtPtr Stage(int s, const std::vector<plan::RowRead>& ahead) const {
    const plan::RowStage& stage = plan_.stages[s];
    const DataType type = stages_.IndexType().element;
    if (ahead.empty()) {
      return stages_.Named(s, LowerTask(stage.block.flat, stage.plan, Begins(s), type));
    }
    const auto fetch = [&](const ExprPtr& counter, int64_t step, int64_t range) {
      std::vector<StmtPtr> fetches;
      for (const plan::RowRead& read : ahead) {
        for (StmtPtr& one : FetchPart(read, counter, step, range))
          fetches.push_back(std::move(one));
      }
      return fetches;
    };
    return stages_.Named(s, LowerTask(stage.block.flat, stage.plan, Begins(s), type, fetch));
  }

  // Prefetches the operand `read` of the next block: each step of a loop over `range` fetches a
  // proportional part.
  std::vector<StmtPtr> FetchPart(const plan::RowRead& read, const ExprPtr& counter, int64_t step,
                                 int64_t range) const {
    const plan::RowStage& stage = plan_.stages[read.stage];
    const poly::TensorAccess& access = stage.block.flat.accesses[read.access];
    const poly::Tensor& tensor = stage.block.flat.tensors[access.tensor];
    const poly::FlatAccess at = poly::Flatten(access.coords, tensor.shape.dims,
                                              static_cast<int>(stage.block.flat.indices.size()));
    const std::vector<ExprPtr> begins = Begins(read.stage);
    ExprPtr index = stages_.Number(0);
    int64_t next = 0;  // the last axis varies fastest
    for (size_t a = 0; a < stage.block.origins.size(); ++a) {
      const int origin = stage.block.origins[a];
      if (origin < 0 || at.strides[origin] == 0) continue;
      index = loop::Add(index, loop::Mul(begins[origin], stages_.Number(at.strides[origin])));
      next = at.strides[origin] * plan_.block[a];
    }
    const int64_t line = plan::cpu::kLineBytes / ByteWidth(tensor.shape.type);
    const int64_t steps = (range + step - 1) / step;
    const int64_t lines = (next + steps * line - 1) / (steps * line);
    index = loop::Add(
        index, loop::Mul(loop::Div(counter, stages_.Number(step)), stages_.Number(lines * line)));
    std::vector<StmtPtr> fetches;
    for (int64_t l = 0; l < lines; ++l) {
      fetches.push_back(loop::MakePrefetch(absl::StrCat("in", access.tensor), tensor.shape.type,
                                           loop::Add(index, stages_.Number(next + l * line))));
    }
    return fetches;
  }

  StmtPtr Loop(const plan::RowLoop& loop, const std::string& counter) const {
    const ExprPtr position = stages_.Var(counter);
    std::vector<StmtPtr> statements, before_chunk, body, after_chunk, after;
    int64_t chunk_steps = 0;  // chunk length; the same for all sums along the loop
    for (const plan::RowRead& read : loop.ahead) {
      for (StmtPtr& fetch : FetchAhead(read, loop.step, position)) body.push_back(std::move(fetch));
    }
    for (int s : loop.stages) {
      const plan::RowStage& stage = plan_.stages[s];
      VectorLoop part =
          stages_.Named(s, LowerVectorLoop(stage.block.flat, stage.plan, Begins(s), position));
      statements.insert(statements.end(), part.before.begin(), part.before.end());
      chunk_steps = std::max(chunk_steps, part.chunk_steps);
      before_chunk.insert(before_chunk.end(), part.before_chunk.begin(), part.before_chunk.end());
      body.push_back(std::move(part.body));
      after_chunk.insert(after_chunk.end(), part.after_chunk.begin(), part.after_chunk.end());
      after.insert(after.end(), part.after.begin(), part.after.end());
    }
    StmtPtr step = stages_.WithoutReloads(loop::MakeBlock(std::move(body)));
    const ExprPtr whole = stages_.Number(loop.length / loop.step * loop.step);
    if (chunk_steps == 0) {
      statements.push_back(
          loop::MakeFor(counter, stages_.Number(0), whole, std::move(step), loop.step));
    } else {
      const std::string from = absl::StrCat(counter, "from");
      const int64_t length = chunk_steps * loop.step;
      const ExprPtr past = loop::Add(stages_.Var(from), stages_.Number(length));
      const ExprPtr end =
          loop.length / loop.step % chunk_steps == 0 ? past : loop::Min(past, whole);
      before_chunk.push_back(
          loop::MakeFor(counter, stages_.Var(from), end, std::move(step), loop.step));
      before_chunk.insert(before_chunk.end(), after_chunk.begin(), after_chunk.end());
      statements.push_back(loop::MakeFor(from, stages_.Number(0), whole,
                                         loop::MakeBlock(std::move(before_chunk)), length));
    }
    statements.insert(statements.end(), after.begin(), after.end());
    return loop::MakeBlock(std::move(statements));
  }

  // Prefetches the lines of the next row that correspond to this row's elements at `position`.
  std::vector<StmtPtr> FetchAhead(const plan::RowRead& read, int64_t step,
                                  const ExprPtr& position) const {
    const plan::RowStage& stage = plan_.stages[read.stage];
    const poly::FlatContraction& flat = stage.block.flat;
    const poly::TensorAccess& access = flat.accesses[read.access];
    const DataType type = flat.tensors[access.tensor].shape.type;
    const poly::FlatAccess at = poly::Flatten(access.coords, flat.tensors[access.tensor].shape.dims,
                                              static_cast<int>(flat.indices.size()));
    const std::vector<ExprPtr> begins = Begins(read.stage);
    ExprPtr index = loop::Add(position, stages_.Number(at.offset));
    int64_t next = 0;  // the last axis varies fastest
    for (int origin : stage.block.origins) {
      if (origin < 0 || at.strides[origin] == 0) continue;
      index = loop::Add(index, loop::Mul(begins[origin], stages_.Number(at.strides[origin])));
      next = at.strides[origin];
    }
    std::vector<StmtPtr> fetches;
    for (int64_t element = 0; element < step; element += plan::cpu::kLineBytes / ByteWidth(type)) {
      fetches.push_back(loop::MakePrefetch(stages_.NameOf(read.stage, access.tensor), type,
                                           loop::Add(index, stages_.Number(next + element))));
    }
    return fetches;
  }

  const RowStages& stages_;
  const plan::RowPlan& plan_;
};

}  // namespace

FusedRowKernel LowerRowFusion(const std::vector<poly::RowKernel>& kernels,
                              const std::vector<poly::RowTensor>& tensors,
                              const plan::RowPlan& plan, const std::string& name,
                              const LowerOptions& options) {
  const DataType index_type = RowIndexType(kernels, options);
  const RowStages stages(kernels, tensors, index_type);
  FusedRowKernel chain = stages.Begin(name, plan.ToString());
  chain.kernel.global_size[0] = plan.ItemCount();
  const ExprPtr item = stages.Var("item");
  BlockLowerer block(stages, plan);
  std::vector<StmtPtr> statements = {loop::MakeDeclare(
      stages.IndexType(), "item", loop::Work(loop::WorkId::kGlobal, 0, index_type))};
  for (StmtPtr& array : stages.DeclareKept(plan.block, loop::Space::kPrivate)) {
    statements.push_back(std::move(array));
  }
  if (plan.item_blocks == 1) {
    for (StmtPtr& statement : block.Lower(item)) {
      statements.push_back(std::move(statement));
    }
  } else {
    const ExprPtr begin = loop::Mul(item, stages.Number(plan.item_blocks));
    ExprPtr end = loop::Add(begin, stages.Number(plan.item_blocks));
    if (plan.BlockCount() % plan.item_blocks != 0) {
      end = loop::Min(end, stages.Number(plan.BlockCount()));
    }
    statements.push_back(loop::MakeDeclare(stages.IndexType(), "last", std::move(end)));
    statements.push_back(loop::MakeFor("block", begin, stages.Var("last"),
                                       loop::MakeBlock(block.Lower(stages.Var("block")))));
  }
  chain.kernel.body = loop::MakeBlock(std::move(statements));
  return chain;
}

}  // namespace tartan::lower
