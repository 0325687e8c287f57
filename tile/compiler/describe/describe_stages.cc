// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/describe/describe_stages.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tile/base/match.h"
#include "tile/plan/kernel_plan.h"

namespace tartan::compiler {
namespace {

using ir::ValueId;

std::string NameOf(const ir::Program& program, const Schedule& schedule, ValueId value) {
  return value < schedule.first_added ? program.values[value].name
                                      : schedule.added[value - schedule.first_added].name;
}

std::string PlanLines(const std::string& plan) {
  return absl::StrCat("\n    ", absl::StrReplaceAll(plan, {{"\n", "\n    "}}));
}

}  // namespace

std::string ToString(const ir::Program& program, const Partition& partition) {
  std::string text = absl::StrCat("partition of ", program.name, "\n");
  for (const PartitionedKernel& kernel : partition.kernels) {
    const std::string form = Match(
        kernel.form, [](const poly::FlatContraction&) { return std::string("direct"); },
        [](const poly::WinogradKernels&) { return std::string("Winograd"); },
        [](const poly::PackedMatmul&) { return std::string("packed"); },
        [](const fuse::PlannedChain& planned) {
          return absl::StrCat("one launch of ", planned.chain.kernels.size(), " kernels");
        },
        [&](const SpecialKernel& special) {
          const auto& op = std::get<ir::Special>(program.values[special.value].op);
          return std::string(Name(op.kind));
        });
    absl::StrAppend(&text, "  ", form, ": ", kernel.description,
                    kernel.is_prefilled ? ", filled first" : "", "\n");
  }
  return text;
}

std::string ToString(const ir::Program& program, const Schedule& schedule) {
  std::string text = absl::StrCat("schedule of ", program.name, "\n");
  const auto name = [&](ValueId value) { return NameOf(program, schedule, value); };
  for (const ScheduledStep& step : schedule.steps) {
    const std::string work = Match(
        step.work,
        [&](const PlannedLaunch& launch) {
          const plan::PlannedKernel& planned = launch.planned;
          return absl::StrCat("launch ", step.description,
                              PlanLines(plan::ToString(planned.plan, planned.flat)));
        },
        [&](const fuse::PlannedChain& chain) {
          return absl::StrCat("launch ", step.description, Match(chain.plan, [](const auto& plan) {
                                return PlanLines(plan.ToString());
                              }));
        },
        [&](const SpecialKernel&) { return absl::StrCat("launch ", step.description); },
        [&](const FillValue& fill) { return absl::StrCat("fill ", name(fill.value)); },
        [&](const CopyValue& copy) {
          return absl::StrCat("copy ", name(copy.from), " to ", name(copy.to));
        });
    absl::StrAppend(&text, step.is_setup ? "  at load: " : "  ", work, "\n");
  }
  if (!schedule.rounded.empty()) {
    absl::StrAppend(&text, "  stores rounded to tf32: ",
                    absl::StrJoin(schedule.rounded, ", ",
                                  [&](std::string* out, ValueId value) { *out += name(value); }),
                    "\n");
  }
  return text;
}

}  // namespace tartan::compiler
