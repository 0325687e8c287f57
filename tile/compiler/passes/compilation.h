// SPDX-License-Identifier: Apache-2.0
// The state of one compilation, which the passes of compiler/passes/passes.h read and update.
#pragma once

#include <map>
#include <vector>

#include "tile/compiler/algorithm.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/compiler/partition.h"
#include "tile/compiler/schedule.h"
#include "tile/fuse/judge.h"
#include "tile/graph/grouping/group.h"
#include "tile/ir/program.h"
#include "tile/poly/build_kernel.h"

namespace tartan::compiler {

struct Compilation {
  const CompileOptions& options;
  const CompileHooks& hooks;
  ir::Program program;
  // Compares plans for all passes.
  fuse::Judge judge = fuse::Judge(JudgeOptionsOf(options, hooks));
  // Some 16-bit float values of the program are stored as float32 (matmul/upcast_float16.h).
  bool has_upcast_float16 = false;
  // Index spaces and load-time constants of `program` as it is now.
  poly::ProgramSpaces spaces = {};
  std::vector<bool> is_constant = {};
  Algorithms algorithms = {};
  // Values that grouping must store in memory or must inline, whatever its own rules decide.
  graph::GroupOptions grouping = {};
  // Results of the later passes, in the order in which passes produce them.
  Partition partition = {};
  Schedule schedule = {};
  KernelList list = {};

  AnalyzedProgram analyzed() const { return {program, spaces, is_constant}; }
  bool is_gpu() const { return options.settings.threads > 1; }
};

}  // namespace tartan::compiler
