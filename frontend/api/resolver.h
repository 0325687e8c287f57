// SPDX-License-Identifier: Apache-2.0
// Interfaces for binding a model whose graph depends on values known only at run time. The caller
// of Bind resolves the graph breaks that the importer meets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

struct RepeatBody;

// Operations that a call delegates to its runner.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  // Operands and results as in repeat.h.
  virtual absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                         absl::Span<const HostTensor> operands) = 0;
};

// Work between two programs that no single program can do: results whose sizes depend on values, or
// a repeated body.
class Call {
 public:
  virtual ~Call() = default;
  // Thread-safe.
  virtual absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                                      CallRunner& runner) const = 0;
  // The body, if the call only repeats one.
  virtual const RepeatBody* repeated() const { return nullptr; }
};

// A point where values decide how the graph continues.
struct GraphBreak {
  std::string name;  // the node that needs the values, for messages
  std::vector<Tensor> operands;
  // Applied to the operands; null: the operands' own values are wanted.
  std::shared_ptr<const Call> call;
  // Tensors that the same program also computes, because later nodes need them.
  std::vector<Tensor> kept;
};

struct BreakResult {
  // Constants if values were wanted, placeholders for the results of a call.
  std::vector<Tensor> results;
  std::vector<Tensor> kept;  // placeholders
};

class Resolver {
 public:
  virtual ~Resolver() = default;
  // Called before the first break with the placeholders of the model's inputs, in order.
  // Placeholders of inputs bound by value or left out are undefined.
  virtual void Begin(absl::Span<const Tensor> placeholders) = 0;
  virtual absl::StatusOr<BreakResult> Resolve(const GraphBreak& graph_break) = 0;
};

}  // namespace tartan::api
