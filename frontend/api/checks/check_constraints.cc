// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checks/check_constraints.h"

#include <vector>

#include "tile/lang/binder.h"

namespace tartan::api {

absl::Status CheckConstraints(const Function& function, absl::Span<const Tensor> inputs) {
  std::vector<TensorShape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  return lang::CheckConstraints(function.ast(), shapes, {function.file(), function.text(), {}});
}

}  // namespace tartan::api
