// SPDX-License-Identifier: Apache-2.0
#include "tile/fuse/log_chain.h"

#include <algorithm>
#include <string>

namespace tartan::fuse {
namespace {

// Returns whether the kernel reads a value that the group stores.
bool ReadsResult(const poly::RowKernel& reader, const ir::Grouping& grouping,
                 const ir::KernelGroup& producer) {
  return std::any_of(
      reader.flat.tensors.begin(), reader.flat.tensors.end(), [&](const poly::Tensor& tensor) {
        return std::any_of(
            producer.outputs.begin(), producer.outputs.end(),
            [&](ir::ValueId output) { return grouping.storage[output] == tensor.value; });
      });
}

}  // namespace

void LogChain(const ir::Program& program, const ir::Grouping& grouping,
              const graph::RowChain& chain, graph::FusionDecision decision, graph::FusionLog* log) {
  const auto name = [&](const ir::KernelGroup& group) {
    return program.values[grouping.storage[group.outputs.front()]].name;
  };
  for (size_t reader = 1; reader < chain.kernels.size(); ++reader) {
    for (size_t producer = 0; producer < reader; ++producer) {
      const ir::KernelGroup& from = grouping.groups[chain.groups[producer]];
      if (!ReadsResult(chain.kernels[reader], grouping, from)) continue;
      decision.producer = name(from);
      decision.consumer = name(grouping.groups[chain.groups[reader]]);
      decision.kernel = decision.consumer;
      log->Add(decision);
    }
  }
}

}  // namespace tartan::fuse
