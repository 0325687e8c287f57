// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/compile_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/compiler/emit.h"
#include "tile/compiler/schedule.h"

namespace tartan::compiler {
namespace {

// Numbers the kernel's values: first the tensors, then the outputs.
ScheduledValues NumberValues(const poly::FlatContraction& flat,
                             const std::vector<bool>& is_constant) {
  ScheduledValues result;
  result.name = flat.name;
  const auto add = [&](std::string name, BufferKind kind, const TensorShape& shape) {
    const ir::ValueId number = static_cast<ir::ValueId>(result.values.size());
    result.values.push_back({std::move(name), kind, shape, number});
    return number;
  };
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    const BufferKind kind = is_constant[t] ? BufferKind::kConstant : BufferKind::kInput;
    result.inputs.push_back(add(absl::StrCat("in", t), kind, flat.tensors[t].shape));
  }
  for (const poly::Output& output : flat.outputs) {
    result.outputs.push_back(add("out", BufferKind::kOutput, output.shape));
  }
  return result;
}

// Replaces the value numbers in a plan by the numbers that NumberValues assigned.
plan::PlannedKernel Renumber(plan::PlannedKernel planned, const poly::FlatContraction& flat) {
  const auto renumber = [&](ir::ValueId* value) {
    if (*value == ir::kNoValue) return;
    const auto found =
        std::find_if(flat.tensors.begin(), flat.tensors.end(),
                     [&](const poly::Tensor& tensor) { return tensor.value == *value; });
    *value = static_cast<ir::ValueId>(found - flat.tensors.begin());
  };
  for (poly::Tensor& tensor : planned.flat.tensors) renumber(&tensor.value);
  for (plan::PackedOperand& packed : planned.packed) {
    const bool is_copy = packed.source != ir::kNoValue;
    renumber(&packed.source);
    for (poly::Tensor& tensor : packed.copy.tensors) {
      if (!is_copy) renumber(&tensor.value);
    }
  }
  return planned;
}

}  // namespace

absl::StatusOr<KernelList> CompileKernel(const poly::FlatContraction& flat,
                                         const plan::PlannedKernel& planned,
                                         const std::vector<bool>& is_constant,
                                         const CompileOptions& options) {
  const ScheduledValues values = NumberValues(flat, is_constant);
  std::vector<bool> constants = is_constant;
  constants.resize(values.values.size(), false);
  std::vector<ir::ValueId> storage;
  for (const ValueBuffer& value : values.values) storage.push_back(value.storage);
  const CompileHooks hooks;
  fuse::Judge judge(JudgeOptionsOf(options, hooks));
  Scheduler scheduler(std::move(storage), std::move(constants), hooks, &judge);
  int64_t elements = 1;
  for (int64_t dim : flat.output_dims) elements *= dim;
  const bool writes_all = flat.store_guard.empty() && flat.output_point_count() == elements;
  if (!writes_all) {
    for (ir::ValueId output : values.outputs) scheduler.Fill(output);
  }
  scheduler.AddPlanned(Renumber(planned, flat), values.outputs);
  return EmitKernels(values, std::move(scheduler).Finish(), options, hooks);
}

}  // namespace tartan::compiler
