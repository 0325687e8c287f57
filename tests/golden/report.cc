// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/report.h"

#include <algorithm>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/golden/candidates.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/compiler.h"

namespace tartan::golden {
namespace {

using compiler::BufferInfo;
using compiler::KernelList;
using compiler::Step;

const char* KindName(compiler::BufferKind kind) {
  switch (kind) {
    case compiler::BufferKind::kInput:
      return "input";
    case compiler::BufferKind::kConstant:
      return "constant";
    case compiler::BufferKind::kPersistent:
      return "persistent";
    case compiler::BufferKind::kTemporary:
      return "temporary";
    case compiler::BufferKind::kOutput:
      return "output";
    case compiler::BufferKind::kState:
      return "state";
  }
  return "?";
}

std::string BufferNumbers(const std::vector<int>& buffers) {
  return absl::StrJoin(buffers, ", ",
                       [](std::string* out, int b) { absl::StrAppend(out, "b", b); });
}

std::string ToText(const KernelList& list, const Step& step) {
  return Match(
      step,
      [&](const compiler::LaunchStep& launch) {
        const loop::Kernel& kernel = list.kernels[launch.kernel];
        return absl::StrCat(kernel.name, "(", BufferNumbers(launch.buffers), ") over ",
                            absl::StrJoin(kernel.global_size, "x"), " in groups of ",
                            absl::StrJoin(kernel.local_size, "x"), ": ", launch.description, "; ",
                            launch.flops, " flops, ", launch.bytes, " bytes");
      },
      [](const compiler::FillStep& fill) {
        return absl::StrCat("fill b", fill.buffer, " with ", Name(fill.type), " ", fill.value);
      },
      [](const compiler::CopyStep& copy) {
        return absl::StrCat("copy b", copy.from, " to b", copy.to);
      });
}

void AppendList(const KernelList& list, std::string* text) {
  absl::StrAppend(text, "buffers:\n");
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const BufferInfo& buffer = list.buffers[b];
    absl::StrAppend(text, "  b", b, " ", KindName(buffer.kind), " ", buffer.name, " ",
                    buffer.shape.ToString(), ", ", buffer.bytes, " bytes\n");
  }
  if (!list.setup.empty()) absl::StrAppend(text, "setup:\n");
  for (const Step& step : list.setup) absl::StrAppend(text, "  ", ToText(list, step), "\n");
  absl::StrAppend(text, "steps:\n");
  for (const Step& step : list.steps) absl::StrAppend(text, "  ", ToText(list, step), "\n");
  absl::StrAppend(text, "inputs: ", BufferNumbers(list.inputs), "\n");
  absl::StrAppend(text, "outputs: ", BufferNumbers(list.outputs), "; ",
                  absl::StrJoin(list.output_shapes, ", ",
                                [](std::string* out, const TensorShape& shape) {
                                  absl::StrAppend(out, shape.ToString());
                                }),
                  "\n");
}

void AppendKernels(const KernelList& list, const codegen::Dialect& dialect, KernelText kernels,
                   std::string* text) {
  const codegen::ProgramText program = codegen::WriteProgramParts(list.kernels, dialect);
  absl::StrAppend(text, "kernels:\n  definitions: ", Digest(program.prologue), "\n");
  for (size_t k = 0; k < list.kernels.size(); ++k) {
    absl::StrAppend(text, "  ", list.kernels[k].name, ": ", Digest(program.kernels[k]), "\n");
  }
  if (kernels == KernelText::kHash) return;
  if (kernels == KernelText::kAll) absl::StrAppend(text, "\n", program.prologue);
  for (const std::string& kernel : program.kernels) absl::StrAppend(text, "\n", kernel);
}

}  // namespace

std::string Digest(absl::string_view text) {
  return absl::StrFormat("%d lines, %016x", std::count(text.begin(), text.end(), '\n'),
                         XXH3_64bits(text.data(), text.size()));
}

absl::StatusOr<std::string> Report(const GoldenProgram& program, const ir::Program& bound,
                                   const Machine& machine, KernelText kernels) {
  TARTAN_ASSIGN_OR_RETURN(compiler::CompileOptions options, OptionsOf(program));
  options.settings = machine.settings;
  const codegen::Dialect dialect = opencl::DialectOf(machine.settings);
  std::string text = absl::StrCat("==== ", machine.name, " ====\nplans:\n");
  compiler::CompileHooks hooks;
  hooks.verify_passes = true;
  hooks.dump = [&text](absl::string_view stage, absl::string_view dump) {
    if (stage == "plan") absl::StrAppend(&text, "  ", dump);
  };
  std::string candidates;
  if (program.candidates() > 0) {
    hooks.planner = CandidateRecorder(program.candidates(), machine.settings, dialect, &candidates);
  }
  TARTAN_ASSIGN_OR_RETURN(const KernelList list, compiler::Compile(bound, options, hooks));
  if (!candidates.empty()) absl::StrAppend(&text, "candidates:\n", candidates);
  AppendList(list, &text);
  AppendKernels(list, dialect, kernels, &text);
  return text;
}

absl::StatusOr<std::string> Report(const GoldenProgram& program, KernelText kernels) {
  TARTAN_ASSIGN_OR_RETURN(const ir::Program bound, Bind(program));
  std::string text = absl::StrCat(program.path(), "\n");
  for (const Machine& machine : Machines()) {
    TARTAN_ASSIGN_OR_RETURN(const std::string section, Report(program, bound, machine, kernels));
    absl::StrAppend(&text, "\n", section);
  }
  return text;
}

}  // namespace tartan::golden
