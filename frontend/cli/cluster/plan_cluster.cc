// SPDX-License-Identifier: Apache-2.0
// tartan plan-cluster: predicts training on many devices.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "distributed/plan/link.h"
#include "frontend/cli/cluster/measured_step.h"
#include "frontend/cli/cluster/plan_report.h"
#include "frontend/cli/commands/commands.h"
#include "frontend/cli/commands/input_flags.h"
#include "frontend/cli/number_options.h"
#include "proto/report.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

constexpr int64_t kMaxDevices = 65536;
// Typical latencies of a message, in seconds.
constexpr double kInsideLatency = 2e-6;
constexpr double kBetweenLatency = 5e-6;

struct PlanFlags {
  StepFlags step;
  ClusterFlags cluster;
};

void AddDuration(CLI::App* command, const std::string& name, double* seconds,
                 const std::string& help) {
  const auto take = [=](const std::string& text) {
    *seconds = ValueOrThrow(name, plan_cluster::ParseDuration(text));
  };
  command->add_option_function<std::string>(name, take, help)->type_name("TIME");
}

// `latency` applies to links without one, in seconds.
CLI::Option* AddLink(CLI::App* command, const std::string& name, double latency,
                     plan_cluster::Link* link, const std::string& help) {
  const auto take = [=](const std::string& text) {
    *link = ValueOrThrow(name, plan_cluster::ParseLink(text, latency));
  };
  return command->add_option_function<std::string>(name, take, help)->type_name("LINK");
}

void AddBytes(CLI::App* command, const std::string& name, double* bytes, const std::string& help) {
  const auto take = [=](const std::string& text) {
    *bytes = static_cast<double>(ValueOrThrow(name, ParseBytes(text)));
  };
  command->add_option_function<std::string>(name, take, help)->type_name("SIZE");
}

void AddStepFlags(CLI::App* command, StepFlags* flags) {
  command->add_option("model", flags->model, "ONNX model")->required()->type_name("MODEL");
  AddInputFlags(command, &flags->inputs);
  AddInteger(command, "--batch", &flags->batch, 1, 1 << 24,
             "Examples per device; by default the number that the model fixes, else 32");
  command->add_option("--loss", flags->loss, "Loss of the first output, as of train")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--optimizer", flags->optimizer, "Optimizer, as of train")
      ->type_name("NAME")
      ->capture_default_str();
  AddPrecisionFlags(command, &flags->precision);
  AddDouble(command, "--time", &flags->seconds, 0, 86400, "Seconds to measure for");
}

void AddClusterFlags(CLI::App* command, ClusterFlags* cluster) {
  AddInteger(command, "--devices", &cluster->cluster.devices, 1, kMaxDevices, "Devices")
      ->required();
  AddInteger(command, "--per-host", &cluster->cluster.per_host, 1, kMaxDevices,
             "Devices of one host")
      ->default_str(absl::StrCat(cluster->cluster.per_host));
  AddLink(command, "--link", kBetweenLatency, &cluster->cluster.between,
          "A device's link to other hosts, BANDWIDTH[:LATENCY]: 400Gb (bits), 50GB:3us (bytes)")
      ->required();
  AddLink(command, "--host-link", kInsideLatency, &cluster->cluster.inside,
          "A device's link inside its host; by default that of --link");
  AddBytes(command, "--memory", &cluster->memory_bytes, "Memory of a device, such as 80G");
  AddDouble(command, "--speed", &cluster->speed, 1e-6, 1e6,
            "Speed of a device compared with the measured one");
  AddBytes(command, "--bucket", &cluster->plan.bucket_bytes, "Bytes of a bucket of gradients");
  command->add_flag_callback(
      "--no-overlap", [cluster] { cluster->plan.overlaps = false; },
      "Kernels wait for communication, as with NCCL, and with ranks on one CPU");
  AddInteger(command, "--microbatches", &cluster->plan.microbatches_per_stage, 1, 1 << 20,
             "Microbatches of a pipeline for each stage")
      ->default_str(absl::StrCat(cluster->plan.microbatches_per_stage));
}

void AddSimulationFlags(CLI::App* command, ClusterFlags* flags) {
  AddInteger(command, "--simulate-steps", &flags->steps, 1, 1'000'000,
             "Steps of the simulation with stragglers")
      ->default_str(absl::StrCat(flags->steps));
  AddDouble(command, "--jitter", &flags->stragglers.jitter, 0, 10,
            "Standard deviation of the logarithm of a rank's time in a step");
  AddDouble(command, "--slow-share", &flags->stragglers.slow_share, 0, 1,
            "Share of ranks that are slow in every step");
  AddDouble(command, "--slow-factor", &flags->stragglers.slow_factor, 1, 1e6,
            "Time of a slow rank compared with others");
  AddInteger(command, "--seed", &flags->seed, 0, INT64_MAX, "Seed of the simulation");
  AddDuration(command, "--mtbf", &flags->failures.mtbf_s,
              "Mean time between failures of one device, such as 3000d; simulates failures");
  AddDuration(command, "--checkpoint-time", &flags->failures.checkpoint_s,
              "Time to write a checkpoint; by default its bytes divided by --storage");
  AddLink(command, "--storage", 0, &flags->storage, "Bandwidth of checkpoints, 2GB by default");
  AddDuration(command, "--restart", &flags->failures.restart_s,
              "Time from a failure to the first step, 5min by default");
  AddDuration(command, "--interval", &flags->interval_s,
              "Time between checkpoints; by default the optimum");
}

absl::StatusOr<ExitCode> PlanCluster(PlanFlags flags, const Context& context) {
  plan_cluster::Cluster& cluster = flags.cluster.cluster;
  if (cluster.inside.bytes_per_s == 0) cluster.inside = cluster.between;
  TARTAN_ASSIGN_OR_RETURN(const MeasuredStep measured, MeasureStep(flags.step, context));
  proto::ClusterPlanReport report;
  report.set_model(flags.step.model);
  report.set_device(measured.device);
  report.set_parameters(measured.parameters);
  FillPlan(Faster(measured.profile, flags.cluster.speed), flags.cluster, &report);
  TARTAN_RETURN_IF_ERROR(context.Print(report, PlanText(report)));
  return ExitCode::kDone;
}

}  // namespace

Command AddPlanCluster(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("plan-cluster", "Predict training on many devices from a step on one");
  auto flags = std::make_shared<PlanFlags>();
  flags->cluster.stragglers.jitter = 0.02;
  flags->cluster.failures.restart_s = 300;
  AddStepFlags(command, &flags->step);
  AddClusterFlags(command, &flags->cluster);
  AddSimulationFlags(command, &flags->cluster);
  command->footer(
      "Inputs are random and targets are 0.\n\n"
      "Example:\n  tartan plan-cluster model.onnx --batch 32 --devices 64 --link 400Gb \\\n"
      "    --host-link 450GB --memory 80G --mtbf 3000d");
  return {command, [flags](const Context& context) { return PlanCluster(*flags, context); }};
}

}  // namespace tartan::cli
