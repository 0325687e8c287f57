#include "tile/compiler/list_builder.h"

#include <utility>

namespace tartan::compiler {

using ir::ValueId;

ListBuilder::ListBuilder(const ir::Program& program, const ir::Grouping& grouping,
                         std::vector<bool> is_constant)
    : program_(program), grouping_(grouping), constant_(std::move(is_constant)) {
  list_.name = program.name;
  MakeBuffers();
}

int ListBuilder::BufferOf(ValueId value) const {
  const bool is_own = value >= static_cast<ValueId>(grouping_.storage.size());
  return buffer_.at(is_own ? value : grouping_.storage[value]);
}

ValueId ListBuilder::AddValue(std::string name, const TensorShape& shape, bool is_constant) {
  const ValueId value = static_cast<ValueId>(constant_.size());
  constant_.push_back(is_constant);
  buffer_[value] = AddBuffer(std::move(name), shape, is_constant);
  return value;
}

int ListBuilder::AddBuffer(std::string name, const TensorShape& shape, bool is_setup) {
  const BufferKind kind = is_setup ? BufferKind::kPersistent : BufferKind::kTemporary;
  list_.buffers.push_back({std::move(name), kind, shape, shape.byte_size()});
  return static_cast<int>(list_.buffers.size()) - 1;
}

void ListBuilder::AddStep(bool is_setup, Step step) {
  (is_setup ? list_.setup : list_.steps).push_back(std::move(step));
}

int ListBuilder::AddKernel(sem::Kernel kernel) {
  sem::Kernel anonymous = kernel;
  anonymous.name.clear();
  anonymous.comments.clear();
  const std::string key = sem::ToString(anonymous);
  const auto [it, is_new] = numbers_.emplace(key, static_cast<int>(list_.kernels.size()));
  if (is_new) list_.kernels.push_back(std::move(kernel));
  return it->second;
}

KernelList ListBuilder::Finish() && {
  for (ValueId input : program_.inputs) list_.inputs.push_back(buffer_.at(input));
  for (ValueId output : program_.outputs) {
    list_.outputs.push_back(BufferOf(output));
    list_.output_shapes.push_back(program_.values[output].shape);
  }
  return std::move(list_);
}

void ListBuilder::MakeBuffers() {
  std::vector<bool> is_output(program_.values.size(), false);
  for (ValueId output : program_.outputs) is_output[grouping_.storage[output]] = true;
  for (size_t i = 0; i < program_.values.size(); ++i) {
    const ValueId v = static_cast<ValueId>(i);
    if (grouping_.storage[v] != v) continue;
    const ir::Value& value = program_.values[v];
    BufferKind kind = is_output[v] ? BufferKind::kOutput : BufferKind::kTemporary;
    if (const auto* input = std::get_if<ir::Input>(&value.op)) {
      kind = input->is_constant ? BufferKind::kConstant : BufferKind::kInput;
    } else if (constant_[v]) {
      kind = BufferKind::kPersistent;
    }
    buffer_[v] = static_cast<int>(list_.buffers.size());
    list_.buffers.push_back({value.name, kind, value.shape, value.shape.byte_size()});
  }
}

}  // namespace tartan::compiler
