// SPDX-License-Identifier: Apache-2.0
// Predicts step time and memory of distributed forms of training from the profile of one device.
//
// Every form computes the profiled batch per device, so that all forms on one number of devices
// have the same global batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "distributed/plan/collectives.h"
#include "distributed/plan/link.h"
#include "distributed/plan/overlap.h"

namespace tartan::plan_cluster {

// A training step on one device.
struct TrainingProfile {
  double forward_s = 0;
  double backward_s = 0;
  double update_s = 0;
  double host_s = 0;                // time of a step without kernels: launches, batches, reading
  std::vector<Gradient> gradients;  // in the order of their computation
  double parameter_bytes = 0;       // trained parameters
  double gradient_bytes = 0;
  double state_bytes = 0;       // averages of the optimizer
  double activation_bytes = 0;  // forward values that gradients need
  double other_bytes = 0;       // batch, constants, scratch
  // For tensor and pipeline splits: bytes of an activation between two layers, and of all
  // activations that a tensor split reduces in one pass.
  double boundary_bytes = 0;
  double reduced_activation_bytes = 0;
  double examples = 0;  // rows of the batch

  double step_s() const { return forward_s + backward_s + update_s + host_s; }
};

// The data that data-parallel devices divide instead of replicating it (S. Rajbhandari et al.,
// ZeRO, 2020).
enum class Shard : uint8_t { kNothing, kOptimizer, kGradients, kParameters };

// Bytes of parameters, gradients and optimizer states per device: p + g + s, p + g + s/n,
// p + g/n + s/n, and (p + g + s)/n.
double ModelStateBytes(Shard shard, const TrainingProfile& profile, int64_t devices);

// Share of the time in which stages of a pipeline wait: (p-1)/(m+p-1).
double PipelineBubble(int64_t stages, int64_t microbatches);

struct Form {
  Shard shard = Shard::kNothing;
  int64_t tensor = 1;        // devices that divide each matrix
  int64_t pipeline = 1;      // stages
  int64_t microbatches = 1;  // per step of a pipeline

  bool is_implemented() const { return tensor == 1 && pipeline == 1; }
  // "data parallel", "optimizer sharded", "tensor 4 x data 16".
  std::string Describe(int64_t devices) const;
};

struct Prediction {
  Form form;
  double step_s = 0;
  double compute_s = 0;        // kernels and host
  double communication_s = 0;  // time of all collective operations
  double exposed_s = 0;        // part of the step in which a device only communicates or waits
  double memory_bytes = 0;     // per device
  double examples_per_s = 0;   // of the cluster
  double efficiency = 0;       // throughput per device compared with one device alone
  Algorithm algorithm = Algorithm::kNone;  // of the largest reduction
};

struct PlanOptions {
  double bucket_bytes = 32 << 20;
  // False: kernels wait for reductions and gathers, as on processors that ranks share, and with
  // NCCL beside OpenCL, where a GPU alternates between both.
  bool overlaps = true;
  int64_t microbatches_per_stage = 4;
};

Prediction PredictData(const TrainingProfile& profile, const Cluster& cluster, Shard shard,
                       const PlanOptions& options);
// `tensor` must divide the devices.
Prediction PredictTensor(const TrainingProfile& profile, const Cluster& cluster, int64_t tensor,
                         const PlanOptions& options);
// `stages` must divide the devices.
Prediction PredictPipeline(const TrainingProfile& profile, const Cluster& cluster, int64_t stages,
                           const PlanOptions& options);

// All four data-parallel forms, tensor splits up to a host and pipelines up to 16 stages, in powers
// of two that divide the devices.
std::vector<Prediction> PredictForms(const TrainingProfile& profile, const Cluster& cluster,
                                     const PlanOptions& options);

}  // namespace tartan::plan_cluster
