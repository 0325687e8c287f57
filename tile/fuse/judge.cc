// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/judge.h"

#include <algorithm>
#include <unordered_set>
#include <variant>

#include "tile/base/parallel_map.h"
#include "tile/plan/gpu/factors.h"
#include "tile/plan/gpu/few_rows_search.h"
#include "tile/plan/gpu/gpu_candidates.h"
#include "tile/plan/gpu/launch_time.h"
#include "tile/plan/machine.h"
#include "tile/plan/matrix/dual_gemm.h"
#include "tile/plan/matrix/split_k.h"
#include "tile/plan/select/ready_plan.h"
#include "tile/plan/select/select_packing.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::fuse {

std::vector<bool> ConstantTensors(const poly::FlatContraction& flat,
                                  const std::vector<bool>& is_constant) {
  std::vector<bool> constants;
  for (const poly::Tensor& tensor : flat.tensors) constants.push_back(is_constant[tensor.value]);
  return constants;
}

std::vector<plan::PlannedKernel> Judge::PlanAhead(absl::Span<const LaunchRequest> requests,
                                                  bool are_launches) {
  if (options_.planner || options_.plans_ready || settings().threads == 1) return {};
  std::vector<const LaunchRequest*> missing;
  std::unordered_set<std::string> keys;
  for (const LaunchRequest& request : requests) {
    if (memo_.Has(Planner::kAny, *request.flat, request.context)) continue;
    if (keys.insert(PlanMemo::KeyOf(Planner::kAny, *request.flat, request.context)).second)
      missing.push_back(&request);
  }
  std::vector<plan::PlannedKernel> made = ParallelMap(static_cast<int>(missing.size()), [&](int m) {
    return NewPlan(*missing[m]->flat, missing[m]->context);
  });
  for (size_t m = 0; m < missing.size(); ++m) {
    const auto& [flat, context] = *missing[m];
    memo_.Get(Planner::kAny, *flat, context, are_launches, [&] { return made[m]; });
  }
  return made;
}

Planned Judge::PlanLaunch(const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
  if (options_.planner) return {options_.planner(flat, launch), -1};
  return PlanOperand(flat, launch);
}

Planned Judge::PlanOperand(const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
  return Plan(flat, launch, /*is_launch=*/true);
}

plan::PlannedKernel Judge::NewPlan(const poly::FlatContraction& flat,
                                   const plan::LaunchContext& launch) const {
  if (options_.plans_ready) return plan::PlanReady(flat, settings(), launch.is_constant);
  return options_.tuned != nullptr
             ? plan::PlanKernel(flat, settings(), launch, *options_.tuned, precision())
             : plan::PlanKernel(flat, settings(), launch, precision());
}

Planned Judge::Plan(const poly::FlatContraction& flat, const plan::LaunchContext& launch,
                    bool is_launch) {
  return memo_.Get(Planner::kAny, flat, launch, is_launch, [&] { return NewPlan(flat, launch); });
}

plan::PlannedKernel Judge::PlanWorkGroups(const poly::FlatContraction& flat) {
  const auto make = [&] { return plan::GpuCandidates(flat, settings(), 1).front(); };
  return memo_.Get(Planner::kWorkGroups, flat, {}, /*is_launch=*/true, make).kernel;
}

std::optional<plan::PlannedKernel> Judge::PlanDualGemm(const plan::PlannedKernel& reader,
                                                       const plan::PlannedKernel& producer,
                                                       ir::ValueId result) const {
  return plan::FuseDualGemm(reader, producer, result, settings());
}

std::optional<plan::PlannedKernel> Judge::PlanPersistent(
    const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
    const std::function<bool(int tensor, int output)>& is_next) const {
  return plan::PersistentCandidate(flat, settings(), is_constant, is_next);
}

double Judge::KernelUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) {
  return Plan(flat, {is_constant}, /*is_launch=*/false).kernel.predicted_us;
}

double Judge::LaunchUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) {
  return LaunchUs(Plan(flat, {is_constant}, /*is_launch=*/false).kernel);
}

double Judge::LaunchUs(const plan::PlannedKernel& kernel) const {
  return plan::LaunchMicroseconds(kernel, settings());
}

std::optional<int64_t> Judge::WinogradTile(const poly::FlatContraction& flat,
                                           const std::vector<bool>& is_constant) const {
  return plan::SelectWinogradTile(flat, settings(), is_constant, options_.winograd, precision());
}

std::optional<poly::PackedForm> Judge::PackedForm(const poly::FlatContraction& flat,
                                                  const std::vector<bool>& is_constant) const {
  return plan::SelectPackedForm(flat, settings(), is_constant);
}

bool Judge::MayPackFloats(const poly::FlatContraction& flat,
                          const std::vector<bool>& is_constant) const {
  return plan::MayPackFloats(flat, settings(), is_constant);
}

bool Judge::MayQuantize(const poly::FlatContraction& flat,
                        const std::vector<bool>& is_constant) const {
  return plan::MayQuantize(flat, settings(), is_constant);
}

int64_t Judge::SplitKChunks(const poly::FlatContraction& flat,
                            const std::vector<bool>& is_constant) {
  const auto [chunks, is_new] = chunks_.try_emplace(FormOf(flat, {is_constant}), 1);
  if (is_new) chunks->second = NewSplitKChunks(flat, is_constant);
  return chunks->second;
}

int64_t Judge::NewSplitKChunks(const poly::FlatContraction& flat,
                               const std::vector<bool>& is_constant) {
  // Microseconds of additional loads in a launch that exists anyway; empirical.
  constexpr double kAddedUs = 0.5;
  const std::optional<MatrixFormat> format = plan::FormatFor(flat, precision());
  if (!format.has_value()) return 1;
  const std::optional<plan::SplitKReduction> best = plan::BestSplitK(
      poly::MergeIndices(flat), settings(), *format, is_constant, /*only_equal=*/true);
  if (!best.has_value()) return 1;
  const plan::PlannedKernel partial =
      Plan(best->kernels.partial, {is_constant}, /*is_launch=*/false).kernel;
  if (!std::holds_alternative<plan::MatrixPlan>(partial.plan)) return 1;
  const double split_us = partial.predicted_us + best->moving_us + kAddedUs;
  return split_us < KernelUs(flat, is_constant) ? best->chunks : 1;
}

double Judge::DirectUs(const poly::FlatContraction& flat, const std::vector<bool>& is_constant) {
  return options_.planner ? options_.planner(flat, {is_constant}).predicted_us
                          : KernelUs(flat, is_constant);
}

double Judge::PackedUs(const poly::PackedMatmul& packed, const std::vector<bool>& is_constant) {
  poly::FlatContraction products = packed.products;
  std::vector<bool> constants(products.tensors.size(), false);
  for (size_t t = 0; t < constants.size(); ++t) {
    const ir::ValueId value = products.tensors[t].value;
    if (value != ir::kNoValue) constants[t] = is_constant[value];
  }
  double packing_us = 0;
  // The packed words have no values yet. Placeholders are all distinct, so that equal layers share
  // a plan.
  auto words = static_cast<ir::ValueId>(is_constant.size());
  for (const poly::PackedMatmul::Operand& operand : packed.operands) {
    products.tensors[operand.tensor].value = words++;
    const std::vector<bool> read = ConstantTensors(operand.kernel, is_constant);
    constants[operand.tensor] = std::all_of(read.begin(), read.end(), [](bool is) { return is; });
    if (constants[operand.tensor]) continue;
    packing_us += KernelUs(operand.kernel, read) + plan::Machine(settings()).compile_us;
  }
  return packing_us + DirectUs(products, constants);
}

}  // namespace tartan::fuse
