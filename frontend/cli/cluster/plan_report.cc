// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/cluster/plan_report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "distributed/plan/data_schedule.h"
#include "frontend/cli/latency.h"
#include "frontend/cli/terminal.h"

namespace tartan::cli {
namespace {

// Simulated runs have about this many failures, but no more steps.
constexpr double kSimulatedFailures = 300;
constexpr double kMaxSimulatedSteps = 2e7;
// The maximum length of a simulated run is one year, for rare failures.
constexpr double kMaxSimulatedSeconds = 365 * 86400.0;

std::vector<double> AddSimulation(const plan_cluster::TrainingProfile& profile,
                                  const ClusterFlags& flags, proto::ClusterPlanReport* report) {
  const plan_cluster::StepSchedule schedule =
      plan_cluster::ScheduleData(profile, flags.cluster, flags.plan);
  std::vector<double> times = plan_cluster::SimulateSteps(
      schedule, flags.cluster.devices, flags.steps, flags.stragglers, flags.seed);
  const LatencySummary summary = Summarize(times);
  proto::ClusterPlanReport::Simulation* simulation = report->mutable_simulation();
  simulation->set_ranks(static_cast<int>(flags.cluster.devices));
  simulation->set_steps(static_cast<int>(flags.steps));
  simulation->set_planned_ms(1000 * schedule.step_s());
  simulation->set_mean_ms(1000 * summary.mean);
  simulation->set_median_ms(1000 * summary.median);
  simulation->set_p99_ms(1000 * summary.p99);
  simulation->set_slowdown(summary.mean / schedule.step_s());
  return times;
}

void AddFailures(const std::vector<double>& step_times,
                 const plan_cluster::TrainingProfile& profile, const ClusterFlags& flags,
                 proto::ClusterPlanReport* report) {
  plan_cluster::FailureModel model = flags.failures;
  model.mtbf_s /= static_cast<double>(flags.cluster.devices);
  if (model.checkpoint_s <= 0) {
    model.checkpoint_s = flags.storage.Send(profile.parameter_bytes + profile.state_bytes);
  }
  const double daly_s = plan_cluster::DalyInterval(model);
  const double interval_s = flags.interval_s > 0 ? flags.interval_s : daly_s;
  const double useful_s = std::min({kSimulatedFailures * model.mtbf_s, kMaxSimulatedSeconds,
                                    kMaxSimulatedSteps * Summarize(step_times).mean});
  const plan_cluster::RunTime run =
      plan_cluster::SimulateRun(step_times, model, interval_s, useful_s, flags.seed);
  proto::ClusterPlanReport::Failures* failures = report->mutable_failures();
  failures->set_mtbf_ms(1000 * model.mtbf_s);
  failures->set_checkpoint_ms(1000 * model.checkpoint_s);
  failures->set_restart_ms(1000 * model.restart_s);
  failures->set_daly_interval_ms(1000 * daly_s);
  failures->set_interval_ms(1000 * interval_s);
  failures->set_expected_goodput(plan_cluster::ExpectedGoodput(model, interval_s));
  failures->set_simulated_goodput(run.goodput());
  failures->set_failures(static_cast<int>(run.failures));
  failures->set_simulated_ms(1000 * run.total_s());
}

std::string FormsText(const proto::ClusterPlanReport& report) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"form", "step", "exposed", "examples/s", "efficiency", "memory", "reduction", ""});
  for (const auto& form : report.forms()) {
    std::string note = form.implemented() ? "" : "estimate: not implemented";
    if (!form.fits()) note = absl::StrCat("does not fit", note.empty() ? "" : "; ", note);
    table.AddRow({form.form(), FormatMs(form.step_ms()), FormatMs(form.exposed_ms()),
                  absl::StrFormat("%.1f", form.throughput()),
                  absl::StrFormat("%.1f %%", 100 * form.efficiency()),
                  FormatBytes(form.memory_bytes()), form.algorithm(), note});
  }
  return table.ToString();
}

// "12.5 s", "3.2 h" or "41.0 d".
std::string DurationText(double ms) {
  const double hours = ms / 3.6e6;
  if (hours >= 48) return absl::StrFormat("%.1f d", hours / 24);
  if (hours >= 1) return absl::StrFormat("%.1f h", hours);
  return ms >= 1000 ? absl::StrFormat("%.1f s", ms / 1000) : FormatMs(ms);
}

std::string FailuresText(const proto::ClusterPlanReport::Failures& failures) {
  const auto& seconds = DurationText;
  return absl::StrFormat(
      "failures    one in %s on average; a checkpoint takes %s, a restart %s\n"
      "checkpoint  every %s (optimum %s): goodput %.1f %% expected, %.1f %% with %d simulated "
      "failures\n",
      seconds(failures.mtbf_ms()), seconds(failures.checkpoint_ms()),
      seconds(failures.restart_ms()), seconds(failures.interval_ms()),
      seconds(failures.daly_interval_ms()), 100 * failures.expected_goodput(),
      100 * failures.simulated_goodput(), failures.failures());
}

}  // namespace

plan_cluster::TrainingProfile Faster(plan_cluster::TrainingProfile profile, double speed) {
  for (double* const time :
       {&profile.forward_s, &profile.backward_s, &profile.update_s, &profile.host_s}) {
    *time /= speed;
  }
  for (plan_cluster::Gradient& gradient : profile.gradients) gradient.ready_s /= speed;
  return profile;
}

void FillPlan(const plan_cluster::TrainingProfile& profile, const ClusterFlags& flags,
              proto::ClusterPlanReport* report) {
  report->set_batch(static_cast<int>(profile.examples));
  report->set_devices(static_cast<int>(flags.cluster.devices));
  report->set_devices_per_host(static_cast<int>(flags.cluster.per_host));
  report->set_step_ms(1000 * profile.step_s());
  report->set_forward_ms(1000 * profile.forward_s);
  report->set_backward_ms(1000 * profile.backward_s);
  report->set_update_ms(1000 * profile.update_s);
  report->set_host_ms(1000 * profile.host_s);
  const auto buckets = plan_cluster::MakeBuckets(profile.gradients, flags.plan.bucket_bytes);
  report->set_buckets(static_cast<int>(buckets.size()));
  report->set_parameter_bytes(profile.parameter_bytes);
  report->set_gradient_bytes(profile.gradient_bytes);
  report->set_state_bytes(profile.state_bytes);
  report->set_activation_bytes(profile.activation_bytes);
  report->set_other_bytes(profile.other_bytes);
  for (const plan_cluster::Prediction& made :
       plan_cluster::PredictForms(profile, flags.cluster, flags.plan)) {
    proto::ClusterPlanReport::Form* form = report->add_forms();
    form->set_form(made.form.Describe(flags.cluster.devices));
    form->set_implemented(made.form.is_implemented());
    form->set_step_ms(1000 * made.step_s);
    form->set_compute_ms(1000 * made.compute_s);
    form->set_communication_ms(1000 * made.communication_s);
    form->set_exposed_ms(1000 * made.exposed_s);
    form->set_memory_bytes(made.memory_bytes);
    form->set_fits(flags.memory_bytes <= 0 || made.memory_bytes <= flags.memory_bytes);
    form->set_throughput(made.examples_per_s);
    form->set_efficiency(made.efficiency);
    form->set_algorithm(std::string(plan_cluster::Name(made.algorithm)));
  }
  const std::vector<double> times = AddSimulation(profile, flags, report);
  if (flags.failures.mtbf_s > 0) AddFailures(times, profile, flags, report);
}

std::string PlanText(const proto::ClusterPlanReport& report) {
  const auto ms = [](double value) { return FormatMs(value); };
  std::string text = absl::StrCat(
      report.model(), " on ", report.device(), ": ", FormatCount(report.parameters()),
      " trained parameters\n", "one device  ", report.batch(), " examples in ",
      ms(report.step_ms()), ": forward ", ms(report.forward_ms()), ", backward ",
      ms(report.backward_ms()), ", update ", ms(report.update_ms()), ", host ",
      ms(report.host_ms()), "\n", "memory      parameters ", FormatBytes(report.parameter_bytes()),
      ", gradients ", FormatBytes(report.gradient_bytes()), ", optimizer ",
      FormatBytes(report.state_bytes()), ", kept values ", FormatBytes(report.activation_bytes()),
      ", other ", FormatBytes(report.other_bytes()), "\n\n", report.devices(), " devices, ",
      report.devices_per_host(), " per host, gradients in ", report.buckets(), " buckets\n",
      FormsText(report), "\n");
  const auto& simulation = report.simulation();
  absl::StrAppend(&text, "stragglers  ", simulation.ranks(), " ranks, ", simulation.steps(),
                  " steps of data parallelism: mean ", ms(simulation.mean_ms()), ", 99 % ",
                  ms(simulation.p99_ms()), ", ", absl::StrFormat("%.3f", simulation.slowdown()),
                  " times the plan\n");
  if (report.has_failures()) absl::StrAppend(&text, FailuresText(report.failures()));
  return text;
}

}  // namespace tartan::cli
