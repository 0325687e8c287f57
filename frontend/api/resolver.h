// SPDX-License-Identifier: Apache-2.0
// How a model is bound whose graph depends on values that are known only while it runs: whoever
// binds it resolves the graph breaks that the importer meets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

struct RepeatBody;

// What a call may leave to whoever runs it.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  // repeat.h says what the operands and results are.
  virtual absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                         absl::Span<const HostTensor> operands) = 0;
};

// Work between two programs that no single program can do: results whose sizes depend on values,
// or a body repeated.
class Call {
 public:
  virtual ~Call() = default;
  // Thread-safe.
  virtual absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                                      CallRunner& runner) const = 0;
};

// A place where the graph goes on in a way that values decide.
struct GraphBreak {
  std::string name;  // the node that needs them, for messages
  std::vector<Tensor> operands;
  // Applied to the operands; null: the operands' own values are wanted.
  std::shared_ptr<const Call> call;
  // Computed by the same program because later nodes need them.
  std::vector<Tensor> kept;
};

struct BreakResult {
  // Constants where the values were wanted, placeholders for the results of a call.
  std::vector<Tensor> results;
  std::vector<Tensor> kept;  // placeholders
};

class Resolver {
 public:
  virtual ~Resolver() = default;
  // Called before the first break, with the placeholders of the model's inputs in order;
  // undefined ones are bound by value or left out.
  virtual void Begin(absl::Span<const Tensor> placeholders) = 0;
  virtual absl::StatusOr<BreakResult> Resolve(const GraphBreak& graph_break) = 0;
};

}  // namespace tartan::api
