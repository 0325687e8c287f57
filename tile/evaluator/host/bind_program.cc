// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/bind_program.h"

#include <utility>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::evaluator {

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

}  // namespace tartan::evaluator
