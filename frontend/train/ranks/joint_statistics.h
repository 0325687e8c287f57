// SPDX-License-Identifier: Apache-2.0
// The values that ranks exchange during a step, so that batch normalization uses the examples of
// all ranks (onnx::TrainingMode::joint_ranks). Internal to frontend/train.
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/api/model.h"
#include "frontend/api/tensor.h"

namespace tartan::train {

// States of exchange k: a rank's value, and the values of all ranks.
std::string OwnStatistics(size_t k);
std::string AllStatistics(size_t k);
bool IsStatistics(absl::string_view state);

class JointStatistics {
 public:
  JointStatistics() = default;
  // Moves the exchanges out of the updates of a graph.
  explicit JointStatistics(api::BoundGraph* graph);

  bool empty() const { return forward_.empty(); }
  // The scale of a loss that is weighted by a rank's part of the batch: `scale` divided by the
  // number of weights of all ranks, of which this rank has `weights`. So it scales gradients of the
  // mean. Returns `scale` without exchanges.
  absl::StatusOr<api::Tensor> ScaleByExample(const api::Tensor& scale,
                                             const api::Tensor& weights) const;
  // The seed of the loss: WeightedSeed (ranks/joined_sums.h), or `scale` without exchanges.
  absl::StatusOr<api::Tensor> SeedOf(const api::Tensor& scale, const api::Tensor& weight) const;
  // Adds the tensors whose gradients are exchanged.
  void AppendTo(std::vector<api::Tensor>* wrt) const;
  using AddState =
      absl::FunctionRef<void(std::string name, const api::Tensor& input, api::Tensor next)>;
  // Moves these gradients out of the end of `gradients`. Adds the states of all exchanges: the
  // forward pass in the order of the nodes, then the backward pass in the opposite order.
  void AddStates(std::vector<api::Tensor>* gradients, AddState add) const;

 private:
  struct Exchange {
    api::Tensor own;   // a placeholder
    api::Tensor next;  // its value in this step
    api::Tensor all;   // a placeholder
  };

  std::vector<Exchange> forward_;
  std::vector<Exchange> backward_;
};

}  // namespace tartan::train
