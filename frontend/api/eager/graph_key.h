// SPDX-License-Identifier: Apache-2.0
// What tells graphs of lazy tensors apart whose programs differ. Internal to frontend/api.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/api/tensor.h"
#include "tile/lang/ast.h"

namespace tartan::api {

struct GraphKey {
  // Equal for graphs that are computed by the same program: the same functions applied in the same
  // way to placeholders of the same shapes and to the same constants.
  std::string key;
  // The placeholders that the graph depends on, in an order that equal keys share.
  std::vector<Tensor> placeholders;
  // What the key tells by its address: whoever keeps the key keeps these.
  std::vector<std::shared_ptr<const lang::Function>> functions;
  std::vector<HostTensor> constants;
};

GraphKey KeyOf(absl::Span<const Tensor> outputs);

}  // namespace tartan::api
