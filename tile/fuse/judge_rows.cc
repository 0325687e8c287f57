// SPDX-License-Identifier: Apache-2.0
// The judge of row chains: plans and predicted times.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/fuse/judge.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/machine.h"
#include "tile/plan/rows/plan_rows.h"
#include "tile/plan/rows/row_cycles.h"
#include "tile/plan/rows/row_group_planners.h"
#include "tile/poly/form_key.h"

namespace tartan::fuse {
namespace {

// Returns a text that is equal for chains that differ only in names, comments and values.
std::string FormOf(const graph::RowChain& chain) {
  std::string form = absl::StrJoin(chain.rows, ",");
  // Online softmax also depends on which kernels read the same values.
  const bool is_online = poly::FindOnlineSoftmax(chain.kernels, chain.tensors).has_value();
  absl::StrAppend(&form, chain.has_long_rows ? "|long" : "", is_online ? "|online" : "");
  for (const poly::RowTensor& tensor : chain.tensors) {
    absl::StrAppend(&form, "|", absl::StrJoin(tensor.dims, ","), ";",
                    absl::StrJoin(tensor.axes, ","));
  }
  for (const poly::RowKernel& kernel : chain.kernels) {
    absl::StrAppend(&form, "|", absl::StrJoin(kernel.axes, ","), ";",
                    absl::StrJoin(kernel.tensors, ","), ";", kernel.output, ";",
                    poly::FormKey(kernel.flat));
  }
  return form;
}

// Returns the format in which a matrix unit may compute all matmuls of the chain.
std::optional<MatrixFormat> FormatOfMatmuls(const graph::RowChain& chain, Precision precision) {
  std::optional<MatrixFormat> common = FormatOf(precision);
  if (common.has_value()) return common;
  for (const poly::RowKernel& kernel : chain.kernels) {
    if (!poly::HasColumns(kernel)) continue;
    const std::optional<MatrixFormat> format = plan::FormatFor(kernel.flat, precision);
    if (!format.has_value() || (common.has_value() && format != common)) return std::nullopt;
    common = format;
  }
  return common;
}

// Adapts the plan of a chain to another chain of the same form.
plan::RowGroupPlan AdaptPlan(plan::RowGroupPlan plan, const graph::RowChain& chain) {
  if (plan.walk.has_value()) {
    plan::CutOnlineRows(chain.kernels, chain.tensors, &plan);
    return plan;
  }
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].block =
        poly::CutRows(chain.kernels[s], plan.block, chain.tensors, /*keep_rows=*/true);
  }
  return plan;
}

// Microseconds to move all tensors that a chain reads from or writes to memory, each once.
double MemoryUs(const graph::RowChain& chain, const plan::Machine& machine) {
  std::map<ir::ValueId, int64_t> bytes;
  for (const poly::RowKernel& kernel : chain.kernels) {
    for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
      const poly::Tensor& tensor = kernel.flat.tensors[t];
      if (kernel.tensors[t] < 0) bytes[tensor.value] = tensor.shape.byte_size();
    }
    if (kernel.output >= 0) continue;
    for (const poly::Output& output : kernel.flat.outputs) {
      bytes[output.value] = output.shape.byte_size();
    }
  }
  double all = 0;
  for (const auto& [value, size] : bytes) all += static_cast<double>(size);
  return all / machine.memory_bytes_per_us;
}

// Microseconds to move what a chain of interleaved rows reads from memory, in whole sectors. Unless
// adjacent work-items have adjacent rows, each element takes a sector. All stages read a row that
// the work-items do not hold again: meanwhile, other work-groups have displaced it.
double SectorsUs(const graph::RowChain& chain, const plan::RowGroupPlan& plan,
                 const plan::Machine& machine) {
  double all = 0;
  for (size_t s = 0; s < chain.kernels.size(); ++s) {
    const poly::RowKernel& kernel = chain.kernels[s];
    const poly::FlatContraction& flat = kernel.flat;
    for (size_t a = 0; a < flat.accesses.size(); ++a) {
      const int tensor = flat.accesses[a].tensor;
      const std::vector<int>& held = plan.stages[s].register_reads;
      if (kernel.tensors[tensor] >= 0 || (!held.empty() && held[a] >= 0)) continue;
      const TensorShape& shape = flat.tensors[tensor].shape;
      const auto width = static_cast<double>(ByteWidth(shape.type));
      const double used = plan.rows_first ? width * static_cast<double>(plan.BlockRows()) : width;
      all += static_cast<double>(shape.byte_size()) * std::max(plan::gpu::kSectorBytes / used, 1.0);
    }
  }
  return all / machine.memory_bytes_per_us;
}

}  // namespace

plan::RowPlan Judge::PlanRows(const graph::RowChain& chain) const {
  return plan::PlanRows(chain.rows, chain.kernels, chain.tensors, chain.row_bytes, settings());
}

double Judge::SeparateCoreUs(const graph::RowChain& chain, const std::vector<bool>& is_constant) {
  const plan::Machine machine(settings());
  const auto more = static_cast<int64_t>(chain.kernels.size() - 1);
  double us = static_cast<double>(settings().compute_units * more) *
              (machine.launch_us + machine.compile_us);
  for (const poly::RowKernel& kernel : chain.kernels) {
    us += KernelUs(kernel.flat, ConstantTensors(kernel.flat, is_constant));
  }
  return us;
}

std::optional<plan::RowGroupPlan> Judge::PlanRowGroups(const graph::RowChain& chain) {
  if (!chain.has_matmuls) {
    return plan::PlanRowGroups(chain.rows, chain.kernels, chain.tensors, settings());
  }
  const auto [place, is_new] = attention_.try_emplace(FormOf(chain));
  if (is_new) place->second = NewAttention(chain);
  if (!place->second.has_value()) return std::nullopt;
  return AdaptPlan(*place->second, chain);
}

std::optional<plan::RowGroupPlan> Judge::NewAttention(const graph::RowChain& chain) const {
  std::optional<plan::RowGroupPlan> whole;
  if (!chain.has_long_rows) {
    whole = plan::PlanRowGemms(chain.rows, chain.kernels, chain.tensors, settings());
  }
  const auto keep_faster = [&](std::optional<plan::RowGroupPlan> other) {
    if (other && (!whole || other->predicted_us < whole->predicted_us)) whole = std::move(other);
  };
  const std::optional<MatrixFormat> format = FormatOfMatmuls(chain, precision());
  if (format.has_value() && !chain.has_long_rows) {
    keep_faster(
        plan::PlanTensorCoreRows(chain.rows, chain.kernels, chain.tensors, settings(), *format));
  }
  keep_faster(plan::PlanOnlineRows(chain.rows, chain.kernels, chain.tensors, settings()));
  return whole;
}

double Judge::RowGroupsUs(const graph::RowChain& chain, const std::vector<bool>& is_constant) {
  const std::optional<plan::RowGroupPlan> plan = PlanRowGroups(chain);
  if (chain.has_matmuls) return plan->predicted_us;
  if (plan.has_value()) {
    const plan::Machine machine(settings());
    const double us = plan::RowStagesUs(*plan, chain.kernels, settings());
    const double moving = chain.layout == graph::Layout::kAcross ? SectorsUs(chain, *plan, machine)
                                                                 : MemoryUs(chain, machine);
    return machine.megakernel_launch_us + std::max(us, moving);
  }
  return SeparateUs(chain, is_constant);
}

double Judge::SeparateUs(const graph::RowChain& chain, const std::vector<bool>& is_constant) {
  double us = 0;
  for (const poly::RowKernel& kernel : chain.kernels) {
    us += LaunchUs(kernel.flat, ConstantTensors(kernel.flat, is_constant));
  }
  return us;
}

}  // namespace tartan::fuse
