#include "tile/compiler/compiler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/contraction_forms.h"
#include "tile/compiler/list_builder.h"
#include "tile/compiler/row_chains.h"
#include "tile/compiler/share_kernels.h"
#include "tile/compiler/verify_list.h"
#include "tile/graph/chain_effects.h"
#include "tile/graph/channels_last.h"
#include "tile/graph/constants.h"
#include "tile/graph/group.h"
#include "tile/graph/pad_inputs.h"
#include "tile/graph/weights_last.h"
#include "tile/graph/widen_halves.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/verify_stored.h"
#include "tile/lower/lower_kernel.h"
#include "tile/lower/lower_special.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/build_kernel.h"
#include "tile/poly/winograd.h"
#include "tile/sem/simplify.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

void Dump(const CompileOptions& options, absl::string_view stage,
          const std::function<std::string()>& text) {
  if (options.dump) options.dump(stage, text());
}

std::string Describe(const ir::Program& program, const ir::KernelGroup& group) {
  std::vector<std::string> names;
  for (ValueId output : group.outputs) {
    names.push_back(
        absl::StrCat(program.values[output].name, " ", program.values[output].shape.ToString()));
  }
  return absl::StrJoin(names, ", ");
}

double Bytes(const poly::FlatContraction& flat) {
  double bytes = 0;
  for (const poly::Tensor& tensor : flat.tensors) bytes += tensor.shape.byte_size();
  for (const poly::Output& output : flat.outputs) bytes += output.shape.byte_size();
  return bytes;
}

// Products that an evaluation of the body adds up: several where they are packed in words.
double ProductCount(const poly::ExprPtr& body) {
  const auto* apply = std::get_if<poly::Apply>(&body->node);
  if (apply == nullptr) return 1;
  if (apply->op == ScalarOp::kDot16) return 2;
  return apply->op == ScalarOp::kDot8 || apply->op == ScalarOp::kDot8u ? 4 : 1;
}

double Flops(const poly::FlatContraction& flat) {
  double per_element = 0;
  for (const poly::Output& output : flat.outputs) per_element += OperationCount(output.expr);
  double flops = per_element * static_cast<double>(flat.output_point_count());
  if (flat.is_reduction()) {
    flops += static_cast<double>(flat.point_count()) * ProductCount(flat.body) *
             (1.0 + OperationCount(flat.body));
  }
  return flops;
}

// A C identifier that begins with the kernel's number and says what it computes.
std::string KernelName(int number, absl::string_view value_name) {
  std::string name = absl::StrCat("k", number, "_");
  for (char c : value_name.substr(0, 40)) {
    name.push_back(absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_');
  }
  return name;
}

int AddPlanned(const plan::PlannedKernel& planned, const CompileOptions& options,
               ListBuilder* list) {
  const poly::FlatContraction& flat = planned.flat;
  Dump(options, "plan", [&] {
    return absl::StrCat(flat.name, ": ", planned.plan.ToString(flat), "\n  ", planned.cost, "\n");
  });
  sem::Kernel kernel =
      lower::LowerKernel(flat, planned.plan, KernelName(list->kernel_count(), flat.name),
                         {options.force_64bit_indices});
  Dump(options, "sem", [&] { return sem::ToString(kernel); });
  kernel = sem::Simplify(kernel);
  Dump(options, "simplified", [&] { return sem::ToString(kernel); });
  return list->AddKernel(std::move(kernel));
}

// The step that computes an operand ahead of its kernel; returns the operand's buffer.
int AddPacking(const plan::PackedOperand& packed, const CompileOptions& options,
               ListBuilder* list) {
  const bool is_packed = packed.source != ir::kNoValue;
  std::vector<bool> is_constant;
  bool is_setup = true;
  for (const poly::Tensor& tensor : packed.copy.tensors) {
    is_constant.push_back(list->IsConstant(is_packed ? packed.source : tensor.value));
    is_setup = is_setup && is_constant.back();
  }
  const plan::PlannedKernel planned = plan::PlanKernel(packed.copy, options.settings, is_constant);
  const int buffer = list->AddBuffer(packed.copy.name, packed.copy.outputs.front().shape, is_setup);
  LaunchStep step;
  step.buffers = {buffer};
  for (const poly::Tensor& tensor : packed.copy.tensors) {
    step.buffers.push_back(list->BufferOf(is_packed ? packed.source : tensor.value));
  }
  for (const plan::PackedOperand& nested : planned.packed) {
    step.buffers.resize(std::max<size_t>(step.buffers.size(), 2 + nested.tensor));
    step.buffers[1 + nested.tensor] = AddPacking(nested, options, list);
  }
  step.description =
      is_packed ? absl::StrCat("packed ", list->NameOf(packed.source)) : packed.copy.name;
  step.flops = is_packed ? 0 : Flops(packed.copy);
  step.bytes = Bytes(packed.copy);
  step.kernel = AddPlanned(planned, options, list);
  list->AddStep(is_setup, std::move(step));
  return buffer;
}

std::vector<bool> ConstantTensors(const poly::FlatContraction& flat, const ListBuilder& list) {
  std::vector<bool> is_constant;
  for (const poly::Tensor& tensor : flat.tensors) {
    is_constant.push_back(list.IsConstant(tensor.value));
  }
  return is_constant;
}

void CompileFlat(const poly::FlatContraction& flat, std::string description, bool is_setup,
                 const CompileOptions& options, ListBuilder* list) {
  const std::vector<bool> is_constant = ConstantTensors(flat, *list);
  const plan::PlannedKernel planned = options.planner
                                          ? options.planner(flat, is_constant)
                                          : plan::PlanKernel(flat, options.settings, is_constant);
  LaunchStep step;
  for (const poly::Output& output : flat.outputs) {
    step.buffers.push_back(list->BufferOf(output.value));
  }
  const size_t first_tensor = step.buffers.size();
  for (const poly::Tensor& tensor : planned.flat.tensors) {
    step.buffers.push_back(tensor.value == ir::kNoValue ? -1 : list->BufferOf(tensor.value));
  }
  for (const plan::PackedOperand& packed : planned.packed) {
    step.buffers[first_tensor + packed.tensor] = AddPacking(packed, options, list);
  }
  step.description = std::move(description);
  // Where the kernel adds up partial results, those did the rest of the work.
  const bool is_split =
      std::any_of(planned.packed.begin(), planned.packed.end(),
                  [](const plan::PackedOperand& packed) { return packed.source == ir::kNoValue; });
  step.flops = Flops(is_split ? planned.flat : flat);
  step.bytes = is_split ? 0 : Bytes(flat);
  step.kernel = AddPlanned(planned, options, list);
  list->AddStep(is_setup, std::move(step));
}

// What a result holds before kernels that write only parts of it run.
void AddPrefill(const ir::Program& program, const ir::KernelGroup& group, ValueId copied,
                const CompileOptions& options, ListBuilder* list) {
  const ValueId result = group.outputs.front();
  const TensorShape& shape = program.values[result].shape;
  if (copied == ir::kNoValue) {
    list->AddStep(list->IsSetup(group), FillStep{list->BufferOf(result), shape.type, 0});
  } else if (program.values[copied].shape.type == shape.type) {
    list->AddStep(list->IsSetup(group), CopyStep{list->BufferOf(copied), list->BufferOf(result)});
  } else {
    const poly::FlatContraction conversion =
        poly::BuildConversion(absl::StrCat(program.values[result].name, "_begun"),
                              {copied, program.values[copied].shape}, {result, shape, {}});
    CompileFlat(conversion, Describe(program, group), list->IsSetup(group), options, list);
  }
}

absl::Status CompileSpecial(const ir::Program& program, const ir::KernelGroup& group,
                            const CompileOptions& options, ListBuilder* list) {
  const ir::Value& value = program.values[group.root];
  const auto& special = std::get<ir::Special>(value.op);
  std::vector<TensorShape> operands;
  double bytes = static_cast<double>(value.shape.byte_size());
  for (ValueId operand : special.operands) {
    operands.push_back(program.values[operand].shape);
    bytes += static_cast<double>(operands.back().byte_size());
  }
  TARTAN_ASSIGN_OR_RETURN(lower::SpecialKernels lowered,
                          lower::LowerSpecial(special, operands, value.shape, options.settings,
                                              KernelName(list->kernel_count(), value.name),
                                              {options.force_64bit_indices}));
  if (lowered.copied_operand >= 0) {
    AddPrefill(program, group, special.operands[lowered.copied_operand], options, list);
  } else if (lowered.zero_filled) {
    AddPrefill(program, group, ir::kNoValue, options, list);
  }
  const bool is_setup = list->IsSetup(group);
  std::vector<int> buffers = {list->BufferOf(group.root)};
  for (ValueId operand : special.operands) buffers.push_back(list->BufferOf(operand));
  for (const lower::ScratchBuffer& scratch : lowered.scratch) {
    const bool is_fixed = scratch.value.has_value();
    buffers.push_back(
        list->AddBuffer(absl::StrCat(value.name, "_scratch"), scratch.shape, is_setup || is_fixed));
    if (is_fixed) {
      list->AddStep(true, FillStep{buffers.back(), scratch.shape.type, *scratch.value});
    }
  }
  for (lower::SpecialLaunch& launch : lowered.launches) {
    LaunchStep step;
    for (int buffer : launch.buffers) step.buffers.push_back(buffers[buffer]);
    step.description = absl::StrCat(Name(special.kind), " ", Describe(program, group));
    step.bytes = bytes;
    Dump(options, "sem", [&] { return sem::ToString(launch.kernel); });
    step.kernel = list->AddKernel(sem::Simplify(launch.kernel));
    list->AddStep(is_setup, std::move(step));
  }
  return absl::OkStatus();
}

// Compiles a kernel whose result is for others alone, once where all it reads is constant.
ValueId CompilePart(poly::FlatContraction* flat, const CompileOptions& options, ListBuilder* list) {
  const std::vector<bool> constants = ConstantTensors(*flat, *list);
  const bool is_constant = std::find(constants.begin(), constants.end(), false) == constants.end();
  poly::Output& output = flat->outputs.front();
  output.value = list->AddValue(flat->name, output.shape, is_constant);
  Dump(options, "flat", [&] { return poly::ToString(*flat); });
  CompileFlat(*flat, flat->name, is_constant, options, list);
  return output.value;
}

void CompileWinograd(poly::WinogradKernels kernels, const std::string& description, bool is_setup,
                     const CompileOptions& options, ListBuilder* list) {
  if (kernels.padded) {
    kernels.data.tensors.back().value = CompilePart(&*kernels.padded, options, list);
  }
  kernels.products.tensors[0].value = CompilePart(&kernels.data, options, list);
  kernels.products.tensors[1].value = CompilePart(&kernels.weights, options, list);
  kernels.result.tensors.back().value = CompilePart(&kernels.products, options, list);
  Dump(options, "flat", [&] { return poly::ToString(kernels.result); });
  CompileFlat(kernels.result, description, is_setup, options, list);
}

void CompilePacked(poly::PackedProduct kernels, const std::string& description, bool is_setup,
                   const CompileOptions& options, ListBuilder* list) {
  poly::FlatContraction& products = kernels.products;
  for (poly::PackedProduct::Operand& operand : kernels.operands) {
    products.tensors[operand.tensor].value = CompilePart(&operand.kernel, options, list);
  }
  Dump(options, "flat", [&] { return poly::ToString(products); });
  CompileFlat(products, description, is_setup, options, list);
}

absl::Status CompileGroup(const ir::Program& program, const poly::ProgramSpaces& spaces,
                          const ir::Grouping& grouping, const ir::KernelGroup& group,
                          const CompileOptions& options, ListBuilder* list) {
  TARTAN_ASSIGN_OR_RETURN(poly::FlatContraction flat,
                          poly::BuildKernel(program, spaces, grouping, group));
  flat.comments.push_back(Describe(program, group));
  Dump(options, "flat", [&] { return poly::ToString(flat); });
  if (group.root != ir::kNoValue && !spaces[group.root]->covers_output) {
    const auto& contraction = std::get<ir::Contraction>(program.values[group.root].op);
    AddPrefill(program, group, contraction.default_value, options, list);
  }
  const auto winograd =
      plan::ChooseWinograd(flat, options.settings, ConstantTensors(flat, *list), options.winograd);
  if (winograd) {
    CompileWinograd(poly::MakeWinograd(flat, winograd->correlation, winograd->tile),
                    Describe(program, group), list->IsSetup(group), options, list);
  } else if (auto packed = PackWorthwhile(flat, options)) {
    CompilePacked(*std::move(packed), Describe(program, group), list->IsSetup(group), options,
                  list);
  } else {
    CompileFlat(flat, Describe(program, group), list->IsSetup(group), options, list);
  }
  return absl::OkStatus();
}

void CompileChain(const ir::Program& program, const ir::Grouping& grouping,
                  const graph::RowChain& chain, const CompileOptions& options, ListBuilder* list) {
  LaunchStep step;
  std::vector<std::string> descriptions;
  graph::RowChain described = chain;
  for (size_t k = 0; k < chain.groups.size(); ++k) {
    descriptions.push_back(Describe(program, grouping.groups[chain.groups[k]]));
    described.kernels[k].flat.comments.push_back(descriptions.back());
    step.flops += Flops(chain.kernels[k].flat);
  }
  const std::string name = KernelName(list->kernel_count(), chain.kernels.back().flat.name);
  lower::RowChainKernel lowered = CompileRowChain(described, options.settings, name,
                                                  {options.force_64bit_indices}, options.dump);
  for (ValueId value : lowered.parameters) {
    step.buffers.push_back(list->BufferOf(value));
    step.bytes += static_cast<double>(program.values[value].shape.byte_size());
  }
  step.description = absl::StrJoin(descriptions, "; ");
  step.kernel = list->AddKernel(std::move(lowered.kernel));
  list->AddStep(/*is_setup=*/false, std::move(step));
}

}  // namespace

absl::StatusOr<KernelList> Compile(const ir::Program& bound, const CompileOptions& options) {
  Dump(options, "program", [&] { return ir::ToString(bound); });
  ir::Program program = ir::WithoutCustomGradients(bound);
  if (options.in_float64) {
    TARTAN_ASSIGN_OR_RETURN(program, ir::InFloat64(program));
  }
  program = graph::WidenHalves(program);
  graph::GroupOptions group_options;
  group_options.fuse = options.fuse;
  if (options.channels_last) {
    program = graph::MoveChannelsLast(program);
    if (options.settings.threads > 1) {
      graph::MovedWeights moved = graph::MoveOutputChannelsLast(program);
      program = std::move(moved.program);
      group_options.held = std::move(moved.copies);
    }
  }
  TARTAN_ASSIGN_OR_RETURN(poly::ProgramSpaces spaces, poly::AnalyzeProgram(program));
  if (options.pad_inputs && options.settings.threads == 1) {
    TARTAN_ASSIGN_OR_RETURN(
        const std::set<ValueId> kept,
        FindWinograd(program, spaces, graph::GroupIntoKernels(program, spaces, group_options),
                     options));
    ir::Program padded = graph::PadInputs(program, spaces, kept);
    // Every padded input is a value more; without one the analysis still holds.
    if (padded.values.size() != program.values.size()) {
      program = std::move(padded);
      TARTAN_ASSIGN_OR_RETURN(spaces, poly::AnalyzeProgram(program));
    }
  }
  Dump(options, "graph", [&] { return ir::ToString(program); });
  TARTAN_RETURN_IF_ERROR(ir::VerifyStored(program));
  TARTAN_ASSIGN_OR_RETURN(group_options.inlined,
                          FindFactors(program, spaces, group_options, options));
  const std::vector<bool> is_constant = graph::FindConstants(program);
  ChainedGroups divided;
  if (options.fuse && options.chain_rows) {
    TARTAN_ASSIGN_OR_RETURN(
        divided, GroupWithChains(program, spaces, is_constant, group_options, options.settings));
  } else {
    divided.grouping = graph::GroupIntoKernels(program, spaces, group_options);
    divided.order = graph::OrderWithChains(program, divided.grouping, {});
  }
  std::vector<const graph::RowChain*> chain_of(divided.grouping.groups.size(), nullptr);
  for (const graph::RowChain& chain : divided.chains) {
    for (int group : chain.groups) chain_of[group] = &chain;
  }
  ListBuilder list(program, divided.grouping, is_constant);
  for (int g : divided.order) {
    const ir::KernelGroup& group = divided.grouping.groups[g];
    if (program.values[group.outputs.front()].shape.element_count() == 0) continue;
    if (chain_of[g] != nullptr) {
      if (chain_of[g]->groups.front() != g) continue;
      CompileChain(program, divided.grouping, *chain_of[g], options, &list);
      continue;
    }
    const bool is_special = group.root != ir::kNoValue &&
                            std::holds_alternative<ir::Special>(program.values[group.root].op);
    TARTAN_RETURN_IF_ERROR(
        is_special ? CompileSpecial(program, group, options, &list)
                   : CompileGroup(program, spaces, divided.grouping, group, options, &list));
  }
  KernelList result = std::move(list).Finish();
  ShareKernels(&result);
  TARTAN_RETURN_IF_ERROR(VerifyList(result));
  return result;
}

}  // namespace tartan::compiler
