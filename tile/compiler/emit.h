// SPDX-License-Identifier: Apache-2.0
// Writes the kernels of a schedule and puts them, their buffers and steps into a list.
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

// A value and the buffer that holds it.
struct ValueBuffer {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  TensorShape shape;
  // The value that has the buffer: another one for a view.
  ir::ValueId storage = ir::kNoValue;
};

// What a schedule's numbers of values mean.
struct ScheduledValues {
  std::string name;                 // of the program
  std::vector<ValueBuffer> values;  // by number; those without a buffer have no storage
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> outputs;
  const ir::Program* program = nullptr;  // where the schedule has special operations
};

// Those of a program that was divided so.
ScheduledValues ValuesOf(const ir::Program& program, const ir::Grouping& grouping,
                         const std::vector<bool>& is_constant);

absl::StatusOr<KernelList> EmitKernels(const ScheduledValues& values, const Schedule& schedule,
                                       const CompileOptions& options, const CompileHooks& hooks);

}  // namespace tartan::compiler
