// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/launches/fuse_into_consumer.h"

#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tile/compiler/launches/fuse_launches.h"
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
                 fuse::Judge* judge)
      : judge_(*judge) {
    for (const ir::ValueId input : program.inputs) {
      const int next = std::get<ir::Input>(program.values[input].op).next;
      if (next >= 0) states_.emplace(program.outputs[next], storage[input]);
    }
  }

  std::optional<plan::PlannedKernel> Join(const plan::PlannedKernel& reader,
                                          const plan::PlannedKernel& producer, ir::ValueId result,
                                          graph::FusionDecision* decision) {
    if (!producer.flat.is_reduction() || reader.flat.is_reduction()) return std::nullopt;
    decision->reason = "only plans of tiled work-groups can be fused";
    if (!HasWorkGroups(reader) || !HasWorkGroups(producer)) return std::nullopt;
    decision->reason = "a state that the producer reads would have to be copied";
    if (WouldCopyState(reader.flat, producer.flat)) return std::nullopt;
    decision->reason = "the consumer reads elements that are unevenly spaced, or reads one twice";
    std::optional<poly::FlatContraction> joined =
        poly::FuseIntoConsumer(reader.flat, producer.flat, result);
    if (!joined.has_value()) return std::nullopt;
    const poly::FlatContraction flat = poly::MergeIndices(*std::move(joined));
    plan::PlannedKernel planned = judge_.PlanWorkGroups(flat);
    decision->reason = "the fused kernel has no plan of tiled work-groups";
    if (!HasWorkGroups(planned)) return std::nullopt;
    decision->reason = "predicted times";
    decision->separate_us = judge_.LaunchUs(reader) + judge_.LaunchUs(producer);
    decision->fused_us = judge_.LaunchUs(planned);
    if (decision->fused_us >= decision->separate_us) return std::nullopt;
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
  fuse::Judge& judge_;
};

}  // namespace

void FuseIntoConsumer(const ir::Program& program, fuse::Judge* judge, Schedule* schedule) {
  if (judge->settings().threads == 1) return;
  ConsumerFusion joiner(program, schedule->storage, judge);
  const auto join = [&](const plan::PlannedKernel& reader, const plan::PlannedKernel& producer,
                        ir::ValueId result, graph::FusionDecision* decision) {
    return joiner.Join(reader, producer, result, decision);
  };
  FuseLaunches(program, graph::FusionRule::kIntoConsumer, join, judge, schedule);
}

}  // namespace tartan::compiler
