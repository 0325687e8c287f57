// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/emit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tile/base/launch_batch_limits.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/describe_operations.h"
#include "tile/compiler/known_kernels.h"
#include "tile/compiler/round_stores.h"
#include "tile/loop/rename.h"
#include "tile/loop/verify.h"
#include "tile/lower/lower_kernel.h"
#include "tile/lower/rows/row_group_kernel.h"
#include "tile/lower/rows/row_kernel.h"
#include "tile/lower/special/lower_special.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

// Checks that two kernels with equal texts are equal, because one of them runs in place of both.
absl::Status CheckEqual(const loop::Kernel& first, const loop::Kernel& second) {
  if (loop::Equal(loop::WithoutNames(first), loop::WithoutNames(second))) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("kernels ", first.name, " and ", second.name,
                                          " differ, but have the same text"));
}

class Emitter {
 public:
  Emitter(const ScheduledValues& values, const Schedule& schedule, const CompileOptions& options,
          const CompileHooks& hooks)
      : values_(values),
        schedule_(schedule),
        options_(options),
        hooks_(hooks),
        first_without_buffer_(schedule.first_added) {
    list_.name = values.name;
    lower_options_.force_64bit_indices = options.force_64bit_indices;
    lower_options_.size_arguments = options.tier == Tier::kReady;
  }

  absl::StatusOr<KernelList> Run() {
    for (size_t v = 0; v < values_.values.size(); ++v) {
      const ValueBuffer& value = values_.values[v];
      if (value.storage != static_cast<ValueId>(v)) continue;
      buffers_.emplace(value.storage, AddBuffer(value.name, value.kind, value.shape));
    }
    for (const ScheduledStep& step : schedule_.steps) TARTAN_RETURN_IF_ERROR(Emit(step));
    for (ValueId input : values_.inputs) list_.inputs.push_back(BufferOf(input));
    for (ValueId output : values_.outputs) {
      list_.outputs.push_back(BufferOf(output));
      list_.output_shapes.push_back(values_.values[output].shape);
    }
    return std::move(list_);
  }

 private:
  static BufferKind KindOf(bool is_setup) {
    return is_setup ? BufferKind::kPersistent : BufferKind::kTemporary;
  }

  int AddBuffer(std::string name, BufferKind kind, const TensorShape& shape) {
    list_.buffers.push_back({std::move(name), kind, shape, shape.byte_size()});
    return static_cast<int>(list_.buffers.size()) - 1;
  }

  int BufferOf(ValueId value) {
    if (value < schedule_.first_added) return buffers_.at(values_.values[value].storage);
    // Buffers are in the order in which values were added.
    for (; first_without_buffer_ <= value; ++first_without_buffer_) {
      const AddedValue& added = schedule_.added[first_without_buffer_ - schedule_.first_added];
      buffers_.emplace(
          first_without_buffer_,
          AddBuffer(added.name, KindOf(schedule_.is_constant[first_without_buffer_]), added.shape));
    }
    return buffers_.at(value);
  }

  const std::string& NameOf(ValueId value) { return list_.buffers[BufferOf(value)].name; }

  void AddStep(bool is_setup, Step step) {
    (is_setup ? list_.setup : list_.steps).push_back(std::move(step));
  }

  // Returns a C identifier with the kernel's number and the value that it computes.
  std::string KernelName(absl::string_view value_name) const {
    std::string name = absl::StrCat("k", list_.kernels.size(), "_");
    for (char c : value_name.substr(0, 40)) {
      name.push_back(absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_');
    }
    return name;
  }

  // Adds the launch of a kernel. Kernels that differ only in name, comments and size values share
  // one kernel.
  absl::Status AddLaunch(bool is_setup, const loop::Kernel& lowered, LaunchStep step) {
    hooks_.Dump("loops", [&] { return loop::ToString(lowered); });
    TARTAN_RETURN_IF_ERROR(hooks_.Verify("loops", [&] { return loop::Verify(lowered); }));
    const std::shared_ptr<const SimplifiedKernel> simplified =
        hooks_.known != nullptr ? hooks_.known->Get(lowered) : SimplifyKernel(lowered);
    loop::Kernel kernel = lowered;
    kernel.body = simplified->body;
    hooks_.Dump("simplified", [&] { return loop::ToString(kernel); });
    TARTAN_RETURN_IF_ERROR(hooks_.Verify("simplified", [&] { return loop::Verify(kernel); }));
    for (const loop::Size& size : kernel.sizes) step.sizes.push_back(size.value);
    if (!kernel.sizes.empty()) std::copy_n(kernel.global_size, 3, step.global_size.begin());
    const auto place = numbers_.emplace(simplified->text, static_cast<int>(list_.kernels.size()));
    const int number = place.first->second;
    const bool is_new = place.second;
    // A dynamic-shape kernel serves many programs, so its name is a digest of its text.
    if (options_.tier == Tier::kReady) kernel.name = simplified->name;
    TARTAN_RETURN_IF_ERROR(hooks_.Verify("write-kernels", [&] {
      return is_new ? absl::OkStatus() : CheckEqual(list_.kernels[number], kernel);
    }));
    if (is_new) list_.kernels.push_back(std::move(kernel));
    step.kernel = number;
    AddStep(is_setup, std::move(step));
    return absl::OkStatus();
  }

  absl::Status Emit(const ScheduledStep& step) {
    return Match(
        step.work,
        [&](const FillValue& fill) {
          const int buffer = BufferOf(fill.value);
          AddStep(step.is_setup, FillStep{buffer, list_.buffers[buffer].shape.type, 0});
          return absl::OkStatus();
        },
        [&](const CopyValue& copy) {
          AddStep(step.is_setup, CopyStep{BufferOf(copy.from), BufferOf(copy.to)});
          return absl::OkStatus();
        },
        [&](const PlannedLaunch& launch) { return EmitLaunch(step, launch); },
        [&](const fuse::PlannedChain& chain) { return EmitChain(step, chain); },
        [&](const SpecialKernel& special) { return EmitSpecial(step, special.value); });
  }

  // Marks the stores to `parameter` as rounded if the schedule rounds the value.
  void RoundStoresOf(ValueId value, size_t parameter, loop::Kernel* kernel) const {
    const bool is_rounded = schedule_.rounded.count(schedule_.storage[value]) > 0;
    if (!kernel->parameters[parameter].is_output || !is_rounded) return;
    *kernel = WithRoundedStores(std::move(*kernel), kernel->parameters[parameter].name);
  }

  absl::Status EmitLaunch(const ScheduledStep& scheduled, const PlannedLaunch& launch) {
    const plan::PlannedKernel& planned = launch.planned;
    const poly::FlatContraction& flat = planned.flat;
    hooks_.Dump("plan", [&] {
      return absl::StrCat(flat.name, ": ", plan::ToString(planned.plan, flat), "\n  ", planned.cost,
                          "\n");
    });
    LaunchStep step;
    for (ValueId output : launch.outputs) step.buffers.push_back(BufferOf(output));
    for (ValueId tensor : launch.tensors) step.buffers.push_back(BufferOf(tensor));
    step.description = launch.packed == ir::kNoValue
                           ? scheduled.description
                           : absl::StrCat("packed ", NameOf(launch.packed));
    step.flops = launch.flops;
    step.bytes = launch.bytes;
    step.predicted_us = planned.predicted_us - planned.packing_us;
    if (hooks_.describes_launches) {
      step.operations = DescribeOperations(flat);
      step.plan = absl::StrCat(plan::ToString(planned.plan, flat), "\n", planned.cost);
    }
    // GPU tiles do not write elements beyond the ranges, so only CPU plans need the check.
    const auto* tiled = std::get_if<plan::CpuPlan>(&planned.plan);
    step.writes_once.assign(launch.outputs.size(),
                            tiled == nullptr || tiled->WritesEachElementOnce(flat));
    // Layers with the same form are lowered once.
    const bool is_cached = launch.form >= 0 && !hooks_.dump;
    if (const auto found = lowered_.find(launch.form); is_cached && found != lowered_.end()) {
      step.kernel = found->second.kernel;
      step.sizes = found->second.sizes;
      step.global_size = found->second.global_size;
      AddStep(scheduled.is_setup, std::move(step));
      return absl::OkStatus();
    }
    lower::LowerOptions lower_options = lower_options_;
    lower_options.overwrites_operands = launch.copied_bytes > 0;
    loop::Kernel kernel =
        lower::LowerKernel(flat, planned.plan, KernelName(flat.name), lower_options);
    for (size_t o = 0; o < launch.outputs.size(); ++o) RoundStoresOf(launch.outputs[o], o, &kernel);
    TARTAN_RETURN_IF_ERROR(AddLaunch(scheduled.is_setup, kernel, std::move(step)));
    if (is_cached) {
      const std::vector<Step>& steps = scheduled.is_setup ? list_.setup : list_.steps;
      lowered_.emplace(launch.form, std::get<LaunchStep>(steps.back()));
    }
    return absl::OkStatus();
  }

  absl::Status EmitChain(const ScheduledStep& scheduled, const fuse::PlannedChain& planned) {
    const graph::RowChain& chain = planned.chain;
    hooks_.Dump("plan", [&] {
      return Match(planned.plan, [](const auto& plan) {
        return absl::StrCat(plan.ToString(), plan.CostText(), "\n");
      });
    });
    const std::string name = KernelName(chain.kernels.back().flat.name);
    lower::FusedRowKernel lowered = Match(
        planned.plan,
        [&](const plan::RowPlan& plan) {
          return lower::LowerRowFusion(chain.kernels, chain.tensors, plan, name, lower_options_);
        },
        [&](const plan::RowGroupPlan& plan) {
          return lower::LowerRowGroups(chain.kernels, chain.tensors, plan, name, lower_options_);
        });
    for (size_t p = 0; p < lowered.parameters.size(); ++p) {
      RoundStoresOf(lowered.parameters[p], p, &lowered.kernel);
    }
    LaunchStep step;
    for (ValueId value : lowered.parameters) {
      step.buffers.push_back(BufferOf(value));
      step.bytes += static_cast<double>(values_.values[value].shape.byte_size());
    }
    step.description = scheduled.description;
    if (const auto* groups = std::get_if<plan::RowGroupPlan>(&planned.plan)) {
      step.predicted_us = groups->predicted_us;
      step.fills_registers = groups->RegisterWords() > kMaxBatchWords;
    }
    if (hooks_.describes_launches) {
      step.plan =
          Match(planned.plan, [](const auto& plan) { return plan.ToString() + plan.CostText(); });
    }
    for (size_t s = 0; s < chain.kernels.size(); ++s) {
      const poly::RowKernel& kernel = chain.kernels[s];
      if (hooks_.describes_launches) {
        absl::StrAppend(&step.operations, s > 0 ? " | " : "", DescribeOperations(kernel.flat));
      }
      step.flops += Flops(kernel.flat);
      if (kernel.output >= 0) continue;  // stays in local memory or registers
      const bool once =
          Match(planned.plan, [s](const auto& plan) { return plan.WritesEachElementOnce(s); });
      step.writes_once.insert(step.writes_once.end(), kernel.flat.outputs.size(), once);
    }
    return AddLaunch(scheduled.is_setup, lowered.kernel, std::move(step));
  }

  absl::Status EmitSpecial(const ScheduledStep& scheduled, ValueId id) {
    const ir::Value& value = values_.program->values[id];
    const auto& special = std::get<ir::Special>(value.op);
    std::vector<TensorShape> operands;
    std::vector<int> buffers = {BufferOf(id)};
    double bytes = static_cast<double>(value.shape.byte_size());
    for (ValueId operand : special.operands) {
      operands.push_back(values_.program->values[operand].shape);
      buffers.push_back(BufferOf(operand));
      bytes += static_cast<double>(operands.back().byte_size());
    }
    TARTAN_ASSIGN_OR_RETURN(const lower::SpecialKernels lowered,
                            lower::LowerSpecial(special, operands, value.shape, options_.settings,
                                                KernelName(value.name), lower_options_));
    for (const lower::ScratchBuffer& scratch : lowered.scratch) {
      const bool is_fixed = scratch.value.has_value();
      buffers.push_back(AddBuffer(absl::StrCat(value.name, "_scratch"),
                                  KindOf(scheduled.is_setup || is_fixed), scratch.shape));
      if (is_fixed) AddStep(true, FillStep{buffers.back(), scratch.shape.type, *scratch.value});
    }
    for (const lower::SpecialLaunch& launch : lowered.launches) {
      LaunchStep step;
      for (int buffer : launch.buffers) step.buffers.push_back(buffers[buffer]);
      step.description = absl::StrCat(Name(special.kind), " ", scheduled.description);
      step.bytes = bytes;
      if (hooks_.describes_launches) step.operations = std::string(Name(special.kind));
      TARTAN_RETURN_IF_ERROR(AddLaunch(scheduled.is_setup, launch.kernel, std::move(step)));
    }
    return absl::OkStatus();
  }

  const ScheduledValues& values_;
  const Schedule& schedule_;
  const CompileOptions& options_;
  const CompileHooks& hooks_;
  lower::LowerOptions lower_options_;
  KernelList list_;
  std::map<ValueId, int> buffers_;
  ValueId first_without_buffer_;                 // first added value without a buffer
  std::map<std::string, int> numbers_;           // kernel numbers, by kernel text
  std::unordered_map<int, LaunchStep> lowered_;  // lowered launches, by form
};

}  // namespace

ScheduledValues ValuesOf(const ir::Program& program, const ir::Grouping& grouping,
                         const std::vector<bool>& is_constant) {
  ScheduledValues result;
  result.name = program.name;
  result.inputs = program.inputs;
  result.outputs = program.outputs;
  result.program = &program;
  std::vector<bool> is_output(program.values.size(), false);
  for (ValueId output : program.outputs) is_output[grouping.storage[output]] = true;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ir::Value& value = program.values[v];
    BufferKind kind = is_output[v] ? BufferKind::kOutput : BufferKind::kTemporary;
    if (const auto* input = std::get_if<ir::Input>(&value.op)) {
      kind = input->is_constant ? BufferKind::kConstant
             : input->is_state  ? BufferKind::kState
                                : BufferKind::kInput;
    } else if (is_constant[v]) {
      kind = BufferKind::kPersistent;
    }
    result.values.push_back({value.name, kind, value.shape, grouping.storage[v]});
  }
  return result;
}

absl::StatusOr<KernelList> EmitKernels(const ScheduledValues& values, const Schedule& schedule,
                                       const CompileOptions& options, const CompileHooks& hooks) {
  return Emitter(values, schedule, options, hooks).Run();
}

}  // namespace tartan::compiler
