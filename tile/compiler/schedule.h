// SPDX-License-Identifier: Apache-2.0
// The launches, fills and copies that compute a program, each kernel with its plan: what is left to
// do is to write the kernels.
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
#include "tile/compiler/plan_memory.h"
#include "tile/ir/program.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::compiler {

struct PlannedLaunch {
  plan::PlannedKernel planned;
  int form = -1;  // launches with the same number (not -1) run the same kernel
  // What the kernel's outputs and tensors are, in order.
  std::vector<ir::ValueId> outputs;
  std::vector<ir::ValueId> tensors;
  double flops = 0;
  double bytes = 0;  // read and written at least once
  // The value whose elements the kernel only puts into another order, for another kernel.
  ir::ValueId packed = ir::kNoValue;
};

struct FillValue {
  ir::ValueId value = ir::kNoValue;  // with zeros
};

struct CopyValue {
  ir::ValueId from = ir::kNoValue;
  ir::ValueId to = ir::kNoValue;
};

struct ScheduledStep {
  bool is_setup = false;  // done once, at load
  std::string description;
  std::variant<PlannedLaunch, PlannedChain, SpecialKernel, FillValue, CopyValue> work;
};

// A value that the program does not have: computed by one kernel for another.
struct AddedValue {
  std::string name;
  TensorShape shape;
  bool is_constant = false;
};

struct Schedule {
  // They are numbered from `first_added` on, behind the program's own.
  ir::ValueId first_added = 0;
  std::vector<AddedValue> added;
  std::vector<ScheduledStep> steps;
  // Values, those that hold elements, whose kernels round what they store to tf32.
  std::set<ir::ValueId> rounded = {};
};

// What a step reads and writes, each perhaps several times.
struct StepValues {
  std::vector<ir::ValueId> read;
  std::vector<ir::ValueId> written;
};
StepValues ReadAndWritten(const ir::Program& program, const ScheduledStep& step);

// Chooses plans and puts everything in order.
class Scheduler {
 public:
  // `is_constant`: of each value, whether it is known at load. All outlive the scheduler.
  // `stays_in_cache`: as in poly::FlatContraction, of all kernels that a large constant makes slow.
  Scheduler(const std::vector<bool>& is_constant, const CompileOptions& options,
            const CompileHooks& hooks, bool stays_in_cache = false);

  // Everything one kernel of a partition needs. `program` is the one that was partitioned.
  void Add(const ir::Program& program, const PartitionedKernel& kernel);
  // One kernel whose plan is given, for comparing plans.
  void AddPlanned(const plan::PlannedKernel& planned, std::vector<ir::ValueId> outputs);
  void Fill(ir::ValueId value);

  Schedule Finish() && { return std::move(schedule_); }

 private:
  bool IsConstant(ir::ValueId value) const;
  bool AreConstant(absl::Span<const poly::Tensor> tensors) const;
  ir::ValueId AddValue(std::string name, const TensorShape& shape, bool is_constant);
  void AddStep(bool is_setup, std::string description, decltype(ScheduledStep::work) work);
  // What a result holds before kernels that write only parts of it run.
  void AddPrefill(const ir::Program& program, const PartitionedKernel& kernel, bool is_setup);
  // The kernel as the cost model or what tuning kept plans it.
  void AddKernel(const poly::FlatContraction& flat, std::string description, bool is_setup);
  void AddLaunch(const poly::FlatContraction& flat, PlanMemory::Remembered planned,
                 std::vector<ir::ValueId> outputs, std::string description, bool is_setup);
  PlanMemory::Remembered Plan(const poly::FlatContraction& flat, bool may_be_tuned);
  PlanMemory::Remembered Plan(const poly::FlatContraction& flat,
                              const std::vector<bool>& is_constant, bool may_be_tuned);
  // Plans say that the product takes less time than the direct kernel.
  bool IsQuicker(const poly::PackedProduct& product, const poly::FlatContraction& direct);
  // The launches that write a product's words, and the product's.
  void AddPacked(const ir::Program& program, const PackedKernels& kernels,
                 const std::string& description, bool is_setup);
  // What holds an operand of a launch, computed ahead; `source` as in plan::PackedOperand. A
  // constant has one copy in each order.
  ir::ValueId AddOperand(const plan::PackedOperand& packed);
  ir::ValueId MakeOperand(const plan::PackedOperand& packed);
  // A kernel whose result is for others alone.
  ir::ValueId AddPart(poly::FlatContraction flat);
  // Of which the first cache holds a part, and for so few rows that reading it takes the time.
  bool ReadsLargeConstant(const poly::FlatContraction& flat) const;

  const std::vector<bool>& is_constant_;
  const CompileOptions& options_;
  const CompileHooks& hooks_;
  const bool stays_in_cache_;
  PlanMemory plans_;
  std::map<std::pair<ir::ValueId, std::string>, ir::ValueId> copies_;  // by their form
  Schedule schedule_;
};

}  // namespace tartan::compiler
