// SPDX-License-Identifier: Apache-2.0
// Plans of the kernels of a program by their form (poly/form_key.h): layers that are alike are
// planned once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::compiler {

class PlanMemory {
 public:
  struct Remembered {
    plan::PlannedKernel kernel;
    int form = -1;  // kernels with the same number have the same plan and code
  };

  // The kernel's plan; `is_constant` tells of each of its tensors whether it is known at load.
  // `make` is called where no kernel of this form was planned before.
  Remembered Get(const poly::FlatContraction& flat, const std::vector<bool>& is_constant,
                 const std::function<plan::PlannedKernel()>& make);

 private:
  struct Entry {
    poly::FlatContraction flat;
    Remembered planned;
  };

  std::unordered_map<std::string, Entry> entries_;  // by form, and what is constant
};

}  // namespace tartan::compiler
