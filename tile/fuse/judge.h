// SPDX-License-Identifier: Apache-2.0
// The judge of a compilation: it alone calls the planners of kernels and the estimates for
// Winograd, packing, quantization and split-K. All decisions about launches compare its figures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/fuse/plan_memo.h"
#include "tile/graph/fusion_log.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/plan/rows/row_plan.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/select/select_winograd.h"
#include "tile/plan/store/tuning_database.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/packed_matmul.h"

namespace tartan::graph {
struct RowChain;
}

namespace tartan::fuse {

// Everything that a plan depends on, apart from the kernel. The settings must outlive the judge.
struct JudgeOptions {
  const HardwareSettings& settings;
  Precision precision = Precision::kFloat32;
  bool plans_ready = false;  // plans dynamic-shape kernels
  plan::Winograd winograd = plan::Winograd::kSmallTiles;
  std::shared_ptr<const plan::TuningDatabase> tuned = nullptr;  // may be null
  bool records = false;  // decisions are collected in Judge::log
  // Plans the kernels of launches instead of the cost model. Of the comparisons, only that of a
  // packed matmul with a direct one uses it.
  plan::PlanFunction planner = nullptr;
};

// Returns, per tensor of the kernel, whether it is a load-time constant. `is_constant`: the same
// per value of the program.
std::vector<bool> ConstantTensors(const poly::FlatContraction& flat,
                                  const std::vector<bool>& is_constant);

// A kernel to be planned.
struct LaunchRequest {
  const poly::FlatContraction* flat = nullptr;
  plan::LaunchContext context;
};

// One judge serves one compilation, so that comparisons and launches share one memo of plans. In
// all functions, `is_constant[t]` says whether tensor t of the kernel is a load-time constant.
class Judge {
 public:
  explicit Judge(JudgeOptions options) : options_(std::move(options)) {}

  const HardwareSettings& settings() const { return options_.settings; }
  Precision precision() const { return options_.precision; }
  // The decisions of the compilation about fusion; null if nobody reads them.
  graph::FusionLog* log() { return options_.records ? &log_ : nullptr; }
  // Records a decision, if somebody reads them.
  void Log(graph::FusionDecision decision) {
    if (options_.records) log_.Add(std::move(decision));
  }

  // Plans kernels at once on several threads, so that PlanLaunch and LaunchUs return their plans
  // without a search. Returns the new plans. Does nothing for CPUs, whose plans take less time than
  // their compilation. `are_launches`: the kernels are launched, not only compared.
  std::vector<plan::PlannedKernel> PlanAhead(absl::Span<const LaunchRequest> requests,
                                             bool are_launches = true);
  // Returns the plan of a launch.
  Planned PlanLaunch(const poly::FlatContraction& flat, const plan::LaunchContext& launch);
  // Returns the plan of a launch that repacks an operand, by the cost model or tuning.
  Planned PlanOperand(const poly::FlatContraction& flat, const plan::LaunchContext& launch);
  // Returns the best plan with tiled work-groups, for a GPU. Requires merged indices.
  plan::PlannedKernel PlanWorkGroups(const poly::FlatContraction& flat);
  // Returns the plan of one launch that computes two matmuls on tensor cores
  // (plan/matrix/dual_gemm.h); nothing if that is not faster.
  std::optional<plan::PlannedKernel> PlanDualGemm(const plan::PlannedKernel& reader,
                                                  const plan::PlannedKernel& producer,
                                                  ir::ValueId result) const;
  // Returns the plan of one persistent work-group for consecutive launches, or nothing. `is_next`
  // is explained in plan/gpu/few_rows_search.h.
  std::optional<plan::PlannedKernel> PlanPersistent(
      const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
      const std::function<bool(int tensor, int output)>& is_next) const;
  // Returns the plan of a row chain on a CPU.
  plan::RowPlan PlanRows(const graph::RowChain& chain) const;
  // Returns the plan of a row chain on a GPU; nothing if no work-group can compute it. Chains with
  // matmuls are planned once per form.
  std::optional<plan::RowGroupPlan> PlanRowGroups(const graph::RowChain& chain);

  // Predicted microseconds of a kernel.
  double KernelUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);
  // Predicted microseconds of a launch on a GPU, with its overhead.
  double LaunchUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);
  double LaunchUs(const plan::PlannedKernel& kernel) const;
  // Predicted microseconds of one CPU core for the separate kernels of a row chain. In these three
  // functions, `is_constant` is per value of the program.
  double SeparateCoreUs(const graph::RowChain& chain, const std::vector<bool>& is_constant);
  // Predicted microseconds of a GPU for the separate launches of a row chain.
  double SeparateUs(const graph::RowChain& chain, const std::vector<bool>& is_constant);
  // Predicted microseconds of a row chain on a GPU, with launches: fused if it has a plan, which a
  // chain with matmuls must have, else as separate kernels.
  double RowGroupsUs(const graph::RowChain& chain, const std::vector<bool>& is_constant);

  // Returns false if no convolution uses Winograd's algorithm.
  bool UsesWinograd() const {
    return settings().threads == 1 && options_.winograd != plan::Winograd::kNever;
  }
  // Returns Winograd's tile size; nothing if the direct kernel is faster.
  std::optional<int64_t> WinogradTile(const poly::FlatContraction& flat,
                                      const std::vector<bool>& is_constant) const;
  // Returns the packed form of an integer matmul; nothing if packing does not pay.
  std::optional<poly::PackedForm> PackedForm(const poly::FlatContraction& flat,
                                             const std::vector<bool>& is_constant) const;
  // Returns whether a float matmul may be packed as bfloat16, before its epilogue is known.
  bool MayPackFloats(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) const;
  bool MayQuantize(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) const;
  // Returns the fastest number of equal K chunks of a split-K matmul on a matrix unit, whose
  // consumer adds up the partial sums. 1: splitting does not pay.
  int64_t SplitKChunks(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);
  // Predicted microseconds of a matmul that is not packed, to be compared with PackedUs.
  double DirectUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);
  // Returns the predicted microseconds of the kernels that pack operands and of the packed matmul.
  // `is_constant`: per value of the program.
  double PackedUs(const poly::PackedMatmul& packed, const std::vector<bool>& is_constant);

 private:
  // Plans a kernel by the tuning database or the cost model.
  plan::PlannedKernel NewPlan(const poly::FlatContraction& flat,
                              const plan::LaunchContext& launch) const;
  Planned Plan(const poly::FlatContraction& flat, const plan::LaunchContext& launch,
               bool is_launch);
  int64_t NewSplitKChunks(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);
  std::optional<plan::RowGroupPlan> NewAttention(const graph::RowChain& chain) const;

  const JudgeOptions options_;
  PlanMemo memo_;
  graph::FusionLog log_;
  std::unordered_map<std::string, int64_t> chunks_;  // results of SplitKChunks, by form
  std::unordered_map<std::string, std::optional<plan::RowGroupPlan>> attention_;  // by form
};

}  // namespace tartan::fuse
