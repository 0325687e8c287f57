// SPDX-License-Identifier: Apache-2.0
// Cache of kernel plans by form (poly/form_key.h), so that identical layers are planned once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

class PlanCache {
 public:
  struct Remembered {
    plan::PlannedKernel kernel;
    int form = -1;  // kernels with equal numbers have the same plan and code
  };

  // Returns the kernel's plan, and calls `make` if no kernel of this form was planned before.
  // `is_constant`: per tensor, whether it is a load-time constant.
  Remembered Get(const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
                 const std::function<plan::PlannedKernel()>& make);

 private:
  struct Entry {
    poly::FlatContraction flat;
    Remembered planned;
  };

  std::unordered_map<std::string, Entry> entries_;  // by form and constant tensors
};

}  // namespace tartan::compiler
