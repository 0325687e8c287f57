// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/passes/passes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/check_bounds.h"
#include "tile/compiler/describe/describe_stages.h"
#include "tile/compiler/emit.h"
#include "tile/compiler/launches/fuse_dual_gemm.h"
#include "tile/compiler/launches/fuse_into_consumer.h"
#include "tile/compiler/launches/mark_launch_batches.h"
#include "tile/compiler/launches/persistent_rnn.h"
#include "tile/compiler/launches/recompute_in_consumers.h"
#include "tile/compiler/launches/share_kernels.h"
#include "tile/compiler/memory/bytes_of_run.h"
#include "tile/compiler/memory/order_setup.h"
#include "tile/compiler/memory/order_steps.h"
#include "tile/compiler/memory/recompute.h"
#include "tile/compiler/memory/reuse_operands.h"
#include "tile/compiler/passes/matmul_passes.h"
#include "tile/compiler/round_stores.h"
#include "tile/compiler/update_in_place.h"
#include "tile/graph/block_reads.h"
#include "tile/graph/constant_operands/divisions.h"
#include "tile/graph/constant_operands/powers.h"
#include "tile/graph/constant_operands/slices.h"
#include "tile/graph/constants.h"
#include "tile/graph/layouts/channels_last.h"
#include "tile/graph/layouts/weights_last.h"
#include "tile/graph/matmul/upcast_float16.h"
#include "tile/graph/moves/narrow_moves.h"
#include "tile/graph/moves/read_broadcasts.h"
#include "tile/graph/moves/read_pieces.h"
#include "tile/graph/moves/split_permutations.h"
#include "tile/graph/moves/views.h"
#include "tile/graph/pad_inputs.h"
#include "tile/graph/placements/pieces.h"
#include "tile/graph/placements/sums_to_concatenations.h"
#include "tile/graph/rows/join_sums.h"
#include "tile/ir/in_float64.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// A pass that only rewrites the program.
template <ir::Program (*kRewrite)(const ir::Program&)>
absl::Status Rewrite(Compilation* c) {
  c->program = kRewrite(c->program);
  return absl::OkStatus();
}

absl::Status RemoveCustomGradients(Compilation* c) {
  c->program = ir::WithoutCustomGradients(c->program);
  return absl::OkStatus();
}

absl::Status ComputeInFloat64(Compilation* c) {
  if (!c->options.in_float64) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(c->program, ir::InFloat64(c->program));
  return absl::OkStatus();
}

absl::Status UpcastFloat16(Compilation* c) {
  const bool has_matrix_unit =
      c->options.settings.matrix_local_bytes > 0 && c->options.tier == Tier::kExact;
  c->program = graph::UpcastFloat16(c->program, has_matrix_unit);
  c->has_upcast_float16 = true;
  return absl::OkStatus();
}

absl::Status MoveWeightsLast(Compilation* c) {
  if (!c->is_gpu()) return absl::OkStatus();
  graph::MovedWeights moved = graph::MoveOutputChannelsLast(c->program);
  c->program = std::move(moved.program);
  c->grouping.held = std::move(moved.copies);
  return absl::OkStatus();
}

absl::Status JoinSums(Compilation* c) {
  const bool may_join = c->is_gpu() && c->options.tier == Tier::kExact;
  if (may_join) c->program = graph::JoinSums(c->program);
  return absl::OkStatus();
}

absl::Status MakeViews(Compilation* c) {
  c->program = graph::MakeViews(graph::SplitPermutations(c->program));
  return absl::OkStatus();
}

absl::Status ReadPieces(Compilation* c) {
  c->program = graph::MakeViews(graph::ReadPieces(c->program));
  return absl::OkStatus();
}

absl::Status PadInputs(Compilation* c) {
  if (c->is_gpu()) return absl::OkStatus();
  // Winograd's algorithm handles edges without padding.
  std::set<ValueId> kept;
  for (const auto& [root, algorithm] : c->algorithms) kept.insert(root);
  graph::PaddedProgram padded = graph::PadInputs(c->program, c->spaces, kept);
  // Each padded input adds a value; without new values the analysis is still valid.
  if (padded.program.values.size() == c->program.values.size()) return absl::OkStatus();
  Algorithms algorithms;
  for (auto& [root, algorithm] : c->algorithms) {
    algorithms.emplace(padded.numbers[root], std::move(algorithm));
  }
  c->algorithms = std::move(algorithms);
  return TakeProgram(std::move(padded.program), padded.numbers, c);
}

absl::Status PartitionIntoKernels(Compilation* c) {
  PartitionOptions options;
  options.grouping = c->grouping;
  options.grouping.fuse = c->options.Runs("fuse");
  // A value that is computed twice at one size may be computed more often at other sizes.
  if (c->options.tier == Tier::kReady) options.grouping.max_repeats = 1;
  // Loss scaling observes where float16 overflows, so those values are always rounded.
  if (c->options.precision == Precision::kBFloat16) {
    options.grouping.rounded_in_memory = DataType::kBFloat16;
    options.grouping.inlines_roundings = !c->is_gpu();
  }
  // A matrix unit reads its operands from memory, so decoding them in the kernel does not pay.
  options.grouping.decodes_for_many_rows = !c->is_gpu();
  // Maximum K of a gradient matmul that fuses a state update; empirical.
  constexpr int64_t kFewTerms = 32;
  if (!c->is_gpu()) options.grouping.max_update_terms = kFewTerms;
  options.fuse_rows =
      options.grouping.fuse && c->options.tier == Tier::kExact && c->options.Runs("fuse-rows");
  options.fuse_attention = c->options.Runs("fuse-attention");
  options.pad_rows = MayUseMatrixUnit(*c) && c->options.Runs("pad-rows");
  if (c->options.memory_budget > 0) {
    options.max_intermediate_bytes =
        std::min(options.max_intermediate_bytes, c->options.memory_budget);
  }
  TARTAN_ASSIGN_OR_RETURN(c->partition,
                          PartitionProgram(c->analyzed(), c->algorithms, options, &c->judge));
  return absl::OkStatus();
}

absl::Status PlanKernels(Compilation* c) {
  const bool stays_in_cache =
      c->options.tier == Tier::kExact &&
      StaysInCache(c->program, c->is_constant, c->partition, c->options.settings);
  Scheduler scheduler(c->partition.grouping.storage, c->is_constant, c->hooks, &c->judge,
                      stays_in_cache);
  scheduler.PlanAhead(c->program, c->partition.kernels);
  for (const PartitionedKernel& kernel : c->partition.kernels) scheduler.Add(c->program, kernel);
  c->schedule = std::move(scheduler).Finish();
  return absl::OkStatus();
}

absl::Status FuseGates(Compilation* c) {
  FuseDualGemms(c->program, &c->judge, &c->schedule);
  return absl::OkStatus();
}

absl::Status FuseReductionsIntoConsumers(Compilation* c) {
  if (c->options.tier != Tier::kExact) return absl::OkStatus();
  FuseIntoConsumer(c->program, &c->judge, &c->schedule);
  return absl::OkStatus();
}

absl::Status PlanPersistentRnns(Compilation* c) {
  if (c->options.tier != Tier::kExact) return absl::OkStatus();
  PlanPersistentRnn(c->program, &c->judge, &c->schedule);
  return absl::OkStatus();
}

absl::Status RoundWhereStored(Compilation* c) {
  if (FormatOf(c->options.precision) == MatrixFormat::kTf32) {
    RoundStores(c->program, &c->schedule);
  }
  return absl::OkStatus();
}

absl::Status WriteKernels(Compilation* c) {
  ScheduledValues values = ValuesOf(c->program, c->partition.grouping, c->is_constant);
  for (const auto& [value, shape] : c->partition.padded) values.values[value].shape = shape;
  TARTAN_ASSIGN_OR_RETURN(c->list, EmitKernels(values, c->schedule, c->options, c->hooks));
  return absl::OkStatus();
}

absl::Status RecomputeSmallLaunches(Compilation* c) {
  if (c->options.tier == Tier::kExact) RecomputeInConsumers(&c->judge, &c->list);
  return absl::OkStatus();
}

absl::Status UpdateStates(Compilation* c) {
  std::vector<int> next;
  for (const ValueId input : c->program.inputs) {
    next.push_back(std::get<ir::Input>(c->program.values[input].op).next);
  }
  UpdateInPlace(next, &c->list);
  return absl::OkStatus();
}

absl::Status OrderForMemory(Compilation* c) {
  OrderSetup(&c->list);
  if (HasStates(c->program)) OrderSteps(&c->list);
  return absl::OkStatus();
}

// Without a budget, only cheap values of large steps are recomputed. Steps in other precisions take
// a fraction of the time, of which the same values would be a larger share.
absl::Status RecomputeForMemory(Compilation* c) {
  constexpr CheapRecomputation kCheap = {int64_t{1} << 30, 0.125, 0.005};
  const CompileOptions& options = c->options;
  if (options.memory_budget > 0) {
    Recompute(options.memory_budget, options.settings, &c->list);
  } else if (options.tier == Tier::kExact && c->is_gpu() &&
             options.precision == Precision::kFloat32 && HasStates(c->program)) {
    RecomputeCheapValues(kCheap, options.settings, &c->list);
  }
  return absl::OkStatus();
}

absl::Status ReuseDyingOperands(Compilation* c) {
  // Less memory is not worth another form of a kernel.
  constexpr int64_t kMinBytes = 1 << 20;
  if (c->options.tier == Tier::kExact) ReuseOperands(kMinBytes, &c->list);
  return absl::OkStatus();
}

absl::Status ShareEqualKernels(Compilation* c) {
  if (c->options.tier == Tier::kExact) ShareKernels(&c->list);
  return absl::OkStatus();
}

absl::Status CheckAccesses(Compilation* c) {
  if (c->options.check_bounds) CheckBounds(&c->list);
  return absl::OkStatus();
}

absl::Status MarkForLaunchBatches(Compilation* c) {
  // A launch that reports wrong accesses must run separately.
  if (c->options.check_bounds) return absl::OkStatus();
  const bool is_exact = c->options.tier == Tier::kExact;
  (is_exact ? MarkLaunchBatches : MarkAllForLaunchBatches)(c->options.settings, &c->list);
  return absl::OkStatus();
}

// Table rows for features of the pass `partition`, so that they can be disabled by name.
absl::Status InPartition(Compilation*) { return absl::OkStatus(); }

constexpr Pass kPasses[] = {
    {"custom-gradients", RemoveCustomGradients, false,
     "removes custom gradients, which autodiff has already applied"},
    {"in-float64", ComputeInFloat64, false,
     "if the options request it, computes floats as float64"},
    {"powers", Rewrite<graph::ExpandPowers>, true,
     "expands powers with small integer exponents into multiplications"},
    {"scales", ScaleAfterMatmuls, true,
     "tensor cores: moves scalar factors of matmul operands to the result"},
    {"slices", Rewrite<graph::SliceConstantGathers>, true,
     "replaces gathers at constant positions by slices"},
    {"chunk-rows", ChunkRows, true,
     "computes large logits and their gradients for some rows at a time"},
    {"fuse-parallel-matmuls", FuseParallelMatmuls, true,
     "fuses matmuls of one tensor with several constant matrices"},
    {"upcast-float16", UpcastFloat16, false, "stores 16-bit intermediates as float32"},
    {"divisions", Rewrite<graph::MultiplyByReciprocals>, true,
     "multiplies by reciprocals of constants where quotients are rounded to 16 bits"},
    {"sums-to-concatenations", Rewrite<graph::SumsToConcatenations>, true,
     "turns sums of disjoint placements into in-place concatenations"},
    {"narrow-moves", Rewrite<graph::MoveNarrowValues>, true,
     "moves 16-bit values instead of their conversions to float32"},
    {"block-reads", Rewrite<graph::ReadInBlocks>, true,
     "reads block-quantized weights by block, so that kernels can decode them"},
    {"broadcasts", Rewrite<graph::ReadThroughBroadcasts>, true,
     "lets matmuls read broadcast operands without a copy (grouped-query attention)"},
    {"channels-last", Rewrite<graph::MoveChannelsLast>, true,
     "stores intermediates of convolutions with channels last"},
    {"join-sums", JoinSums, true, "GPUs: joins sums over the same large tensor"},
    {"views", MakeViews, true, "replaces copies that do not move elements by views"},
    {"read-pieces", ReadPieces, true,
     "removes concatenations whose readers each need a single part"},
    {"recompute-weights", RecomputeAttentionWeights, true,
     "tensor cores: recomputes attention weights for the backward pass"},
    {"weights-last", MoveWeightsLast, true,
     "GPUs: stores convolution weights with output channels last"},
    {"narrow-operands", NarrowMatmulOperands, true,
     "16-bit precision: stores values that only matmuls read in 16 bits"},
    {"analyze", Analyze, false, "computes index spaces of contractions and load-time constants"},
    {"quantize", QuantizeFactors, true,
     "int8: quantizes matmuls with constant weights dynamically"},
    {"split-k", SplitKMatmuls, true,
     "tensor cores: split-K for matmuls with few tiles, summed by the next kernel"},
    {"winograd", SelectWinogradConvolutions, true,
     "computes 3x3 convolutions with Winograd's algorithm"},
    {"pad-inputs", PadInputs, true,
     "CPUs: pads inputs with zeros, to remove conditions from inner loops"},
    {"pack-matmuls", SelectPackedMatmulPasses, true,
     "packs int8, int16 and bfloat16 matmuls for dot-product instructions"},
    {"fuse", InPartition, true, "fuses reductions with the elementwise operations around them"},
    {"fuse-rows", InPartition, true,
     "fuses kernels over the same rows into one launch, such as softmax"},
    {"fuse-attention", InPartition, true, "GPUs: fused attention, matmuls within a row fusion"},
    {"pad-rows", InPartition, true,
     "tensor cores: aligns rows that are read along K to whole vectors"},
    {"partition", PartitionIntoKernels, false, "divides the program into kernels, with fusion"},
    {"plan-kernels", PlanKernels, false, "chooses tiles, loops, vectors and the order of launches"},
    {"fuse-dual-gemm", FuseGates, true,
     "tensor cores: dual GEMM, both matmuls of a gated linear unit in one kernel"},
    {"fuse-into-consumer", FuseReductionsIntoConsumers, true,
     "GPUs: fuses a matmul into the elementwise kernel that reads it (LSTM states)"},
    {"persistent-rnn", PlanPersistentRnns, true,
     "GPUs: persistent RNN, one compute unit keeps the weights between steps"},
    {"round-stores", RoundWhereStored, true,
     "tf32: rounds operands of tensor cores where they are stored"},
    {"write-kernels", WriteKernels, false, "lowers plans to simplified loops"},
    {"recompute-in-consumers", RecomputeSmallLaunches, true,
     "GPUs: recomputes results of one-group launches in each work-group that reads them"},
    {"update-in-place", UpdateStates, false, "writes next values of states in place"},
    {"order-steps", OrderForMemory, true, "orders steps for a low peak of memory"},
    {"recompute", RecomputeForMemory, true,
     "recomputes values that are read late (rematerialization), for a memory budget or if cheap"},
    {"reuse-operands", ReuseDyingOperands, true,
     "writes large results over operands that nothing reads later"},
    {"share-kernels", ShareEqualKernels, true, "merges kernels that differ only in constants"},
    {"launch-batches", MarkForLaunchBatches, true,
     "marks short consecutive launches to run as one batch"},
    {"check-bounds", CheckAccesses, false,
     "if the options request it, checks each memory access at run time"},
};

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

absl::Status CheckOptional(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<absl::string_view> optional;
    for (const Pass& pass : Passes()) {
      if (pass.is_optional) optional.push_back(pass.name);
    }
    if (std::find(optional.begin(), optional.end(), name) != optional.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not an optional pass; the optional passes are ",
                     absl::StrJoin(optional, ", ")));
  }
  return absl::OkStatus();
}

std::string ToString(const Compilation& compilation) {
  if (compilation.list.kernels.empty()) {
    if (!compilation.schedule.steps.empty()) {
      return ToString(compilation.program, compilation.schedule);
    }
    if (!compilation.partition.kernels.empty()) {
      return ToString(compilation.program, compilation.partition);
    }
    return ir::ToString(compilation.program);
  }
  std::string text;
  for (const loop::Kernel& kernel : compilation.list.kernels) {
    absl::StrAppend(&text, loop::ToString(kernel));
  }
  return text;
}

}  // namespace tartan::compiler
