// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/form_key.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

double Bytes(const poly::FlatContraction& flat) {
  double bytes = 0;
  for (const poly::Tensor& tensor : flat.tensors) bytes += tensor.shape.byte_size();
  for (const poly::Output& output : flat.outputs) bytes += output.shape.byte_size();
  return bytes;
}

// Returns the kernel that packs the operand.
poly::FlatContraction CopyOf(const plan::PackedOperand& packed) {
  poly::FlatContraction copy = packed.copy;
  if (packed.source == ir::kNoValue) return copy;
  for (poly::Tensor& tensor : copy.tensors) tensor.value = packed.source;
  return copy;
}

std::vector<ValueId> OutputsOf(const poly::FlatContraction& flat) {
  std::vector<ValueId> outputs;
  for (const poly::Output& output : flat.outputs) outputs.push_back(output.value);
  return outputs;
}

// Bytes that a copy reads and writes if the kernel cannot write next values of states in place.
double CopiedBytes(const ir::Program& program, const poly::FlatContraction& flat) {
  const std::vector<ValueId> values = OutputsOf(flat);
  double bytes = 0;
  for (const ValueId input : program.inputs) {
    const int next = std::get<ir::Input>(program.values[input].op).next;
    if (next < 0) continue;
    const bool is_made =
        std::find(values.begin(), values.end(), program.outputs[next]) != values.end();
    if (is_made) bytes += static_cast<double>(program.values[input].shape.byte_size());
  }
  return 2 * bytes;
}

}  // namespace

StepValues ReadAndWritten(const ir::Program& program, const ScheduledStep& step) {
  return Match(
      step.work,
      [](const PlannedLaunch& launch) {
        return StepValues{launch.tensors, launch.outputs};
      },
      [](const fuse::PlannedChain& chain) {
        StepValues values;
        for (const poly::RowKernel& kernel : chain.chain.kernels) {
          for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
            if (kernel.tensors[t] < 0) values.read.push_back(kernel.flat.tensors[t].value);
          }
          if (kernel.output >= 0) continue;
          for (const poly::Output& output : kernel.flat.outputs) {
            values.written.push_back(output.value);
          }
        }
        return values;
      },
      [&](const SpecialKernel& special) {
        const ir::Value& value = program.values[special.value];
        return StepValues{std::get<ir::Special>(value.op).operands, {special.value}};
      },
      [](const FillValue& fill) {
        return StepValues{{}, {fill.value}};
      },
      [](const CopyValue& copy) {
        return StepValues{{copy.from}, {copy.to}};
      });
}

const std::string& Schedule::NameOf(const ir::Program& program, ValueId value) const {
  return value < first_added ? program.values[storage[value]].name
                             : added[value - first_added].name;
}

Scheduler::Scheduler(std::vector<ValueId> storage, std::vector<bool> is_constant,
                     const CompileHooks& hooks, fuse::Judge* judge, bool stays_in_cache)
    : hooks_(hooks), judge_(*judge), stays_in_cache_(stays_in_cache) {
  schedule_.first_added = static_cast<ValueId>(is_constant.size());
  schedule_.storage = std::move(storage);
  schedule_.is_constant = std::move(is_constant);
}

void Scheduler::Add(const ir::Program& program, const PartitionedKernel& kernel) {
  const bool is_setup = IsConstant(kernel.outputs.front());
  const std::string& what = kernel.description;
  if (kernel.is_prefilled) AddPrefill(program, kernel, is_setup);
  Match(
      kernel.form,
      [&](const poly::FlatContraction& flat) {
        AddKernel(flat, what, is_setup, ContextOf(program, flat, is_setup));
      },
      [&](poly::WinogradKernels kernels) {
        if (kernels.padded) kernels.data.tensors.back().value = AddPart(*std::move(kernels.padded));
        kernels.products.tensors[0].value = AddPart(std::move(kernels.data));
        kernels.products.tensors[1].value = AddPart(std::move(kernels.weights));
        kernels.result.tensors.back().value = AddPart(std::move(kernels.products));
        AddKernel(kernels.result, what, is_setup);
      },
      [&](const poly::PackedMatmul& packed) { AddPacked(program, packed, what, is_setup); },
      [&](const fuse::PlannedChain& planned) {
        for (const poly::RowKernel& row : planned.chain.kernels) {
          hooks_.Dump("flat", [&] { return poly::ToString(row.flat); });
        }
        AddStep(/*is_setup=*/false, what, planned);
      },
      [&](const SpecialKernel& special) { AddStep(is_setup, what, special); });
}

void Scheduler::PlanAhead(const ir::Program& program, absl::Span<const PartitionedKernel> kernels) {
  std::vector<fuse::LaunchRequest> launches;
  for (const PartitionedKernel& kernel : kernels) {
    const auto* flat = std::get_if<poly::FlatContraction>(&kernel.form);
    if (flat == nullptr) continue;
    const bool is_setup = IsConstant(kernel.outputs.front());
    launches.push_back({flat, ContextOf(program, *flat, is_setup)});
  }
  std::vector<plan::PlannedKernel> made = judge_.PlanAhead(launches);
  // The kernels of packed operands are known as soon as their readers are planned.
  while (!made.empty()) {
    std::vector<poly::FlatContraction> copies;
    for (const plan::PlannedKernel& planned : made) {
      for (const plan::PackedOperand& packed : planned.packed) copies.push_back(CopyOf(packed));
    }
    launches.clear();
    for (const poly::FlatContraction& copy : copies) {
      launches.push_back({&copy, {ConstantTensors(copy)}});
    }
    made = judge_.PlanAhead(launches, /*are_launches=*/false);
  }
}

plan::LaunchContext Scheduler::ContextOf(const ir::Program& program,
                                         const poly::FlatContraction& flat, bool is_setup) const {
  return {.is_constant = ConstantTensors(flat),
          .copied_bytes = CopiedBytes(program, flat),
          .stays_in_cache = stays_in_cache_ && !is_setup && ReadsLargeConstant(flat)};
}

void Scheduler::AddPlanned(const plan::PlannedKernel& planned, std::vector<ValueId> outputs) {
  AddLaunch(planned.flat, {.planned = planned, .outputs = std::move(outputs)}, planned.flat.name,
            /*is_setup=*/false);
}

void Scheduler::Fill(ValueId value) { AddStep(IsConstant(value), "", FillValue{value}); }

bool Scheduler::AreConstant(absl::Span<const poly::Tensor> tensors) const {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const poly::Tensor& tensor) { return IsConstant(tensor.value); });
}

ValueId Scheduler::AddValue(std::string name, const TensorShape& shape, bool is_constant) {
  const auto value = static_cast<ValueId>(schedule_.storage.size());
  schedule_.added.push_back({std::move(name), shape});
  schedule_.storage.push_back(value);
  schedule_.is_constant.push_back(is_constant);
  return value;
}

void Scheduler::AddStep(bool is_setup, std::string description,
                        decltype(ScheduledStep::work) work) {
  schedule_.steps.push_back({is_setup, std::move(description), std::move(work)});
}

void Scheduler::AddPrefill(const ir::Program& program, const PartitionedKernel& kernel,
                           bool is_setup) {
  const ValueId result = kernel.outputs.front();
  const TensorShape& shape = program.values[result].shape;
  if (kernel.prefill == ir::kNoValue) {
    AddStep(is_setup, kernel.description, FillValue{result});
  } else if (program.values[kernel.prefill].shape.type == shape.type) {
    AddStep(is_setup, kernel.description, CopyValue{kernel.prefill, result});
  } else {
    AddKernel(poly::BuildConversion(absl::StrCat(program.values[result].name, "_begun"),
                                    {kernel.prefill, program.values[kernel.prefill].shape},
                                    {result, shape, {}}),
              kernel.description, is_setup);
  }
}

void Scheduler::AddKernel(const poly::FlatContraction& flat, std::string description, bool is_setup,
                          plan::LaunchContext context) {
  hooks_.Dump("flat", [&] { return poly::ToString(flat); });
  context.is_constant = ConstantTensors(flat);
  fuse::Planned planned = judge_.PlanLaunch(flat, context);
  AddLaunch(flat,
            {.planned = std::move(planned.kernel),
             .form = planned.form,
             .outputs = OutputsOf(flat),
             .copied_bytes = context.copied_bytes},
            std::move(description), is_setup);
}

void Scheduler::AddPacked(const ir::Program& program, const poly::PackedMatmul& packed,
                          const std::string& description, bool is_setup) {
  poly::FlatContraction products = packed.products;
  for (const poly::PackedMatmul::Operand& operand : packed.operands) {
    products.tensors[operand.tensor].value = AddPart(operand.kernel);
  }
  AddKernel(products, description, is_setup, {.copied_bytes = CopiedBytes(program, products)});
}

void Scheduler::AddLaunch(const poly::FlatContraction& flat, PlannedLaunch launch,
                          std::string description, bool is_setup) {
  const plan::PlannedKernel& planned = launch.planned;
  for (const poly::Tensor& tensor : planned.flat.tensors) launch.tensors.push_back(tensor.value);
  // For a split reduction, the kernels of the partial sums did the rest of the work.
  bool is_split = false;
  for (const plan::PackedOperand& packed : planned.packed) {
    launch.tensors[packed.tensor] = AddOperand(packed);
    is_split = is_split || packed.source == ir::kNoValue;
  }
  launch.flops = launch.packed != ir::kNoValue ? 0 : Flops(is_split ? planned.flat : flat);
  launch.bytes = is_split ? 0 : Bytes(flat);
  AddStep(is_setup, std::move(description), std::move(launch));
}

ValueId Scheduler::AddOperand(const plan::PackedOperand& packed) {
  const bool is_setup = packed.source != ir::kNoValue && IsConstant(packed.source);
  if (!is_setup) return MakeOperand(packed);
  const auto [copy, is_new] =
      copies_.try_emplace({packed.source, poly::FormKey(packed.copy)}, ir::kNoValue);
  if (is_new) copy->second = MakeOperand(packed);
  return copy->second;
}

ValueId Scheduler::MakeOperand(const plan::PackedOperand& packed) {
  const poly::FlatContraction flat = CopyOf(packed);
  fuse::Planned planned = judge_.PlanOperand(flat, {ConstantTensors(flat)});
  const bool is_setup = AreConstant(flat.tensors);
  const ValueId value = AddValue(flat.name, flat.outputs.front().shape, is_setup);
  AddLaunch(flat,
            {.planned = std::move(planned.kernel),
             .form = planned.form,
             .outputs = {value},
             .packed = packed.source},
            flat.name, is_setup);
  return value;
}

bool Scheduler::ReadsLargeConstant(const poly::FlatContraction& flat) const {
  // Empirical: up to this number of uses per constant element, reading the constant dominates.
  constexpr int64_t kFewRows = 16;
  if (!flat.is_reduction()) return false;
  return std::any_of(flat.tensors.begin(), flat.tensors.end(), [&](const poly::Tensor& tensor) {
    return IsConstant(tensor.value) && tensor.shape.byte_size() > judge_.settings().l1_bytes &&
           flat.point_count() <= kFewRows * tensor.shape.element_count();
  });
}

ValueId Scheduler::AddPart(poly::FlatContraction flat) {
  const bool is_constant = AreConstant(flat.tensors);
  poly::Output& output = flat.outputs.front();
  output.value = AddValue(flat.name, output.shape, is_constant);
  AddKernel(flat, flat.name, is_constant);
  return output.value;
}

}  // namespace tartan::compiler
