// SPDX-License-Identifier: Apache-2.0
// A program on its way to kernels: what the passes of compiler/passes.h hand on to each other.
#pragma once

#include <map>
#include <vector>

#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/compiler/partition.h"
#include "tile/compiler/products/algorithm.h"
#include "tile/compiler/schedule.h"
#include "tile/graph/group.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::compiler {

struct Compilation {
  const CompileOptions& options;
  const CompileHooks& hooks;
  ir::Program program;
  // Some of its 16-bit floats are held in float32 (graph/widen_halves.h).
  bool has_widened_halves = false;
  // Of the program as it is now.
  poly::ProgramSpaces spaces = {};
  std::vector<bool> is_constant = {};
  Algorithms algorithms = {};
  // What is held in memory or computed where it is read, whatever grouping would do.
  graph::GroupOptions grouping = {};
  // Results, in the order in which passes make them.
  Partition partition = {};
  Schedule schedule = {};
  KernelList list = {};

  bool is_gpu() const { return options.settings.threads > 1; }
};

}  // namespace tartan::compiler
