// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/host_program.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::evaluator {
namespace {

// Time to plan and compile a kernel, in ms. Measured: 66 to 90 of processor time for training steps
// of LSTMs on PoCL; drivers alone take 35 to 300.
constexpr double kCompileMs = 65;

size_t FirstInvariant(const HostPart& loop) {
  return static_cast<size_t>(loop.states) + static_cast<size_t>(loop.slices);
}

// Bytes from a row of a tensor to the next.
size_t RowBytes(const TensorShape& shape) {
  return shape.dims[0] == 0 ? 0 : static_cast<size_t>(shape.byte_size() / shape.dims[0]);
}

// Row `number` of a tensor of rows, which may be longer than `shape`.
HostTensor RowOf(const HostTensor& rows, const TensorShape& shape, int64_t number) {
  const size_t begin = static_cast<size_t>(number) * RowBytes(rows.shape());
  const auto bytes = rows.bytes().subspan(begin, static_cast<size_t>(shape.byte_size()));
  return HostTensor(shape, bytes, std::make_shared<const HostTensor>(rows));
}

// The results of a loop that are rows, while it runs.
class StackedRows {
 public:
  StackedRows(const TensorShape& row, const HostPart& loop, int64_t elements)
      : shape_{row.type, {loop.iterations, elements}},
        bytes_(std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(shape_.byte_size()))) {}

  void Set(int64_t number, const HostTensor& row) {
    if (row.bytes().empty()) return;
    uint8_t* const to = bytes_->data() + static_cast<size_t>(number) * RowBytes(shape_);
    std::memcpy(to, row.bytes().data(), row.bytes().size());
  }
  HostTensor Finish() && { return HostTensor(shape_, *bytes_, bytes_); }

 private:
  TensorShape shape_;
  std::shared_ptr<std::vector<uint8_t>> bytes_;
};

// Checks that the argument has the shape of the part's input, or has rows of that many elements.
absl::Status CheckArgument(const ir::Value& input, const TensorShape& given, bool is_slice,
                           int64_t iterations) {
  const bool fits = is_slice ? given.type == input.shape.type && given.dims.size() == 2 &&
                                   given.dims[0] == iterations &&
                                   given.dims[1] >= input.shape.element_count()
                             : given == input.shape;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the argument of '", input.name, "' is ",
                                                 given.ToString(), ", which does not fit ",
                                                 input.shape.ToString()));
}

}  // namespace

HostParts PartsOf(ir::Program program) {
  HostParts parts;
  HostPart whole;
  for (const ir::ValueId id : program.inputs) {
    const ir::Value& value = program.values[id];
    const auto& input = std::get<ir::Input>(value.op);
    whole.arguments.push_back(static_cast<int>(parts.inputs.size()));
    parts.inputs.push_back(
        {value.name, value.shape, input.is_constant, input.is_state, input.next});
  }
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    parts.outputs.push_back(static_cast<int>(parts.inputs.size() + o));
  }
  whole.program = std::move(program);
  parts.parts.push_back(std::move(whole));
  return parts;
}

absl::StatusOr<std::shared_ptr<const HostProgram>> HostProgram::Create(ir::Program program) {
  return Create(PartsOf(std::move(program)));
}

absl::StatusOr<std::shared_ptr<const HostProgram>> HostProgram::Create(HostParts parts) {
  std::shared_ptr<HostProgram> made(new HostProgram());
  made->inputs_ = std::move(parts.inputs);
  made->outputs_ = std::move(parts.outputs);
  for (const HostInput& input : made->inputs_) made->shapes_.push_back(input.shape);
  for (HostPart& part : parts.parts) {
    TARTAN_RETURN_IF_ERROR(made->AddPart(std::move(part)));
    if (made->parts_.back().function == nullptr) return std::shared_ptr<const HostProgram>();
  }
  made->Estimate();
  return made;
}

absl::Status HostProgram::AddPart(HostPart form) {
  ir::Program program = std::exchange(form.program, {});
  const bool is_loop = form.iterations > 0;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    ir::Value& input = program.values[program.inputs[i]];
    const bool is_slice =
        is_loop && i >= static_cast<size_t>(form.states) && i < FirstInvariant(form);
    TARTAN_RETURN_IF_ERROR(
        CheckArgument(input, shapes_[form.arguments[i]], is_slice, form.iterations));
    // Each run computes what depends on invariants alone once.
    if (is_loop) std::get<ir::Input>(input.op).is_constant = i >= FirstInvariant(form);
  }
  for (size_t o = 0; o < program.outputs.size(); ++o) {
    const TensorShape& shape = program.values[program.outputs[o]].shape;
    const bool is_row = is_loop && o >= static_cast<size_t>(form.states);
    if (!is_row) {
      shapes_.push_back(shape);
      continue;
    }
    const int64_t elements = form.row_elements[o - static_cast<size_t>(form.states)];
    shapes_.push_back({shape.type, {form.iterations, elements}});
  }
  Part& part = parts_.emplace_back();
  part.form = std::move(form);
  TARTAN_ASSIGN_OR_RETURN(part.function, HostFunction::Create(std::move(program)));
  return absl::OkStatus();
}

void HostProgram::Estimate() {
  double ns = 0;
  for (const Part& part : parts_) {
    const auto iterations = static_cast<double>(part.form.iterations);
    kernels_ += part.function->kernels();
    ns += iterations == 0 ? part.function->run_ns()
                          : part.function->load_ns() + iterations * part.function->run_ns();
  }
  milliseconds_ = ns * 1e-6;
}

bool HostProgram::IsFasterThanKernels(double most_ms, int64_t times) const {
  const double ms = milliseconds_ * static_cast<double>(times);
  return ms <= most_ms && ms < kCompileMs * kernels_;
}

absl::StatusOr<std::vector<HostTensor>> HostProgram::Arrange(absl::Span<const HostTensor> given,
                                                             bool constants) const {
  std::vector<HostTensor> arranged(inputs_.size());
  size_t next = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const HostInput& input = inputs_[i];
    if (input.is_constant != constants) continue;
    if (next == given.size() || given[next].shape() != input.shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "' is missing, or its shape is not ", input.shape.ToString()));
    }
    arranged[i] = given[next++];
  }
  return arranged;
}

absl::StatusOr<HostProgram::Known> HostProgram::Load(absl::Span<const HostTensor> constants) const {
  Known known;
  TARTAN_ASSIGN_OR_RETURN(known.constants, Arrange(constants, /*constants=*/true));
  for (const Part& part : parts_) {
    HostFunction::Known& of_part = known.of_parts.emplace_back();
    if (part.form.iterations > 0) continue;
    const ir::Program& program = part.function->program();
    std::vector<HostTensor> given;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const auto& input = std::get<ir::Input>(program.values[program.inputs[i]].op);
      if (input.is_constant) given.push_back(known.constants[part.form.arguments[i]]);
    }
    TARTAN_ASSIGN_OR_RETURN(of_part, part.function->Load(given));
  }
  return known;
}

absl::Status HostProgram::RunLoop(const Part& part, std::vector<HostTensor>* values) const {
  const HostPart& loop = part.form;
  const ir::Program& body = part.function->program();
  const auto states = static_cast<size_t>(loop.states);
  const size_t first_invariant = FirstInvariant(loop);
  std::vector<HostTensor> given;
  for (const int argument : loop.arguments) given.push_back((*values)[argument]);
  TARTAN_ASSIGN_OR_RETURN(const HostFunction::Known known,
                          part.function->Load(absl::MakeConstSpan(given).subspan(first_invariant)));
  std::vector<StackedRows> rows;
  for (size_t r = 0; r < loop.row_elements.size(); ++r) {
    rows.emplace_back(body.values[body.outputs[states + r]].shape, loop, loop.row_elements[r]);
  }
  std::vector<HostTensor> varying(given.begin(), given.begin() + first_invariant);
  for (int64_t i = 0; i < loop.iterations; ++i) {
    const int64_t number = loop.reversed ? loop.iterations - 1 - i : i;
    for (size_t s = states; s < first_invariant; ++s) {
      varying[s] = RowOf(given[s], body.values[body.inputs[s]].shape, number);
    }
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> made, part.function->Run(known, varying));
    for (size_t r = 0; r < rows.size(); ++r) rows[r].Set(number, made[states + r]);
    std::move(made.begin(), made.begin() + static_cast<int64_t>(states), varying.begin());
  }
  varying.resize(states);
  std::move(varying.begin(), varying.end(), std::back_inserter(*values));
  for (StackedRows& stacked : rows) values->push_back(std::move(stacked).Finish());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> HostProgram::Run(
    const Known& known, absl::Span<const HostTensor> inputs) const {
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> values, Arrange(inputs, /*constants=*/false));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].is_constant) values[i] = known.constants[i];
  }
  for (size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    if (part.form.iterations > 0) {
      TARTAN_RETURN_IF_ERROR(RunLoop(part, &values));
      continue;
    }
    const ir::Program& program = part.function->program();
    std::vector<HostTensor> given;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      const auto& input = std::get<ir::Input>(program.values[program.inputs[i]].op);
      if (!input.is_constant) given.push_back(values[part.form.arguments[i]]);
    }
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> made,
                            part.function->Run(known.of_parts[p], given));
    std::move(made.begin(), made.end(), std::back_inserter(values));
  }
  std::vector<HostTensor> outputs;
  for (const int value : outputs_) outputs.push_back(values[value]);
  return outputs;
}

}  // namespace tartan::evaluator
