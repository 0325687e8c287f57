// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/report.h"

#include <algorithm>
#include <functional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/golden/candidates.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"

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

// What the line of a launch ends with.
enum class LaunchEnd {
  kWork,    // its floating-point operations and bytes
  kDigest,  // line count and hash of its kernel
};

std::string ToText(const Output& output, const Step& step, LaunchEnd end) {
  return Match(
      step,
      [&](const compiler::LaunchStep& launch) {
        const loop::Kernel& kernel = output.list.kernels[launch.kernel];
        std::string text =
            absl::StrCat(kernel.name, "(", BufferNumbers(launch.buffers), ") over ",
                         absl::StrJoin(kernel.global_size, "x"), " in groups of ",
                         absl::StrJoin(kernel.local_size, "x"), ": ", launch.description, "; ");
        if (end == LaunchEnd::kDigest) return text + Digest(output.source.kernels[launch.kernel]);
        absl::StrAppend(&text, launch.flops, " flops, ", launch.bytes, " bytes");
        return text;
      },
      [](const compiler::FillStep& fill) {
        return absl::StrCat("fill b", fill.buffer, " with ", Name(fill.type), " ", fill.value);
      },
      [](const compiler::CopyStep& copy) {
        return absl::StrCat("copy b", copy.from, " to b", copy.to);
      });
}

void AppendPlans(const Output& output, Costs costs, std::string* text) {
  absl::StrAppend(text, "==== ", output.machine, " ====\nplans:\n");
  for (const PlanLine& line : output.plans) {
    if (line.is_cost && costs == Costs::kHidden) continue;
    absl::StrAppend(text, "  ", line.text, "\n");
  }
  if (!output.candidates.empty()) absl::StrAppend(text, "candidates:\n", output.candidates);
}

void AppendBuffers(const KernelList& list, std::string* text) {
  absl::StrAppend(text, "buffers:\n");
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const BufferInfo& buffer = list.buffers[b];
    absl::StrAppend(text, "  b", b, " ", KindName(buffer.kind), " ", buffer.name, " ",
                    buffer.shape.ToString(), ", ", buffer.bytes, " bytes\n");
  }
}

void AppendSteps(const Output& output, LaunchEnd end, std::string* text) {
  if (!output.list.setup.empty()) absl::StrAppend(text, "setup:\n");
  for (const Step& step : output.list.setup) {
    absl::StrAppend(text, "  ", ToText(output, step, end), "\n");
  }
  absl::StrAppend(text, "steps:\n");
  for (const Step& step : output.list.steps) {
    absl::StrAppend(text, "  ", ToText(output, step, end), "\n");
  }
}

void AppendInterface(const KernelList& list, std::string* text) {
  absl::StrAppend(text, "inputs: ", BufferNumbers(list.inputs), "\n");
  absl::StrAppend(text, "outputs: ", BufferNumbers(list.outputs), "; ",
                  absl::StrJoin(list.output_shapes, ", ",
                                [](std::string* out, const TensorShape& shape) {
                                  absl::StrAppend(out, shape.ToString());
                                }),
                  "\n");
}

// Splits the dump of one plan. Terms of the cost model have lines of their own: cycles on a CPU,
// microseconds elsewhere.
void AppendPlanLines(absl::string_view dump, std::vector<PlanLine>* lines) {
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(dump, "\n"), '\n')) {
    if (line.empty()) continue;
    const bool is_cost = absl::StartsWith(line, "  cycles ") || absl::StrContains(line, " us,") ||
                         absl::StrContains(line, " us ") || absl::EndsWith(line, " us");
    lines->push_back({std::string(line), is_cost});
  }
}

}  // namespace

std::string Digest(absl::string_view text) {
  return absl::StrFormat("%d lines, %016x", std::count(text.begin(), text.end(), '\n'),
                         XXH3_64bits(text.data(), text.size()));
}

absl::StatusOr<Output> CompileFor(const ir::Program& bound, const GoldenProgram& program,
                                  const Machine& machine) {
  TARTAN_ASSIGN_OR_RETURN(compiler::CompileOptions options, OptionsOf(program));
  options.settings = machine.settings;
  const codegen::Dialect dialect = opencl::DialectOf(machine.settings);
  Output output;
  output.machine = machine.name;
  compiler::CompileHooks hooks;
  hooks.verify_passes = true;
  hooks.dump = [&output](absl::string_view stage, absl::string_view dump) {
    if (stage == "plan") AppendPlanLines(dump, &output.plans);
  };
  if (program.candidates() > 0) {
    hooks.planner =
        CandidateRecorder(program.candidates(), machine.settings, dialect, &output.candidates);
  }
  TARTAN_ASSIGN_OR_RETURN(output.list, compiler::Compile(bound, options, hooks));
  output.source = codegen::WriteProgramParts(output.list.kernels, dialect);
  return output;
}

std::string FullText(const Output& output, Costs costs) {
  std::string text;
  AppendPlans(output, costs, &text);
  AppendBuffers(output.list, &text);
  AppendSteps(output, LaunchEnd::kWork, &text);
  AppendInterface(output.list, &text);
  absl::StrAppend(&text, "kernels:\n", output.source.prologue);
  for (const std::string& kernel : output.source.kernels) absl::StrAppend(&text, "\n", kernel);
  return text;
}

std::string Section(const Output& output, const GoldenProgram& program) {
  const bool is_full = output.machine == program.full_machine();
  std::string text;
  AppendPlans(output, Costs::kHidden, &text);
  if (is_full) AppendBuffers(output.list, &text);
  AppendSteps(output, LaunchEnd::kDigest, &text);
  if (is_full) AppendInterface(output.list, &text);
  absl::StrAppend(&text, "in full: ", Digest(FullText(output, Costs::kHidden)), "\n");
  if (!is_full || !program.shows_kernels()) return text;
  for (const std::string& kernel : output.source.kernels) absl::StrAppend(&text, "\n", kernel);
  return text;
}

}  // namespace tartan::golden
