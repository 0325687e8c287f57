// SPDX-License-Identifier: Apache-2.0
// The ordered launches, fills and copies of a program, with a plan per kernel. Only lowering to
// loop IR is left to do.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/partition.h"
#include "tile/fuse/judge.h"
#include "tile/ir/program.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::compiler {

struct PlannedLaunch {
  plan::PlannedKernel planned;
  int form = -1;  // launches with equal numbers (not -1) run the same kernel
  // The values of the kernel's outputs and tensors, in order.
  std::vector<ir::ValueId> outputs = {};
  std::vector<ir::ValueId> tensors = {};
  double flops = 0;
  double bytes = 0;         // bytes read and written, each tensor counted once
  double copied_bytes = 0;  // see plan::LaunchContext
  // For a repacking kernel: the value whose elements it copies into another order. Else kNoValue.
  ir::ValueId packed = ir::kNoValue;
};

struct FillValue {
  ir::ValueId value = ir::kNoValue;  // filled with zeros
};

struct CopyValue {
  ir::ValueId from = ir::kNoValue;
  ir::ValueId to = ir::kNoValue;
};

struct ScheduledStep {
  bool is_setup = false;  // runs once, at load
  std::string description;
  std::variant<PlannedLaunch, fuse::PlannedChain, SpecialKernel, FillValue, CopyValue> work;
};

// A value that is not in the program: a kernel computes it for a later kernel.
struct AddedValue {
  std::string name;
  TensorShape shape;
};

struct Schedule {
  // Added values are numbered from `first_added` on, after the program's values.
  ir::ValueId first_added = 0;
  std::vector<AddedValue> added;
  // Per value, added ones included: the value that owns its memory.
  std::vector<ir::ValueId> storage;
  std::vector<bool> is_constant;  // per value, added ones included: it is computed once, at load
  std::vector<ScheduledStep> steps;
  // Values (owners of memory) whose kernels round their stores to tf32.
  std::set<ir::ValueId> rounded = {};

  // Returns the name of the value's memory.
  const std::string& NameOf(const ir::Program& program, ir::ValueId value) const;
};

// The values that a step reads and writes; entries may repeat.
struct StepValues {
  std::vector<ir::ValueId> read;
  std::vector<ir::ValueId> written;
};
StepValues ReadAndWritten(const ir::Program& program, const ScheduledStep& step);

// Chooses plans and puts launches, fills and copies in order.
class Scheduler {
 public:
  // `storage`: per value, the owner of its memory. `is_constant`: per value, whether it is a
  // load-time constant. `hooks` and `judge` must outlive the scheduler.
  // `stays_in_cache`: sets LaunchContext::stays_in_cache of kernels that read a large constant.
  Scheduler(std::vector<ir::ValueId> storage, std::vector<bool> is_constant,
            const CompileHooks& hooks, fuse::Judge* judge, bool stays_in_cache = false);

  // Adds all steps of one kernel of a partition. `program` is the partitioned program.
  void Add(const ir::Program& program, const PartitionedKernel& kernel);
  // Plans the kernels at once, so that Add need not plan them.
  void PlanAhead(const ir::Program& program, absl::Span<const PartitionedKernel> kernels);
  // Adds one kernel with a given plan, for comparing plans.
  void AddPlanned(const plan::PlannedKernel& planned, std::vector<ir::ValueId> outputs);
  void Fill(ir::ValueId value);

  Schedule Finish() && { return std::move(schedule_); }

 private:
  bool IsConstant(ir::ValueId value) const { return schedule_.is_constant[value]; }
  std::vector<bool> ConstantTensors(const poly::FlatContraction& flat) const {
    return fuse::ConstantTensors(flat, schedule_.is_constant);
  }
  bool AreConstant(absl::Span<const poly::Tensor> tensors) const;
  ir::ValueId AddValue(std::string name, const TensorShape& shape, bool is_constant);
  void AddStep(bool is_setup, std::string description, decltype(ScheduledStep::work) work);
  // Fills or copies the result before a kernel writes only a part of it.
  void AddPrefill(const ir::Program& program, const PartitionedKernel& kernel, bool is_setup);
  // The context in which a kernel of the partition is launched.
  plan::LaunchContext ContextOf(const ir::Program& program, const poly::FlatContraction& flat,
                                bool is_setup) const;
  // Adds a kernel planned by the tuning database or the cost model.
  // `context` gets the constant tensors here.
  void AddKernel(const poly::FlatContraction& flat, std::string description, bool is_setup,
                 plan::LaunchContext context = {});
  // `launch` has its plan and outputs. `flat`: the kernel before planning.
  void AddLaunch(const poly::FlatContraction& flat, PlannedLaunch launch, std::string description,
                 bool is_setup);
  // Adds the kernels that pack the operands, then the packed matmul.
  void AddPacked(const ir::Program& program, const poly::PackedMatmul& packed,
                 const std::string& description, bool is_setup);
  // Returns the value of a packed operand and adds the kernel that computes it. A constant has one
  // copy per element order. `packed.source` is explained in plan::PackedOperand.
  ir::ValueId AddOperand(const plan::PackedOperand& packed);
  ir::ValueId MakeOperand(const plan::PackedOperand& packed);
  // Adds a kernel whose result only other kernels read.
  ir::ValueId AddPart(poly::FlatContraction flat);
  // Returns true for a reduction with few rows that reads a constant larger than the L1 cache, so
  // that reading the constant dominates its time.
  bool ReadsLargeConstant(const poly::FlatContraction& flat) const;

  const CompileHooks& hooks_;
  fuse::Judge& judge_;
  const bool stays_in_cache_;
  // Packed copies of constants, by form.
  std::map<std::pair<ir::ValueId, std::string>, ir::ValueId> copies_;
  Schedule schedule_;
};

}  // namespace tartan::compiler
