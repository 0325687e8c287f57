// SPDX-License-Identifier: Apache-2.0
// Computes lazy tensors whose operands have values (Tensor::Leaf) when somebody asks for theirs:
// how a program that runs line by line uses lazy tensors. What was gathered since becomes one
// program; graphs of the same form share it.
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
  // Programs that are kept; the least recently used goes.
  size_t max_programs = 4096;
  // As SessionOptions: little work is the host's, and programs that run often become exact.
  double host_ms = 25;
  int exact_after_runs = 8;
  double exact_lost_share = 1;
};

// Thread-safe.
class EagerRuntime final {
 public:
  explicit EagerRuntime(std::shared_ptr<const Device> device, EagerOptions options = {});
  ~EagerRuntime();

  // Their values, in order. FailedPrecondition where one depends on a placeholder that is no leaf,
  // naming it; OutOfRange for an index out of range, naming its node. Adds to `statistics`, which
  // may be null.
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const Tensor> tensors,
                                                   RunStatistics* statistics = nullptr);

  // What `call` gives for such operands, as leaves.
  absl::StatusOr<std::vector<Tensor>> Run(const Call& call, absl::Span<const Tensor> operands);

  const std::shared_ptr<const Device>& device() const { return device_; }

 private:
  struct Program;
  using ProgramPtr = std::shared_ptr<const Program>;

  absl::StatusOr<ProgramPtr> Find(absl::Span<const Tensor> tensors, std::vector<Tensor>* leaves,
                                  RunStatistics* statistics);

  const std::shared_ptr<const Device> device_;
  const std::shared_ptr<const Device> compiling_;  // the same, with ready kernels
  const EagerOptions options_;
  const std::unique_ptr<LoadedPrograms> loaded_;
  std::mutex mutex_;
  std::list<ProgramPtr> programs_;  // guarded by mutex_, the most recently used first
  std::unordered_map<std::string, std::list<ProgramPtr>::iterator> by_key_;  // guarded by mutex_
};

// Resolves the breaks of a graph that is imported while its operands have values: by computing what
// decides it.
class EagerResolver final : public Resolver {
 public:
  explicit EagerResolver(EagerRuntime& runtime) : runtime_(runtime) {}
  void Begin(absl::Span<const Tensor> placeholders) override {}
  absl::StatusOr<BreakResult> Resolve(const GraphBreak& graph_break) override;

 private:
  EagerRuntime& runtime_;
};

}  // namespace tartan::api
