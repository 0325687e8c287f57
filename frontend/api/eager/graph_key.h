// SPDX-License-Identifier: Apache-2.0
// A key for graphs of lazy tensors: graphs with equal keys have the same program. Internal to
// frontend/api.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/api/tensor.h"
#include "tile/lang/ast.h"

namespace tartan::api {

struct RepeatBody;  // frontend/api/repeat.h

struct GraphKey {
  // Equal for graphs with the same functions applied in the same way to placeholders of the same
  // shapes and to the same constants.
  std::string key;
  // The graph's placeholders, in an order that is the same for equal keys.
  std::vector<Tensor> placeholders;
  // Objects that the key identifies by address. The owner of the key must keep them alive.
  std::vector<std::shared_ptr<const lang::Function>> functions;
  std::vector<std::shared_ptr<const RepeatBody>> bodies;
  std::vector<HostTensor> constants;
};

GraphKey KeyOf(absl::Span<const Tensor> outputs);

// Returns those `candidates` whose graphs have operations in common with the graphs of `tensors`.
std::vector<Tensor> SharingAmong(absl::Span<const Tensor> tensors,
                                 absl::Span<const Tensor> candidates);

}  // namespace tartan::api
