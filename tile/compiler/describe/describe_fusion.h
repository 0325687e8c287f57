// SPDX-License-Identifier: Apache-2.0
// Says for each launch which operations it fuses, and why it is not one launch with those whose
// results it reads.
#pragma once

#include <string>
#include <vector>

#include "tile/compiler/kernel_list.h"
#include "tile/graph/fusion_log.h"

namespace tartan::compiler {

// A launch of an execution whose result another launch reads, and why these are two launches.
struct RefusedFusion {
  int producer = 0;  // position in the result of FusionOf; -1: a launch at load
  graph::FusionDecision decision;
};

struct LaunchFusion {
  std::string kernel;  // name of the kernel
  std::string computes;
  double predicted_us = 0;                            // 0: no prediction
  std::vector<graph::FusionDecision> accepted = {};   // between operations of this launch
  std::vector<RefusedFusion> refused = {};            // with this launch as the consumer
  std::vector<graph::FusionDecision> algorithm = {};  // about its algorithm
};

// Returns the launches of an execution, in order. Each pair of launches of which one reads a result
// of the other has a reason. Requires `list.decisions`.
std::vector<LaunchFusion> FusionOf(const KernelList& list);

// Returns the launches as text: accepted fusions begin with +, refused ones with -.
std::string FusionText(const std::vector<LaunchFusion>& launches);

}  // namespace tartan::compiler
