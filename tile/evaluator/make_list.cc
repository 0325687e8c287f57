// SPDX-License-Identifier: Apache-2.0
// Makes kernel lists of programs in text: BindProgram, ProgramOfPart and MakeList of
// compiled_program.h.
#include <utility>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/link_parts.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::evaluator {
namespace {

using compiler::BufferKind;

// Compiles each part, and joins them.
absl::StatusOr<compiler::KernelList> LinkedList(const proto::Program& program,
                                                const compiler::CompileOptions& options,
                                                const compiler::CompileHooks& hooks) {
  compiler::CompileOptions of_parts = options;
  of_parts.check_bounds = false;  // LinkParts adds the checks
  compiler::LinkedProgram linked;
  linked.name = program.name();
  linked.outputs.assign(program.outputs().begin(), program.outputs().end());
  for (const proto::Program::Input& input : program.inputs()) {
    linked.inputs.push_back(input.is_constant() ? BufferKind::kConstant
                            : input.is_state()  ? BufferKind::kState
                                                : BufferKind::kInput);
    linked.next.push_back(input.next() - 1);
  }
  for (int p = 0; p < program.parts_size(); ++p) {
    const proto::Program::Part& part = program.parts(p);
    TARTAN_ASSIGN_OR_RETURN(compiler::KernelList list,
                            MakeList(ProgramOfPart(program, p), of_parts, hooks));
    linked.parts.push_back({std::move(list),
                            {part.arguments().begin(), part.arguments().end()},
                            part.iterations(),
                            part.states(),
                            part.slices(),
                            part.reversed(),
                            {part.row_elements().begin(), part.row_elements().end()}});
  }
  return compiler::LinkParts(std::move(linked), options);
}

}  // namespace

absl::StatusOr<ir::Program> BindProgram(const proto::Program& program, const lang::Function* tree) {
  std::vector<TensorShape> shapes;
  lang::BindOptions options;
  options.file = program.name();
  options.text = program.code();
  for (const proto::Program::Input& input : program.inputs()) {
    TensorShape shape;
    shape.type = static_cast<DataType>(input.shape().type());
    shape.dims.assign(input.shape().dims().begin(), input.shape().dims().end());
    TARTAN_RETURN_IF_ERROR(CheckShape(shape));
    shapes.push_back(std::move(shape));
    options.inputs.push_back({input.is_constant(), input.is_state(), input.next() - 1});
  }
  if (tree != nullptr) {
    absl::StatusOr<ir::Program> bound = lang::Bind(*tree, shapes, options);
    if (bound.ok()) {
      bound->name = program.name();
      return bound;
    }
    // The message of the second binding names positions in the code.
  }
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function,
                          lang::Parse(program.code(), program.name()));
  TARTAN_ASSIGN_OR_RETURN(ir::Program bound, lang::Bind(function, shapes, options));
  bound.name = program.name();
  return bound;
}

proto::Program ProgramOfPart(const proto::Program& whole, int number) {
  const proto::Program::Part& part = whole.parts(number);
  const bool is_last = number + 1 == whole.parts_size();
  proto::Program program = part.program();
  program.set_name(whole.name());
  int first = whole.inputs_size();  // value of the part's first result
  for (int p = 0; p < number; ++p) {
    const proto::Program::Part& before = whole.parts(p);
    const bool is_loop = before.iterations() > 0;
    first += is_loop ? before.states() + before.row_elements_size() : before.results();
  }
  for (int i = 0; i < part.arguments_size(); ++i) {
    const int argument = part.arguments(i);
    if (argument >= whole.inputs_size()) continue;
    const bool varies =  // the loop's linker gives it another buffer in each iteration
        part.iterations() > 0 && i < part.states() + part.slices();
    if (varies) continue;
    const proto::Program::Input& given = whole.inputs(argument);
    proto::Program::Input* input = program.mutable_inputs(i);
    input->set_is_constant(given.is_constant());
    input->set_is_state(given.is_state());
    if (!is_last || given.next() == 0) continue;
    const int next = whole.outputs(given.next() - 1) - first;
    if (next >= 0) input->set_next(next + 1);
  }
  return program;
}

absl::StatusOr<compiler::KernelList> MakeList(const proto::Program& program,
                                              const compiler::CompileOptions& options,
                                              const compiler::CompileHooks& hooks,
                                              const lang::Function* tree) {
  if (program.parts_size() > 0) return LinkedList(program, options, hooks);
  TARTAN_ASSIGN_OR_RETURN(const ir::Program bound, BindProgram(program, tree));
  return compiler::Compile(bound, options, hooks);
}

}  // namespace tartan::evaluator
