// SPDX-License-Identifier: Apache-2.0
// Lowers the kernels of a schedule to loop IR and collects kernels, buffers and steps in a
// KernelList.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/compiler/schedule.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// A value and the buffer that stores it.
struct ValueBuffer {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  TensorShape shape;
  // The value that owns the buffer; a different value if this one is a view.
  ir::ValueId storage = ir::kNoValue;
};

// Meaning of the value numbers in a schedule.
struct ScheduledValues {
  std::string name;                 // of the program
  std::vector<ValueBuffer> values;  // by number; values without a buffer have no storage
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  const ir::Program* program = nullptr;  // required if the schedule has special operations
};

// Returns the values of a program that was partitioned into `grouping`.
ScheduledValues ValuesOf(const ir::Program& program, const ir::Grouping& grouping,
                         const std::vector<bool>& is_constant);

absl::StatusOr<KernelList> EmitKernels(const ScheduledValues& values, const Schedule& schedule,
                                       const CompileOptions& options, const CompileHooks& hooks);

}  // namespace tartan::compiler
