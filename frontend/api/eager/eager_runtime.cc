// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/eager/eager_runtime.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/eager/graph_key.h"
#include "frontend/api/programs/compiled_function.h"
#include "frontend/api/programs/device_runner.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/environment.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api {

struct EagerRuntime::Program {
  GraphKey key;  // without placeholders
  CompiledFunction function;
};

namespace {

std::shared_ptr<ExactPrograms> ExactOf(const Device& device, const EagerOptions& options) {
  auto exact = std::make_shared<ExactPrograms>();
  exact->device = device.WithTier(compiler::Tier::kExact);
  exact->rule = {options.exact_after_runs, options.exact_lost_share};
  exact->host_ms = options.host_ms;
  exact->only_host = options.only_host;
  return exact;
}

// Returns the values of `leaves`; fails if one of them has no value.
absl::StatusOr<std::vector<HostTensor>> ValuesOf(absl::Span<const Tensor> leaves) {
  std::vector<HostTensor> values;
  for (const Tensor& leaf : leaves) {
    if (leaf.leaf_value() == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("the value cannot be computed: it depends on '", leaf.node()->name,
                       "', which has no value while a function is traced"));
    }
    values.push_back(*leaf.leaf_value());
  }
  return values;
}

// TARTAN_TIER=exact in the environment requests shape-specialised kernels from the first run, also
// for captured Python functions.
compiler::Tier FirstTier() {
  return EnvironmentValue("TARTAN_TIER") == "exact" ? compiler::Tier::kExact
                                                    : compiler::Tier::kReady;
}

}  // namespace

EagerRuntime::EagerRuntime(std::shared_ptr<const Device> device, EagerOptions options)
    : device_(options.only_host ? device->ForForkedProcess() : std::move(device)),
      options_(options),
      loaded_(std::make_unique<LoadedPrograms>(device_->WithTier(FirstTier()),
                                               ExactOf(*device_, options))) {}

EagerRuntime::~EagerRuntime() = default;

absl::StatusOr<EagerRuntime::ProgramPtr> EagerRuntime::Find(absl::Span<const Tensor> tensors,
                                                            std::vector<Tensor>* leaves,
                                                            RunStatistics* statistics) {
  GraphKey key = KeyOf(tensors);
  *leaves = std::move(key.placeholders);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = by_key_.find(key.key); found != by_key_.end()) {
      programs_.splice(programs_.begin(), programs_, found->second);
      return programs_.front();
    }
  }
  // Two threads may compile the same graph at once; one of the programs is kept.
  TARTAN_ASSIGN_OR_RETURN(CompiledFunction function,
                          CompiledFunction::Make(*loaded_, *leaves, tensors, "eager",
                                                 /*is_checked=*/true, statistics));
  auto made = std::make_shared<const Program>(Program{std::move(key), std::move(function)});
  ProgramPtr dropped;  // released after unlocking
  std::lock_guard<std::mutex> lock(mutex_);
  programs_.push_front(made);
  if (!by_key_.emplace(made->key.key, programs_.begin()).second) {
    programs_.pop_front();
    return made;
  }
  if (programs_.size() > options_.max_programs) {
    dropped = std::move(programs_.back());
    by_key_.erase(dropped->key.key);
    programs_.pop_back();
  }
  return made;
}

absl::StatusOr<std::vector<HostTensor>> EagerRuntime::Evaluate(absl::Span<const Tensor> tensors,
                                                               RunStatistics* statistics) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<HostTensor>> {
    RunStatistics ignored;
    RunStatistics* counted = statistics == nullptr ? &ignored : statistics;
    std::vector<Tensor> leaves;
    TARTAN_ASSIGN_OR_RETURN(const ProgramPtr program, Find(tensors, &leaves, counted));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, ValuesOf(leaves));
    return program->function.Run(values, counted, nullptr);
  });
}

absl::StatusOr<std::vector<Tensor>> EagerRuntime::Run(const Call& call,
                                                      absl::Span<const Tensor> operands) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, Evaluate(operands));
  RunStatistics statistics;
  DeviceRunner runner(*loaded_, /*is_checked=*/true);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results,
                          runner.Run(call, values, &statistics));
  std::vector<Tensor> leaves;
  for (const HostTensor& result : results) leaves.push_back(Tensor::Leaf(result));
  return leaves;
}

absl::StatusOr<BreakResult> EagerResolver::Resolve(const GraphBreak& graph_break) {
  BreakResult result;
  result.kept = graph_break.kept;
  if (graph_break.call != nullptr) {
    TARTAN_ASSIGN_OR_RETURN(result.results, runtime_.Run(*graph_break.call, graph_break.operands));
    return result;
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values,
                          runtime_.Evaluate(graph_break.operands));
  for (const HostTensor& value : values) result.results.push_back(Tensor::Constant(value));
  return result;
}

}  // namespace tartan::api
