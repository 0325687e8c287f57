// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/kernel_plan.h"

namespace tartan::plan {

std::string ToString(const KernelPlan& plan, const poly::FlatContraction& flat) {
  return std::visit([&](const auto& form) { return form.ToString(flat); }, plan);
}

}  // namespace tartan::plan
