// SPDX-License-Identifier: Apache-2.0
// Eager evaluation: computes lazy tensors whose operands have values (Tensor::Leaf) when a value is
// requested. All operations recorded since become one program, and graphs of the same form share
// it.
//
//   EagerRuntime runtime(device);
//   const Tensor x = Tensor::Leaf(value);
//   TARTAN_ASSIGN_OR_RETURN(const Tensor y, Apply("function (X) -> (Y) { Y = X * X; }", {x}));
//   TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, runtime.Evaluate({y}));
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/resolver.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

class LoadedPrograms;

struct EagerOptions {
  // Maximum number of cached programs, with LRU eviction.
  size_t max_programs = 4096;
  // Same as in SessionOptions: the host computes small programs, and frequent programs get exact
  // kernels.
  double host_ms = 25;
  int exact_after_runs = 8;
  double exact_lost_share = 1;
  // The host computes everything, and the driver is not called: for a process that was forked after
  // its parent used the driver. Unimplemented for a program that the host cannot compute.
  bool only_host = false;
};

// Thread-safe.
class EagerRuntime final {
 public:
  explicit EagerRuntime(std::shared_ptr<const Device> device, EagerOptions options = {});
  ~EagerRuntime();

  // Returns the values in order. FailedPrecondition naming a placeholder that is not a leaf;
  // OutOfRange naming the node of an index out of range. Adds to `statistics`, which may be null.
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const Tensor> tensors,
                                                   RunStatistics* statistics = nullptr);

  // Runs `call` on the operands and returns its results as leaves.
  absl::StatusOr<std::vector<Tensor>> Run(const Call& call, absl::Span<const Tensor> operands);

  const std::shared_ptr<const Device>& device() const { return device_; }

 private:
  struct Program;
  using ProgramPtr = std::shared_ptr<const Program>;

  absl::StatusOr<ProgramPtr> Find(absl::Span<const Tensor> tensors, std::vector<Tensor>* leaves,
                                  RunStatistics* statistics);

  const std::shared_ptr<const Device> device_;
  const EagerOptions options_;
  const std::unique_ptr<LoadedPrograms> loaded_;  // starts with ready (dynamic-shape) kernels
  std::mutex mutex_;
  std::list<ProgramPtr> programs_;  // guarded by mutex_; the most recently used first
  std::unordered_map<std::string, std::list<ProgramPtr>::iterator> by_key_;  // guarded by mutex_
};

// Resolves graph breaks of an import whose operands have values, by computing the values that
// decide the graph.
class EagerResolver final : public Resolver {
 public:
  explicit EagerResolver(EagerRuntime& runtime) : runtime_(runtime) {}
  void Begin(absl::Span<const Tensor> placeholders) override {}
  absl::StatusOr<BreakResult> Resolve(const GraphBreak& graph_break) override;

 private:
  EagerRuntime& runtime_;
};

}  // namespace tartan::api
