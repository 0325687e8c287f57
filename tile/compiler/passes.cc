// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/passes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/check_bounds.h"
#include "tile/compiler/emit.h"
#include "tile/compiler/launches/fuse_dual_gemm.h"
#include "tile/compiler/launches/fuse_into_consumer.h"
#include "tile/compiler/launches/mark_launch_batches.h"
#include "tile/compiler/launches/persistent_rnn.h"
#include "tile/compiler/launches/recompute_in_consumers.h"
#include "tile/compiler/launches/share_kernels.h"
#include "tile/compiler/matmul/matmul_passes.h"
#include "tile/compiler/memory/bytes_of_run.h"
#include "tile/compiler/memory/order_setup.h"
#include "tile/compiler/memory/order_steps.h"
#include "tile/compiler/memory/recompute.h"
#include "tile/compiler/round_stores.h"
#include "tile/compiler/update_in_place.h"
#include "tile/graph/block_reads.h"
#include "tile/graph/channels_last.h"
#include "tile/graph/constant_operands/powers.h"
#include "tile/graph/constant_operands/slices.h"
#include "tile/graph/constants.h"
#include "tile/graph/moves/read_broadcasts.h"
#include "tile/graph/moves/read_pieces.h"
#include "tile/graph/moves/split_permutations.h"
#include "tile/graph/moves/views.h"
#include "tile/graph/pad_inputs.h"
#include "tile/graph/placements/pieces.h"
#include "tile/graph/placements/sums_to_concatenations.h"
#include "tile/graph/upcast_float16.h"
#include "tile/graph/weights_last.h"
#include "tile/ir/in_float64.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

absl::Status RemoveCustomGradients(Compilation* c) {
  c->program = ir::WithoutCustomGradients(c->program);
  return absl::OkStatus();
}

absl::Status ComputeInFloat64(Compilation* c) {
  if (!c->options.in_float64) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(c->program, ir::InFloat64(c->program));
  return absl::OkStatus();
}

absl::Status ExpandPowers(Compilation* c) {
  c->program = graph::ExpandPowers(c->program);
  return absl::OkStatus();
}

absl::Status SliceConstantGathers(Compilation* c) {
  c->program = graph::SliceConstantGathers(c->program);
  return absl::OkStatus();
}

absl::Status UpcastFloat16(Compilation* c) {
  c->program = graph::UpcastFloat16(c->program);
  c->has_upcast_float16 = true;
  return absl::OkStatus();
}

absl::Status SumsToConcatenations(Compilation* c) {
  TARTAN_ASSIGN_OR_RETURN(c->program, graph::SumsToConcatenations(c->program));
  return absl::OkStatus();
}

absl::Status ReadInBlocks(Compilation* c) {
  c->program = graph::ReadInBlocks(c->program);
  return absl::OkStatus();
}

absl::Status MoveChannelsLast(Compilation* c) {
  c->program = graph::MoveChannelsLast(c->program);
  return absl::OkStatus();
}

absl::Status MoveWeightsLast(Compilation* c) {
  if (!c->is_gpu()) return absl::OkStatus();
  graph::MovedWeights moved = graph::MoveOutputChannelsLast(c->program);
  c->program = std::move(moved.program);
  c->grouping.held = std::move(moved.copies);
  return absl::OkStatus();
}

absl::Status ReadThroughBroadcasts(Compilation* c) {
  c->program = graph::ReadThroughBroadcasts(c->program);
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
  // A matrix unit reads its operands from memory, so decoding them in the kernel does not pay.
  options.grouping.decodes_for_many_rows = !c->is_gpu();
  // Maximum K of a gradient matmul that fuses a state update; empirical.
  constexpr int64_t kFewTerms = 32;
  if (!c->is_gpu()) options.grouping.max_update_terms = kFewTerms;
  options.fuse_rows =
      options.grouping.fuse && c->options.tier == Tier::kExact && c->options.Runs("fuse-rows");
  options.fuse_attention = c->options.Runs("fuse-attention");
  options.pad_rows = MatrixUnitFormat(*c).has_value() && c->options.Runs("pad-rows");
  options.precision = c->options.precision;
  if (c->options.memory_budget > 0) {
    options.max_intermediate_bytes =
        std::min(options.max_intermediate_bytes, c->options.memory_budget);
  }
  TARTAN_ASSIGN_OR_RETURN(
      c->partition, PartitionProgram(c->program, c->spaces, c->is_constant, c->algorithms, options,
                                     c->options.settings));
  return absl::OkStatus();
}

absl::Status PlanKernels(Compilation* c) {
  const bool stays_in_cache =
      c->options.tier == Tier::kExact &&
      StaysInCache(c->program, c->is_constant, c->partition, c->options.settings);
  Scheduler scheduler(c->is_constant, c->options, c->hooks, stays_in_cache);
  for (const PartitionedKernel& kernel : c->partition.kernels) scheduler.Add(c->program, kernel);
  c->schedule = std::move(scheduler).Finish();
  return absl::OkStatus();
}

absl::Status FuseGates(Compilation* c) {
  FuseDualGemms(c->program, c->partition.grouping.storage, c->options.settings, &c->schedule);
  return absl::OkStatus();
}

absl::Status FuseReductionsIntoConsumers(Compilation* c) {
  if (c->options.tier != Tier::kExact) return absl::OkStatus();
  FuseIntoConsumer(c->program, c->partition.grouping.storage, c->options.settings, &c->schedule);
  return absl::OkStatus();
}

absl::Status PlanPersistentRnns(Compilation* c) {
  if (c->options.tier != Tier::kExact) return absl::OkStatus();
  PlanPersistentRnn(c->program, c->is_constant, c->partition.grouping.storage, c->options.settings,
                    &c->schedule);
  return absl::OkStatus();
}

absl::Status RoundWhereStored(Compilation* c) {
  if (FormatOf(c->options.precision) == MatrixFormat::kTf32) {
    RoundStores(c->program, c->partition.grouping.storage, &c->schedule);
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
  if (c->options.tier == Tier::kExact) RecomputeInConsumers(c->options.settings, &c->list);
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
  const bool has_states = std::any_of(
      c->program.inputs.begin(), c->program.inputs.end(),
      [&](ValueId input) { return std::get<ir::Input>(c->program.values[input].op).next >= 0; });
  if (has_states) OrderSteps(&c->list);
  return absl::OkStatus();
}

absl::Status RecomputeForMemory(Compilation* c) {
  if (c->options.memory_budget > 0)
    Recompute(c->options.memory_budget, c->options.settings, &c->list);
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
     "gradients given by the user are done with: autodiff has read them"},
    {"in-float64", ComputeInFloat64, false, "where options ask for it, floats become float64"},
    {"powers", ExpandPowers, true, "powers with small whole exponents are products"},
    {"scales", ScaleAfterMatmuls, true,
     "with a matrix unit, numbers that scale a factor of a product multiply its sum"},
    {"slices", SliceConstantGathers, true, "gathers at a place known beforehand are slices"},
    {"fuse-parallel-matmuls", FuseParallelMatmuls, true,
     "products of one tensor with several constant matrices are one product"},
    {"upcast-float16", UpcastFloat16, false, "16-bit intermediates are held in float32"},
    {"sums-to-concatenations", SumsToConcatenations, true,
     "sums of parts side by side are written in parts"},
    {"block-reads", ReadInBlocks, true,
     "weights that are scaled in blocks are read block by block, so that kernels may decode them"},
    {"broadcasts", ReadThroughBroadcasts, true,
     "products read what is repeated for groups of heads where it lies once"},
    {"channels-last", MoveChannelsLast, true,
     "vectors and lanes run along the channels of convolutions"},
    {"views", MakeViews, true, "moves that leave every element where it is are views"},
    {"read-pieces", ReadPieces, true,
     "who reads one part of a concatenation reads the part, which need not be copied then"},
    {"weights-last", MoveWeightsLast, true, "GPUs: neighbouring lanes read neighbouring weights"},
    {"narrow-operands", NarrowMatmulOperands, true,
     "with a precision of 16 bits, what only products read is stored in them"},
    {"analyze", Analyze, false, "index spaces of contractions; what is known at load"},
    {"quantize", QuantizeFactors, true,
     "with int8, products by constant weights are those of integers with scales"},
    {"split-k", SplitKMatmuls, true,
     "with a matrix unit, products of few tiles are sums of runs of their depth, which what "
     "follows "
     "adds up"},
    {"winograd", SelectWinogradConvolutions, true, "3x3 convolutions with few multiplications"},
    {"pad-inputs", PadInputs, true, "CPUs: no conditions on padding in inner loops"},
    {"pack-matmuls", SelectPackedMatmulPasses, true,
     "products of int8 and int16 two or four to an instruction; of bfloat16 two, where precision "
     "allows it on a CPU"},
    {"fuse", InPartition, true, "one kernel for a reduction and the elementwise work around it"},
    {"fuse-rows", InPartition, true, "one launch for kernels over the same rows, as softmax"},
    {"fuse-attention", InPartition, true,
     "GPUs: products of matrices in such a launch, as attention has"},
    {"pad-rows", InPartition, true,
     "with a matrix unit, rows that it reads along its depth begin at whole vectors"},
    {"partition", PartitionIntoKernels, false, "values become kernels, with fusion and chains"},
    {"plan-kernels", PlanKernels, false, "tiles, loops, vectors and the order of launches"},
    {"fuse-dual-gemm", FuseGates, true,
     "with a matrix unit, a gate's product is made by the kernel of the one that it multiplies"},
    {"fuse-into-consumer", FuseReductionsIntoConsumers, true,
     "GPUs: what is made of several sums of a product is one launch with it, as an LSTM's states"},
    {"persistent-rnn", PlanPersistentRnns, true, "GPUs: recurrent steps keep weights in one unit"},
    {"round-stores", RoundWhereStored, true,
     "with tf32, what matrix units alone read is rounded where it is stored"},
    {"write-kernels", WriteKernels, false, "plans become loops, simplified"},
    {"recompute-in-consumers", RecomputeSmallLaunches, true,
     "GPUs: what one work-group computes, each group that reads it computes for itself"},
    {"update-in-place", UpdateStates, false, "next values of states are written over them"},
    {"order-steps", OrderForMemory, true,
     "updates of states run early, what is made at load late, so that less memory is needed"},
    {"recompute", RecomputeForMemory, true,
     "with a budget: values are made again where they are read late, and need no memory till then"},
    {"share-kernels", ShareEqualKernels, true,
     "many kernels that differ in numbers alone become one"},
    {"launch-batches", MarkForLaunchBatches, true,
     "short launches that follow each other may be run as one"},
    {"check-bounds", CheckAccesses, false,
     "where options request it, kernels compare each access with the size of its memory"},
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
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name,
        "' is no pass that may be left out; these may: ", absl::StrJoin(optional, ", ")));
  }
  return absl::OkStatus();
}

std::string ToString(const Compilation& compilation) {
  if (compilation.list.kernels.empty()) return ir::ToString(compilation.program);
  std::string text;
  for (const loop::Kernel& kernel : compilation.list.kernels) {
    absl::StrAppend(&text, loop::ToString(kernel));
  }
  return text;
}

}  // namespace tartan::compiler
