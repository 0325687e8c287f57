// SPDX-License-Identifier: Apache-2.0
// Makes kernel lists of programs in text: MakeList of compiled_program.h.
#include <utility>
#include <vector>

#include "tile/base/status_macros.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/link_parts.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/host/bind_program.h"
#include "tile/ir/program.h"

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

absl::StatusOr<compiler::KernelList> MakeList(const proto::Program& program,
                                              const compiler::CompileOptions& options,
                                              const compiler::CompileHooks& hooks,
                                              const lang::Function* tree) {
  if (program.parts_size() > 0) return LinkedList(program, options, hooks);
  TARTAN_ASSIGN_OR_RETURN(const ir::Program bound, BindProgram(program, tree));
  return compiler::Compile(bound, options, hooks);
}

}  // namespace tartan::evaluator
