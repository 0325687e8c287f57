// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/matrix_cost.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <variant>

#include "tile/base/launch_batch_limits.h"
#include "tile/plan/machine.h"

namespace tartan::plan {
namespace {

// Bytes of local memory that the hardware reserves per work-group.
constexpr int64_t kGroupLocalBytes = 1 << 10;
constexpr int64_t kOtherRegisters = 72;  // registers per work-item besides accumulators; empirical
// Maximum resident work-groups per compute unit that the model assumes.
constexpr int64_t kMaxResident = 4;
// Bytes per cycle that asynchronous copies bring to a compute unit; measured on an H200, GEMM of
// 8192.
constexpr double kLoadRate = 45;
// Share of the shorter of MMA and copies that the longer does not hide (H200: 1024 and 1090 cycles
// take 1640 together).
constexpr double kExposed = 0.5;
// Stall cycles of a pipeline step whose tiles pass through registers; empirical.
constexpr double kRegisterStall = 1400;
// Stall cycles of an asynchronous copy, divided by the steps in flight (H200, tf32: 850 cycles per
// step with three in flight).
constexpr double kAsyncCopyLatency = 2550;
// Minimum stall cycles of a step with asynchronous copies; empirical.
constexpr double kMinStepCycles = 450;
constexpr double kStepOverhead = 100;  // cycles of barriers per step, never hidden; empirical
// Cycles per vector that a work-item converts or rounds; empirical.
constexpr double kConvertCycles = 16;
// Microseconds of a kernel besides its steps, standalone launch; empirical.
constexpr double kFixedUs = 3;
// Scalar instructions that a compute unit issues per cycle.
constexpr double kLanes = 128;
// Instructions per element of an epilogue that adds a bias and rounds.
constexpr double kPlainOperations = 4;
// Instructions for each further index of K, and for each constraint, of an element that no vector
// includes (H200: 5,000 cycles a step of 128x192x32 for a 3x3 window's gradient, 2,600 without
// them).
constexpr double kIndexOperations = 12;
constexpr double kConstraintOperations = 7;
constexpr double kStoreCycles = 2;  // cycles to store one accumulator of a warp; empirical
// Cycles of a warp to load an element of the left factor into registers and round it (H100: 9 % of
// a step of 128x160x64).
constexpr double kFragmentCycles = 1;
// Microseconds of a kernel besides its steps, in a megakernel; empirical.
constexpr double kFixedInSequenceUs = 2;

// Cycles per step for vectors that pass through registers or are rounded, divided by the width of a
// warp.
double ConvertCycles(const MatrixPlan& plan) {
  const auto vector = static_cast<double>(MatrixTile{plan.format}.vector());
  const auto vectors = [&](const MatrixOperand& operand, int64_t rows) {
    return operand.is_copied && !operand.is_rounded
               ? 0
               : static_cast<double>(rows * plan.step_k()) / vector;
  };
  const double left = plan.resident_steps > 0 ? 0 : vectors(plan.left, plan.row_tile);
  const double all = left + vectors(plan.right, plan.column_tile);
  return all * kConvertCycles / static_cast<double>(gpu::kWarp);
}

// Bytes of a factor through L2 per step. Reads of single elements fetch sectors, which adjacent
// rows may share.
double LoadBytes(const poly::FlatContraction& flat, const MatrixOperand& operand, int64_t rows,
                 int64_t k) {
  const DataType type = flat.tensors[flat.accesses[operand.access].tensor].shape.type;
  const auto bytes = static_cast<double>(rows * k * ByteWidth(type));
  return operand.loads_vectors ? bytes : operand.spreads_rows ? 1.5 * bytes : 4 * bytes;
}

// Cycles per step for the addresses of elements that are loaded one by one.
double AddressCycles(const MatrixPlan& plan, const MatrixOperand& operand, int64_t rows) {
  if (operand.loads_vectors) return 0;
  const double operations = kIndexOperations * static_cast<double>(plan.reduced.size() - 1) +
                            kConstraintOperations * static_cast<double>(operand.constraints.size());
  return static_cast<double>(rows * plan.step_k()) * operations / kLanes;
}

// Bytes that an access reads of its tensor, which may be a slice.
double ReadBytes(const poly::FlatContraction& flat, int access) {
  const TensorShape& shape = flat.tensors[flat.accesses[access].tensor].shape;
  const poly::FlatAccess strides = poly::Flatten(flat, access);
  double elements = 1;
  for (size_t i = 0; i < strides.strides.size(); ++i) {
    if (strides.strides[i] != 0) elements *= static_cast<double>(flat.indices[i].range);
  }
  elements = std::min(elements, static_cast<double>(shape.element_count()));
  return elements * static_cast<double>(ByteWidth(shape.type));
}

double MemoryBytes(const poly::FlatContraction& flat) {
  double bytes = 0;
  for (const poly::Output& output : flat.outputs) {
    bytes += static_cast<double>(output.shape.byte_size());
  }
  for (size_t a = 0; a < flat.accesses.size(); ++a) bytes += ReadBytes(flat, static_cast<int>(a));
  return bytes;
}

// Cycles of the tensor core per step.
double TensorCoreCycles(const MatrixPlan& plan, const HardwareSettings& settings) {
  const auto points = static_cast<double>(plan.row_tile * plan.column_tile * plan.step_k());
  const auto rate = static_cast<double>(std::max<int64_t>(settings.matrix_rate, 1));
  return points / (plan.format == MatrixFormat::kTf32 ? rate / 2 : rate);
}

double LoadCycles(const poly::FlatContraction& flat, const MatrixPlan& plan) {
  double bytes = LoadBytes(flat, plan.right, plan.column_tile, plan.step_k());
  double cycles = ConvertCycles(plan) + AddressCycles(plan, plan.right, plan.column_tile);
  if (plan.resident_steps == 0) {
    bytes += LoadBytes(flat, plan.left, plan.row_tile, plan.step_k());
    cycles += AddressCycles(plan, plan.left, plan.row_tile);
  }
  return bytes / kLoadRate + cycles;
}

// Cycles per step in which work-items load the left factor into registers. The step's MMAs wait.
double FragmentCycles(const MatrixPlan& plan) {
  const auto elements = static_cast<double>(plan.row_tile * plan.step_k());
  return plan.left_tile().is_fragment() ? kFragmentCycles * elements / gpu::kWarp : 0;
}

double Together(double tensor_core_cycles, double load_cycles) {
  return std::max(tensor_core_cycles, load_cycles) +
         kExposed * std::min(tensor_core_cycles, load_cycles);
}

// Estimated instructions of an operation of the epilogue; from the generated text and manuals.
double OperationWeight(ScalarOp op, DataType type) {
  switch (op) {
    case ScalarOp::kIdentity:
      return 0;
    case ScalarOp::kCast:
      return ComputeType(type) == type ? 0 : 2;
    case ScalarOp::kExp:
      return 8;
    case ScalarOp::kDiv:
    case ScalarOp::kRecip:
    case ScalarOp::kSqrt:
      return 10;
    case ScalarOp::kErf:
    case ScalarOp::kTanh:
    case ScalarOp::kSigmoid:
    case ScalarOp::kLog:
    case ScalarOp::kSin:
    case ScalarOp::kCos:
      return 25;
    case ScalarOp::kPow:
    case ScalarOp::kAtan2:
      return 60;
    default:
      return 1;
  }
}

double Operations(const poly::ExprPtr& expr, std::set<const poly::Expr*>* seen) {
  if (!seen->insert(expr.get()).second) return 0;
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  if (apply == nullptr) return 0;
  double operations = OperationWeight(apply->op, expr->type);
  for (const poly::ExprPtr& operand : apply->operands) operations += Operations(operand, seen);
  return operations;
}

// Cycles of a work-group's epilogue, without the cycles that storing rounded sums takes: other
// terms include them.
double EpilogueCycles(const poly::FlatContraction& flat, const MatrixPlan& plan,
                      const Machine& machine) {
  std::set<const poly::Expr*> seen;
  double operations = -kPlainOperations;
  double bytes = -static_cast<double>(ByteWidth(flat.outputs.front().shape.type));
  for (const poly::Output& output : flat.outputs) {
    operations += Operations(output.expr, &seen);
    bytes += static_cast<double>(ByteWidth(output.shape.type));
  }
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    if (static_cast<int>(a) == plan.left.access || static_cast<int>(a) == plan.right.access)
      continue;
    const TensorShape& shape = flat.tensors[flat.accesses[a].tensor].shape;
    const bool is_whole = shape.element_count() >= flat.outputs.front().shape.element_count();
    if (is_whole) bytes += static_cast<double>(ByteWidth(shape.type));
  }
  const auto elements = static_cast<double>(plan.row_tile * plan.result_columns());
  const double units = static_cast<double>(std::max<int64_t>(machine.units, 1));
  const double rate = machine.memory_bytes_per_us / machine.cycles_per_us / units;
  return elements * std::max(std::max(operations, 0.0) / kLanes, bytes / rate);
}

// Estimates the cost with at most `most_resident` work-groups per compute unit.
MatrixCost EstimateWith(const poly::FlatContraction& flat, const MatrixPlan& plan,
                        const HardwareSettings& settings, int64_t most_resident, double fixed_us) {
  MatrixCost cost;
  const Machine machine(settings);
  const auto units = static_cast<double>(std::max<int64_t>(machine.units, 1));
  const auto groups = static_cast<double>(plan.GroupCount(flat));
  const auto steps = static_cast<double>(plan.StepCount(flat));
  cost.resident = static_cast<double>(std::min(ResidentGroups(plan, settings), most_resident));
  const double side_by_side = std::min(cost.resident, std::ceil(groups / units));
  cost.tensor_core_cycles = TensorCoreCycles(plan, settings);
  cost.load_cycles = LoadCycles(flat, plan);
  cost.latency_cycles =
      plan.copies_all()
          ? std::max(kMinStepCycles, kAsyncCopyLatency / static_cast<double>(plan.stages - 1))
          : kRegisterStall;
  cost.waves = std::ceil(groups / (units * cost.resident));
  const double work = Together(cost.tensor_core_cycles, cost.load_cycles) + FragmentCycles(plan);
  const double step = std::max(work * side_by_side, cost.latency_cycles) + kStepOverhead;
  const double memory = MemoryBytes(flat) / machine.memory_bytes_per_us;
  // Work-groups beside each other hide most of an epilogue, because one multiplies meanwhile.
  const double loop = steps * step;
  const double epilogues = EpilogueCycles(flat, plan, machine) * side_by_side;
  const double wave = side_by_side < 2 ? loop + epilogues : Together(loop, epilogues);
  cost.microseconds = fixed_us + std::max(memory, machine.Microseconds(cost.waves * wave));
  return cost;
}

}  // namespace

int64_t ResidentGroups(const MatrixPlan& plan, const HardwareSettings& settings) {
  // The largest work-group uses a compute unit's whole local memory.
  const int64_t by_memory =
      (settings.matrix_local_bytes + kGroupLocalBytes) / (plan.local_bytes() + kGroupLocalBytes);
  const int64_t by_registers =
      gpu::kUnitRegisters / ((plan.accumulators() + kOtherRegisters) * plan.threads());
  return std::clamp<int64_t>(std::min(by_memory, by_registers), 1, kMaxResident);
}

MatrixPartCycles EstimateMatrixPart(const poly::FlatContraction& flat, const MatrixPlan& plan,
                                    const HardwareSettings& settings) {
  const auto steps = static_cast<double>(plan.StepCount(flat));
  const auto warps = static_cast<double>(plan.threads()) / gpu::kWarp;
  const double stores = static_cast<double>(plan.accumulators()) * warps * kStoreCycles;
  const double step = Together(TensorCoreCycles(plan, settings), LoadCycles(flat, plan));
  MatrixPartCycles cycles;
  cycles.work = steps * step + stores;
  const auto ahead = static_cast<double>(plan.copies_all() ? plan.stages - 1 : 1);
  const double waits = plan.is_at_once ? 1 : std::ceil(steps / ahead);
  // A stage has no other work-group to hide its stalls.
  cycles.wait = waits * kRegisterStall;
  return cycles;
}

MatrixCost EstimateMatrixCost(const poly::FlatContraction& flat, const MatrixPlan& plan,
                              const HardwareSettings& settings) {
  const MatrixCost alone = EstimateWith(flat, plan, settings, kMaxResident, kFixedUs);
  const bool is_in_sequence = settings.batches_launches &&
                              FitsLaunchBatch(plan.threads(), plan.local_bytes(), true) &&
                              IsShortForLaunchBatch(alone.microseconds, true);
  if (!is_in_sequence) return alone;
  return EstimateWith(flat, plan, settings, kMaxBatchWorkItems / plan.threads(),
                      kFixedInSequenceUs);
}

}  // namespace tartan::plan
