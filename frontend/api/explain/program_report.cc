// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/explain/program_report.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/memory/recompute.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::api {
namespace {

using compiler::BufferKind;
using compiler::LaunchStep;
using evaluator::CompiledProgram;

void AddNew(absl::string_view text, std::vector<std::string>* texts) {
  if (std::find(texts->begin(), texts->end(), text) == texts->end()) texts->emplace_back(text);
}

double Product(const std::array<int64_t, 3>& sizes) {
  return static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) *
         static_cast<double>(sizes[2]);
}

// Adds a launch to its kernel's report. The launch defines the work-items of kernels with size
// arguments.
void AddLaunch(const LaunchStep& launch, const loop::Kernel& kernel, bool is_setup,
               KernelReport* report) {
  ++(is_setup ? report->setup_launches : report->launches);
  for (absl::string_view part : absl::StrSplit(launch.description, "; ")) {
    AddNew(part, &report->computes);
  }
  if (!launch.operations.empty()) AddNew(launch.operations, &report->operations);
  if (!launch.plan.empty()) AddNew(launch.plan, &report->plans);
  std::array<int64_t, 3> groups;
  for (size_t d = 0; d < 3; ++d) {
    const int64_t items = kernel.sizes.empty() ? kernel.global_size[d] : launch.global_size[d];
    report->local_size[d] = kernel.local_size[d];
    groups[d] = items / std::max<int64_t>(1, kernel.local_size[d]);
  }
  if (Product(groups) > Product(report->groups)) report->groups = groups;
  if (is_setup) return;
  report->flops += launch.flops;
  report->bytes += launch.bytes;
  if (launch.predicted_us > 0) {
    report->predicted_us = std::max(0.0, report->predicted_us) + launch.predicted_us;
  }
}

void AddKernels(const CompiledProgram& program, absl::Span<const std::string> sources,
                ProgramReport* report) {
  const compiler::KernelList& list = program.list();
  std::vector<int> position(list.kernels.size(), -1);  // index in the report
  std::vector<int> kernel_of;                          // inverse of `position`
  const auto add = [&](const compiler::Step& step, bool is_setup) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch == nullptr) return;
    int& at = position[static_cast<size_t>(launch->kernel)];
    if (at < 0) {
      at = static_cast<int>(report->kernels.size());
      report->kernels.emplace_back();
      kernel_of.push_back(launch->kernel);
    }
    AddLaunch(*launch, list.kernels[static_cast<size_t>(launch->kernel)], is_setup,
              &report->kernels[static_cast<size_t>(at)]);
    if (!is_setup) report->launches.push_back(at);
  };
  for (const compiler::Step& step : list.steps) add(step, false);
  for (const compiler::Step& step : list.setup) add(step, true);
  for (size_t r = 0; r < kernel_of.size(); ++r) {
    const auto k = static_cast<size_t>(kernel_of[r]);
    report->kernels[r].name = list.kernels[k].name;
    if (!sources.empty()) report->kernels[r].source = sources[k];
  }
}

bool Overlap(const BufferReport& a, const BufferReport& b) {
  return a.offset >= 0 && b.offset >= 0 && a.offset < b.offset + b.placed_bytes &&
         b.offset < a.offset + a.placed_bytes;
}

void AddBuffers(const CompiledProgram& program, ProgramReport* report) {
  const compiler::KernelList& list = program.list();
  const CompiledProgram::Region& frame = program.frame();
  std::vector<int64_t> arena_begin = {0};
  for (const int64_t bytes : frame.plan.arena_bytes) {
    arena_begin.push_back(arena_begin.back() + bytes);
  }
  const std::vector<compiler::Lifetime> lifetimes = compiler::LifetimesOf(list);
  for (size_t b = 0; b < list.buffers.size(); ++b) {
    const compiler::BufferInfo& info = list.buffers[b];
    const bool is_placed = frame.slot[b] >= 0;
    if (is_placed && lifetimes[b].first > lifetimes[b].last) continue;  // unused
    BufferReport& buffer = report->buffers.emplace_back();
    buffer.name = info.name;
    buffer.kind = info.kind;
    buffer.shape = info.shape;
    buffer.bytes = info.bytes;
    buffer.first_step = std::max(0, lifetimes[b].first);
    buffer.last_step = std::clamp(lifetimes[b].last, 0, std::max(0, report->steps - 1));
    if (!is_placed) continue;
    const evaluator::Placement& place = frame.plan.placements[static_cast<size_t>(frame.slot[b])];
    buffer.offset = arena_begin[static_cast<size_t>(place.arena)] + place.offset;
    buffer.placed_bytes = place.bytes;
    report->unshared += place.bytes;
  }
  for (size_t a = 0; a < report->buffers.size(); ++a) {
    for (size_t b = 0; b < report->buffers.size(); ++b) {
      if (a != b && Overlap(report->buffers[a], report->buffers[b])) {
        report->buffers[a].shares_with.push_back(static_cast<int>(b));
      }
    }
  }
}

void AddMemory(const CompiledProgram& program, const hal::DeviceInfo& info, ProgramReport* report) {
  const compiler::KernelList& list = program.list();
  const int64_t unit = std::max<int64_t>(1, info.buffer_alignment);
  for (const int b : program.resident()) {
    const int64_t bytes = list.buffers[static_cast<size_t>(b)].bytes;
    report->constants +=
        program.IsSeparate(b) ? bytes : std::max<int64_t>(1, (bytes + unit - 1) / unit) * unit;
  }
  for (const compiler::BufferInfo& buffer : list.buffers) {
    if (buffer.kind == BufferKind::kState) report->states += buffer.bytes;
  }
  report->scratch = program.frame().plan.total_bytes();
  const compiler::MemoryUse use = compiler::UseAtPeak(list, -1);
  report->peak = compiler::ResidentBytes(list) + use.inputs + use.kept + use.other;
}

std::string TierOf(const Device& device) {
  return device.tier() == compiler::Tier::kReady ? "ready" : "exact";
}

}  // namespace

ProgramReport ReportOf(const CompiledProgram& program, const hal::DeviceInfo& info,
                       absl::Span<const std::string> sources) {
  ProgramReport report;
  report.name = program.list().name;
  report.device = info.name;
  report.steps = static_cast<int>(program.list().steps.size());
  AddKernels(program, sources, &report);
  report.fusion = compiler::FusionOf(program.list());
  AddBuffers(program, &report);
  AddMemory(program, info, &report);
  return report;
}

absl::StatusOr<ProgramReport> Explain(const Device& device, const proto::Program& program,
                                      bool is_on_host) {
  ProgramReport report;
  if (!is_on_host) {
    TARTAN_ASSIGN_OR_RETURN(const evaluator::PlannedProgram planned, device.Plan(program));
    report = ReportOf(*planned.program, device.info(), planned.sources);
  }
  report.name = program.name();
  report.device = device.info().name;
  report.tier = is_on_host ? "host" : TierOf(device);
  return report;
}

absl::StatusOr<ProgramReport> Explain(const Device& device, const ProgramGraph& graph) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<ProgramReport> {
    TARTAN_ASSIGN_OR_RETURN(const ComposedProgram composed, Compose(graph));
    return Explain(device, composed.program);
  });
}

absl::Status SetTimes(absl::Span<const KernelProfile> times, ProgramReport* report) {
  bool is_same = times.size() == report->launches.size();
  for (size_t t = 0; is_same && t < times.size(); ++t) {
    is_same = times[t].kernel == report->kernels[static_cast<size_t>(report->launches[t])].name;
  }
  if (!is_same) {
    return absl::FailedPreconditionError(
        absl::StrCat(times.size(), " times of launches do not fit '", report->name, "', which has ",
                     report->launches.size()));
  }
  for (KernelReport& kernel : report->kernels) kernel.measured_us = kernel.launches > 0 ? 0 : -1;
  for (size_t t = 0; t < times.size(); ++t) {
    report->kernels[static_cast<size_t>(report->launches[t])].measured_us += times[t].ms * 1e3;
  }
  return absl::OkStatus();
}

}  // namespace tartan::api
