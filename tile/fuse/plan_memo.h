// SPDX-License-Identifier: Apache-2.0
// Memo of kernel plans by form (poly/form_key.h), so that identical layers are planned once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::fuse {

struct Planned {
  plan::PlannedKernel kernel;
  int form = -1;  // kernels with equal numbers (not -1) have the same plan and code
};

// The planners whose plans the memo keeps.
enum class Planner : char {
  kAny = 'a',         // the best plan of all planners
  kWorkGroups = 'w',  // the best plan of the planner for tiled work-groups
};

// Returns a key that is equal for kernels of one form with the same context.
std::string FormOf(const poly::FlatContraction& flat, const plan::LaunchContext& launch);

class PlanMemo {
 public:
  // Returns a key that is equal for kernels which share a plan. Such kernels also read equal values
  // through the same tensors: a plan for one tensor that is read twice does not apply to two.
  static std::string KeyOf(Planner planner, const poly::FlatContraction& flat,
                           const plan::LaunchContext& launch);

  // Returns whether a kernel with this key was planned before.
  bool Has(Planner planner, const poly::FlatContraction& flat,
           const plan::LaunchContext& launch) const;
  // Returns the kernel's plan, and calls `make` if no kernel with its key was planned before.
  // `is_launch`: the kernel is launched, not only compared. All launches of a form have the
  // comments of the first one.
  Planned Get(Planner planner, const poly::FlatContraction& flat, const plan::LaunchContext& launch,
              bool is_launch, const std::function<plan::PlannedKernel()>& make);

 private:
  struct Entry {
    poly::FlatContraction flat;
    Planned planned;
    bool is_launch = false;
  };

  std::unordered_map<std::string, Entry> entries_;  // by key
  std::unordered_map<std::string, int> forms_;      // numbers, by planner, form and context
};

}  // namespace tartan::fuse
