// The reduction of a kernel whose plan accumulates in vectors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tile/lower/expr_emitter.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/sem/sem.h"

namespace tartan::lower {

struct VectorContext {
  const poly::FlatContraction& flat;
  const plan::KernelPlan& plan;
  IndexEmitter& indices;  // output indices are set but for the register and the block index
  sem::ExprPtr register_begin;  // first value of the tile along register_index; null without one
  sem::ExprPtr block_begin;     // … along block_index; null without one
  std::function<const std::string&(int)> index_name;
};

// Statements that leave the aggregated values in the private array "acc": for each value of the
// block index in turn, those along the register index.
std::vector<sem::StmtPtr> VectorReduction(const VectorContext& context);

}  // namespace tartan::lower
