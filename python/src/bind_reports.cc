// SPDX-License-Identifier: Apache-2.0
// Binds reports about compiled programs (tartan.explain).
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/explain/html.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/explain/report_page.h"
#include "frontend/api/explain/units.h"
#include "frontend/api/session.h"
#include "python/src/bindings.h"
#include "python/src/status.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/describe/describe_fusion.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using api::KernelReport;
using api::ProgramReport;
using api::Tensor;

nb::object NumberOrNone(double value) { return value < 0 ? nb::none() : nb::cast(value); }

std::vector<nb::dict> KernelsOf(const ProgramReport& report) {
  std::vector<nb::dict> kernels;
  for (const KernelReport& kernel : report.kernels) {
    nb::dict& row = kernels.emplace_back();
    row["name"] = kernel.name;
    row["computes"] = kernel.computes;
    row["operations"] = kernel.operations;
    row["plans"] = kernel.plans;
    row["source"] = kernel.source;
    row["launches"] = kernel.launches;
    row["setup_launches"] = kernel.setup_launches;
    row["work_groups"] = nb::make_tuple(kernel.groups[0], kernel.groups[1], kernel.groups[2]);
    row["work_group_size"] =
        nb::make_tuple(kernel.local_size[0], kernel.local_size[1], kernel.local_size[2]);
    row["flops"] = kernel.flops;
    row["bytes"] = kernel.bytes;
    row["predicted_us"] = NumberOrNone(kernel.predicted_us);
    row["measured_us"] = NumberOrNone(kernel.measured_us);
  }
  return kernels;
}

nb::dict DecisionOf(const graph::FusionDecision& decision) {
  const auto us = [](double value) { return value > 0 ? nb::cast(value) : nb::none(); };
  nb::dict row;
  row["rule"] = std::string(graph::Name(decision.rule));
  row["accepted"] = decision.is_accepted;
  row["producer"] = decision.producer;
  row["consumer"] = decision.consumer.empty() ? nb::none() : nb::cast(decision.consumer);
  row["reason"] = decision.reason;
  row["fused_us"] = us(decision.fused_us);
  row["separate_us"] = us(decision.separate_us);
  return row;
}

std::vector<nb::dict> FusionOf(const ProgramReport& report) {
  std::vector<nb::dict> launches;
  for (const compiler::LaunchFusion& launch : report.fusion) {
    nb::dict& row = launches.emplace_back();
    std::vector<nb::dict> accepted;
    std::vector<nb::dict> refused;
    for (const auto& decision : launch.accepted) accepted.push_back(DecisionOf(decision));
    for (const auto& decision : launch.algorithm) {
      (decision.is_accepted ? accepted : refused).push_back(DecisionOf(decision));
    }
    for (const compiler::RefusedFusion& one : launch.refused) {
      refused.push_back(DecisionOf(one.decision));
      refused.back()["launch"] = one.producer < 0 ? nb::none() : nb::cast(one.producer);
    }
    row["kernel"] = launch.kernel;
    row["computes"] = launch.computes;
    row["accepted"] = accepted;
    row["refused"] = refused;
  }
  return launches;
}

const char* NameOf(compiler::BufferKind kind) {
  constexpr const char* kNames[] = {"input",     "constant", "persistent",
                                    "temporary", "output",   "variable"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<nb::dict> BuffersOf(const ProgramReport& report) {
  std::vector<nb::dict> buffers;
  for (const api::BufferReport& buffer : report.buffers) {
    const bool is_placed = buffer.offset >= 0;
    nb::dict& row = buffers.emplace_back();
    row["name"] = buffer.name;
    row["kind"] = NameOf(buffer.kind);
    row["dtype"] = std::string(Name(buffer.shape.type));
    row["shape"] = nb::tuple(nb::cast(buffer.shape.dims));
    row["bytes"] = buffer.bytes;
    row["offset"] = is_placed ? nb::cast(buffer.offset) : nb::none();
    row["steps"] =
        is_placed ? nb::object(nb::make_tuple(buffer.first_step, buffer.last_step)) : nb::none();
    std::vector<std::string> names;
    for (const int other : buffer.shares_with) {
      names.push_back(report.buffers[static_cast<size_t>(other)].name);
    }
    row["shares_with"] = names;
  }
  return buffers;
}

nb::dict MemoryOf(const ProgramReport& report) {
  nb::dict memory;
  memory["constants"] = report.constants;
  memory["variables"] = report.states;
  memory["temporaries"] = report.scratch;
  memory["unshared"] = report.unshared;
  memory["peak"] = report.peak;
  return memory;
}

ProgramReport Plan(const std::shared_ptr<api::Device>& device, const std::vector<Tensor>& inputs,
                   const std::vector<std::pair<Tensor, std::optional<Tensor>>>& states,
                   const std::vector<Tensor>& outputs, const std::string& name,
                   const std::string& tier) {
  std::vector<api::ProgramState> bound;
  for (const auto& [input, next] : states) bound.push_back({input, next.value_or(Tensor())});
  const auto of_tier =
      device->WithTier(tier == "ready" ? compiler::Tier::kReady : compiler::Tier::kExact);
  absl::StatusOr<ProgramReport> report;
  {
    const nb::gil_scoped_release unlocked;
    report = api::Explain(*of_tier, {inputs, std::move(bound), outputs, name});
  }
  return ValueOrRaise(std::move(report));
}

// Stores measured times: kernel name and milliseconds of each launch of an execution.
void NoteTimes(ProgramReport& report, const std::vector<std::pair<std::string, double>>& times) {
  std::vector<api::KernelProfile> profile;
  for (const auto& [kernel, ms] : times) profile.push_back({kernel, "", ms});
  RaiseIfError(api::SetTimes(profile, &report));
}

}  // namespace

void BindReports(nb::module_& module) {
  nb::class_<ProgramReport>(module, "Report", "A report of a compiled program.")
      .def_static("plan", &Plan, nb::arg("device"), nb::arg("inputs"), nb::arg("states"),
                  nb::arg("outputs"), nb::arg("name"), nb::arg("tier"))
      .def_static("of_session",
                  [](api::Session& session) {
                    absl::StatusOr<std::vector<ProgramReport>> reports;
                    {
                      const nb::gil_scoped_release unlocked;
                      reports = session.Explain();
                    }
                    return ValueOrRaise(std::move(reports));
                  })
      .def("note_times", &NoteTimes, nb::arg("times"))
      .def_ro("name", &ProgramReport::name)
      .def_ro("tier", &ProgramReport::tier)
      .def_ro("device", &ProgramReport::device)
      .def_ro("steps", &ProgramReport::steps)
      .def_prop_ro("launches", [](const ProgramReport& r) { return r.launches; })
      .def_prop_ro("kernels", &KernelsOf)
      .def_prop_ro("fusion", &FusionOf)
      .def_prop_ro("fusion_text",
                   [](const ProgramReport& r) { return compiler::FusionText(r.fusion); })
      .def_prop_ro("buffers", &BuffersOf)
      .def_prop_ro("memory", &MemoryOf);
  module.def("format_bytes", &api::FormatBytes);
  module.def("format_flops", &api::FormatFlops);
  module.def("format_us", &api::FormatMicroseconds);
  module.def("reports_part", [](const std::vector<ProgramReport>& reports) {
    return api::HtmlPart(api::ReportsHtml(reports));
  });
  module.def("reports_page",
             [](const std::string& title, const std::vector<ProgramReport>& reports) {
               return api::HtmlPage(title, api::ReportsHtml(reports));
             });
}

}  // namespace tartan::python
