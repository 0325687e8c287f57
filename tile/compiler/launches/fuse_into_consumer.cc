// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/fuse_into_consumer.h"

#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tile/compiler/launches/fuse_launches.h"
#include "tile/compiler/plan_cache.h"
#include "tile/plan/gpu/gpu_candidates.h"
#include "tile/plan/gpu/launch_time.h"
#include "tile/poly/fuse_into_consumer.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::compiler {
namespace {

// Only GpuPlan supports joined sums.
bool HasWorkGroups(const plan::PlannedKernel& kernel) {
  return std::holds_alternative<plan::GpuPlan>(kernel.plan);
}

class ConsumerFusion {
 public:
  ConsumerFusion(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                 const HardwareSettings& settings)
      : settings_(settings) {
    for (const ir::ValueId input : program.inputs) {
      const int next = std::get<ir::Input>(program.values[input].op).next;
      if (next >= 0) states_.emplace(program.outputs[next], storage[input]);
    }
  }

  std::optional<plan::PlannedKernel> Join(const plan::PlannedKernel& reader,
                                          const plan::PlannedKernel& producer, ir::ValueId result) {
    if (!HasWorkGroups(reader) || !HasWorkGroups(producer)) return std::nullopt;
    if (WouldCopyState(reader.flat, producer.flat)) return std::nullopt;
    std::optional<poly::FlatContraction> joined =
        poly::FuseIntoConsumer(reader.flat, producer.flat, result);
    if (!joined.has_value()) return std::nullopt;
    const poly::FlatContraction flat = poly::MergeIndices(*std::move(joined));
    const auto plan = [&] { return plan::GpuCandidates(flat, settings_, 1).front(); };
    plan::PlannedKernel planned = plans_.Get(flat, {}, plan).kernel;
    if (!HasWorkGroups(planned)) return std::nullopt;
    const double separate_us =
        plan::LaunchMicroseconds(reader, settings_) + plan::LaunchMicroseconds(producer, settings_);
    if (plan::LaunchMicroseconds(planned, settings_) >= separate_us) return std::nullopt;
    return planned;
  }

 private:
  // Returns true if the reader computes the next value of a state that the producer reads.
  // Work-groups run in any order, so the fused kernel could not write over the state in place. The
  // copy that it would need takes longer than a launch.
  bool WouldCopyState(const poly::FlatContraction& reader,
                      const poly::FlatContraction& producer) const {
    for (const poly::Output& output : reader.outputs) {
      const auto [first, last] = states_.equal_range(output.value);
      for (auto state = first; state != last; ++state) {
        for (const poly::Tensor& tensor : producer.tensors) {
          if (tensor.value == state->second) return true;
        }
      }
    }
    return false;
  }

  std::multimap<ir::ValueId, ir::ValueId> states_;  // storage of each state, by its next value
  const HardwareSettings& settings_;
  PlanCache plans_;
};

}  // namespace

void FuseIntoConsumer(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                      const HardwareSettings& settings, Schedule* schedule) {
  if (settings.threads == 1) return;
  ConsumerFusion joiner(program, storage, settings);
  const auto join = [&](const plan::PlannedKernel& reader, const plan::PlannedKernel& producer,
                        ir::ValueId result) { return joiner.Join(reader, producer, result); };
  FuseLaunches(program, storage, join, schedule);
}

}  // namespace tartan::compiler
