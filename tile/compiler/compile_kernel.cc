#include "tile/compiler/compile_kernel.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/lower_kernel.h"
#include "tile/sem/simplify.h"

namespace tartan::compiler {
namespace {

class OneKernelList {
 public:
  OneKernelList(const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
                const HardwareSettings& settings)
      : flat_(flat), is_constant_(is_constant), settings_(settings) {
    list_.name = flat.name;
    for (const poly::Output& output : flat.outputs) {
      list_.outputs.push_back(AddBuffer("out", BufferKind::kOutput, output.shape));
      list_.output_shapes.push_back(output.shape);
    }
    for (size_t t = 0; t < flat.tensors.size(); ++t) {
      list_.inputs.push_back(AddBuffer(absl::StrCat("in", t),
                                       is_constant[t] ? BufferKind::kConstant : BufferKind::kInput,
                                       flat.tensors[t].shape));
    }
  }

  KernelList Compile(const plan::PlannedKernel& planned, bool zero_outputs) && {
    for (size_t o = 0; zero_outputs && o < list_.outputs.size(); ++o) {
      list_.steps.push_back(FillStep{list_.outputs[o], list_.output_shapes[o].type, 0});
    }
    AddStep(planned, list_.outputs, /*source=*/ir::kNoValue, /*is_setup=*/false);
    return std::move(list_);
  }

 private:
  // The kernel's tensor that holds a value.
  int TensorOf(ir::ValueId value) const {
    int tensor = 0;
    while (flat_.tensors[tensor].value != value) ++tensor;
    return tensor;
  }

  int AddBuffer(std::string name, BufferKind kind, const TensorShape& shape) {
    list_.buffers.push_back({std::move(name), kind, shape, shape.byte_size()});
    return static_cast<int>(list_.buffers.size()) - 1;
  }

  // The launch of a kernel and, before it, of those that compute its operands. `source`: the value
  // that all of its tensors stand for, or kNoValue.
  void AddStep(const plan::PlannedKernel& planned, std::vector<int> outputs, ir::ValueId source,
               bool is_setup) {
    LaunchStep step;
    step.buffers = std::move(outputs);
    const size_t first = step.buffers.size();
    for (const poly::Tensor& tensor : planned.flat.tensors) {
      const ir::ValueId value = source != ir::kNoValue ? source : tensor.value;
      step.buffers.push_back(value == ir::kNoValue ? -1 : list_.inputs[TensorOf(value)]);
    }
    for (const plan::PackedOperand& packed : planned.packed) {
      step.buffers[first + packed.tensor] = AddOperand(packed);
    }
    step.description = planned.flat.name;
    step.kernel = static_cast<int>(list_.kernels.size());
    list_.kernels.push_back(sem::Simplify(lower::LowerKernel(
        planned.flat, planned.plan, absl::StrCat("k", step.kernel), lower::LowerOptions())));
    (is_setup ? list_.setup : list_.steps).push_back(std::move(step));
  }

  int AddOperand(const plan::PackedOperand& packed) {
    std::vector<bool> is_constant;
    bool is_setup = true;
    for (const poly::Tensor& tensor : packed.copy.tensors) {
      const ir::ValueId value = packed.source != ir::kNoValue ? packed.source : tensor.value;
      is_constant.push_back(is_constant_[TensorOf(value)]);
      is_setup = is_setup && is_constant.back();
    }
    const int buffer =
        AddBuffer("packed", is_setup ? BufferKind::kPersistent : BufferKind::kTemporary,
                  packed.copy.outputs.front().shape);
    AddStep(plan::PlanKernel(packed.copy, settings_, is_constant), {buffer}, packed.source,
            is_setup);
    return buffer;
  }

  const poly::FlatContraction& flat_;
  const std::vector<bool>& is_constant_;
  const HardwareSettings& settings_;
  KernelList list_;
};

}  // namespace

KernelList CompileKernel(const poly::FlatContraction& flat, const plan::PlannedKernel& planned,
                         const std::vector<bool>& is_constant, const HardwareSettings& settings) {
  int64_t elements = 1;
  for (int64_t dim : flat.output_dims) elements *= dim;
  const bool writes_all = flat.store_guard.empty() && flat.output_point_count() == elements;
  return OneKernelList(flat, is_constant, settings).Compile(planned, !writes_all);
}

}  // namespace tartan::compiler
