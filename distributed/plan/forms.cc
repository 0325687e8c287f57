// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/forms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tartan::plan_cluster {
namespace {

constexpr int64_t kMaxStages = 16;

// Fills what follows from the step time.
Prediction Finish(Prediction made, const TrainingProfile& profile, const Cluster& cluster) {
  made.exposed_s = std::max(0.0, made.step_s - made.compute_s);
  made.examples_per_s = static_cast<double>(cluster.devices) * profile.examples / made.step_s;
  made.efficiency = profile.step_s() / made.step_s;
  return made;
}

double LargestBytes(const std::vector<Gradient>& buckets) {
  double largest = 0;
  for (const Gradient& bucket : buckets) largest = std::max(largest, bucket.bytes);
  return largest;
}

// The same gradients, each a share of its bytes.
std::vector<Gradient> Scaled(std::vector<Gradient> gradients, double share) {
  for (Gradient& gradient : gradients) gradient.bytes *= share;
  return gradients;
}

// The step of a data-parallel group whose gradients are reduced during or after the backward pass.
// Sharded optimizers update a part and gather the parameters afterwards.
void AddReplicas(const TrainingProfile& profile, const Group& group, Shard shard,
                 double bytes_share, const PlanOptions& options, Prediction* made) {
  const std::vector<Gradient> buckets =
      MakeBuckets(Scaled(profile.gradients, bytes_share), options.bucket_bytes);
  const bool is_sharded = shard != Shard::kNothing;
  const auto reduce = [&](double bytes) {
    const CollectiveTime time = is_sharded ? ReduceScatter(group, bytes) : AllReduce(group, bytes);
    return time.seconds;
  };
  double gather_s = 0;
  double reduce_s = 0;
  for (const Gradient& bucket : buckets) {
    reduce_s += reduce(bucket.bytes);
    if (is_sharded) gather_s += ReduceScatter(group, bucket.bytes).seconds;
  }
  made->communication_s += reduce_s + gather_s;
  const double largest = LargestBytes(buckets);
  made->algorithm =
      (is_sharded ? ReduceScatter(group, largest) : AllReduce(group, largest)).algorithm;
  const double update_s =
      is_sharded ? profile.update_s / static_cast<double>(group.size) : profile.update_s;
  made->compute_s += profile.forward_s + profile.backward_s + update_s + profile.host_s;
  const double reduced_s =
      options.overlaps ? EndOfReductions(buckets, reduce) : profile.backward_s + reduce_s;
  made->step_s += profile.forward_s + std::max(profile.backward_s, reduced_s) + update_s +
                  profile.host_s + gather_s;
}

void AddShardedParameters(const TrainingProfile& profile, const Group& group,
                          const PlanOptions& options, Prediction* made) {
  const std::vector<Gradient> buckets = MakeBuckets(profile.gradients, options.bucket_bytes);
  const auto collect = [&](double bytes) { return ReduceScatter(group, bytes).seconds; };
  for (const Gradient& bucket : buckets) made->communication_s += 3 * collect(bucket.bytes);
  made->algorithm = ReduceScatter(group, LargestBytes(buckets)).algorithm;
  const double update_s = profile.update_s / static_cast<double>(group.size);
  const GatheredPasses passes =
      GatherAhead(profile.forward_s, profile.backward_s, buckets, collect, collect);
  made->compute_s = profile.forward_s + profile.backward_s + update_s + profile.host_s;
  made->step_s = passes.forward_s + passes.backward_s + update_s + profile.host_s;
  if (!options.overlaps) made->step_s = made->compute_s + made->communication_s;
}

}  // namespace

double ModelStateBytes(Shard shard, const TrainingProfile& profile, int64_t devices) {
  const auto n = static_cast<double>(devices);
  const double parameters = profile.parameter_bytes / (shard >= Shard::kParameters ? n : 1);
  const double gradients = profile.gradient_bytes / (shard >= Shard::kGradients ? n : 1);
  const double states = profile.state_bytes / (shard >= Shard::kOptimizer ? n : 1);
  return parameters + gradients + states;
}

double PipelineBubble(int64_t stages, int64_t microbatches) {
  return static_cast<double>(stages - 1) / static_cast<double>(microbatches + stages - 1);
}

std::string Form::Describe(int64_t devices) const {
  if (tensor > 1) return absl::StrCat("tensor ", tensor, " x data ", devices / tensor);
  if (pipeline > 1) {
    return absl::StrCat("pipeline ", pipeline, " (", microbatches, " parts) x data ",
                        devices / pipeline);
  }
  switch (shard) {
    case Shard::kNothing:
      return "data parallel";
    case Shard::kOptimizer:
      return "optimizer sharded";
    case Shard::kGradients:
      return "gradients sharded";
    case Shard::kParameters:
      return "parameters sharded";
  }
  return "";
}

Prediction PredictData(const TrainingProfile& profile, const Cluster& cluster, Shard shard,
                       const PlanOptions& options) {
  Prediction made;
  made.form.shard = shard;
  const Group group = cluster.GroupOf(cluster.devices, 1);
  const double bucket = LargestBytes(MakeBuckets(profile.gradients, options.bucket_bytes));
  // Sharded gradients need a bucket before its reduction, sharded parameters the bucket in use and
  // the one gathered ahead.
  double working = 0;
  if (group.size > 1 && shard >= Shard::kGradients) working += bucket;
  if (group.size > 1 && shard >= Shard::kParameters) working += 2 * bucket;
  made.memory_bytes = ModelStateBytes(shard, profile, cluster.devices) + working +
                      profile.activation_bytes + profile.other_bytes;
  if (shard == Shard::kParameters) {
    AddShardedParameters(profile, group, options, &made);
  } else {
    AddReplicas(profile, group, shard, 1, options, &made);
  }
  return Finish(std::move(made), profile, cluster);
}

Prediction PredictTensor(const TrainingProfile& profile, const Cluster& cluster, int64_t tensor,
                         const PlanOptions& options) {
  Prediction made;
  made.form.tensor = tensor;
  const auto t = static_cast<double>(tensor);
  // A group computes the batches of its devices, each device a share of every matrix.
  const Group split = cluster.GroupOf(tensor, 1);
  const CollectiveTime pass = AllReduce(split, t * profile.reduced_activation_bytes);
  made.communication_s = 2 * pass.seconds;
  made.step_s = made.communication_s;
  TrainingProfile part = profile;
  part.update_s /= t;
  AddReplicas(part, cluster.GroupOf(cluster.devices / tensor, tensor), Shard::kNothing, 1 / t,
              options, &made);
  made.memory_bytes = ModelStateBytes(Shard::kNothing, profile, 1) / t + profile.activation_bytes +
                      profile.other_bytes;
  return Finish(std::move(made), profile, cluster);
}

Prediction PredictPipeline(const TrainingProfile& profile, const Cluster& cluster, int64_t stages,
                           const PlanOptions& options) {
  Prediction made;
  made.form.pipeline = stages;
  made.form.microbatches = stages * options.microbatches_per_stage;
  const auto p = static_cast<double>(stages);
  const auto m = static_cast<double>(made.form.microbatches);
  // A pipeline computes the batches of its devices in m microbatches. With all stages busy it takes
  // as long as one device with its own batch.
  const double busy_s = profile.forward_s + profile.backward_s;
  const double passes_s = busy_s / (1 - PipelineBubble(stages, made.form.microbatches));
  const Group hop = cluster.GroupOf(stages, 1);
  const double send_s = hop.slowest().Send(profile.boundary_bytes * p / m);
  const Group replicas = cluster.GroupOf(cluster.devices / stages, stages);
  const CollectiveTime reduction = AllReduce(replicas, profile.gradient_bytes / p);
  // Gradients are complete in the backward pass of the last microbatch.
  const double exposed_s = std::max(0.0, reduction.seconds - profile.backward_s / m);
  const double update_s = profile.update_s / p;
  made.algorithm = reduction.algorithm;
  made.compute_s = busy_s + update_s + profile.host_s;
  made.communication_s = 2 * (p - 1) * send_s + reduction.seconds;
  made.step_s = passes_s + 2 * (p - 1) * send_s + exposed_s + update_s + profile.host_s;
  // One forward, one backward: the first stage keeps the values of at most p microbatches.
  const auto kept = static_cast<double>(std::min(stages, made.form.microbatches));
  made.memory_bytes = ModelStateBytes(Shard::kNothing, profile, 1) / p +
                      profile.activation_bytes * kept / m + profile.other_bytes;
  return Finish(std::move(made), profile, cluster);
}

std::vector<Prediction> PredictForms(const TrainingProfile& profile, const Cluster& cluster,
                                     const PlanOptions& options) {
  std::vector<Prediction> forms;
  for (const Shard shard :
       {Shard::kNothing, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    forms.push_back(PredictData(profile, cluster, shard, options));
  }
  for (int64_t t = 2; t <= std::min(cluster.per_host, cluster.devices); t *= 2) {
    if (cluster.devices % t == 0) {
      forms.push_back(PredictTensor(profile, cluster, t, options));
    }
  }
  for (int64_t p = 2; p <= std::min(kMaxStages, cluster.devices); p *= 2) {
    if (cluster.devices % p == 0) {
      forms.push_back(PredictPipeline(profile, cluster, p, options));
    }
  }
  return forms;
}

}  // namespace tartan::plan_cluster
