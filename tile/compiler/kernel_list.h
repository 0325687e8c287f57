// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of a program: kernels, buffers and the steps that run them. Plain data,
// independent of any device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/shape.h"
#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

enum class BufferKind : uint8_t {
  kInput,       // given by the caller at each run
  kConstant,    // given once, at load
  kPersistent,  // computed once, at load, from constants
  kTemporary,   // lives within a run
  kOutput,      // handed to the caller after a run
  kState,       // an input in memory of the caller's, which runs may change
};

struct BufferInfo {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  TensorShape shape;
  int64_t bytes = 0;  // 0 for an empty tensor, which no step touches
};

struct LaunchStep {
  int kernel = 0;            // position in KernelList::kernels
  std::vector<int> buffers;  // positions in KernelList::buffers, one per parameter
  // Of a kernel with sizes: their values, and the work-items of this launch.
  std::vector<int64_t> sizes = {};
  std::array<int64_t, 3> global_size = {1, 1, 1};
  std::string description;  // the Tile statement(s) it computes
  double flops = 0;
  double bytes = 0;         // read and written at least once
  double predicted_us = 0;  // by the plan's cost; 0 where that is not known
  // Its work-items need the registers of a kernel of its own (MarkSequences); not stored.
  bool fills_registers = false;
  // For people, where CompileHooks::tells_launches; not stored.
  std::string operations = {};  // "sum of mul; tanh"
  std::string plan = {};        // with the terms of its cost
  // Per output of the kernel: surely no element of it is written twice, and what is read at its
  // place is read by the work-item that writes it. Empty: not sure of any.
  std::vector<bool> writes_once = {};
};

struct FillStep {
  int buffer = 0;
  DataType type = DataType::kFloat32;
  double value = 0;
};

struct CopyStep {
  int from = 0;
  int to = 0;
};

using Step = std::variant<LaunchStep, FillStep, CopyStep>;

// Steps that are there a second time, so that their results need not be kept (recompute.h).
struct RecomputedSteps {
  int steps = 0;
  double us = 0;            // that they take, as predicted
  int64_t saved_bytes = 0;  // of the most that a run needs at a time

  bool operator==(const RecomputedSteps&) const = default;
};

// Where checked kernels (check_bounds.h) note the first access outside its memory: positions in
// KernelList::buffers, -1 where nothing is checked. Steps at load and steps of a run have one each.
struct BoundsReports {
  int setup = -1;
  int run = -1;

  bool operator==(const BoundsReports&) const = default;
};

struct KernelList {
  std::string name;
  std::vector<loop::Kernel> kernels;  // distinct ones
  std::vector<BufferInfo> buffers;
  std::vector<Step> setup;  // once, when the constants are known
  std::vector<Step> steps;  // at every run, in order
  // Which buffer holds each program input and output, in order. Outputs may share a buffer with
  // an input or another output (views and pass-through).
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<TensorShape> output_shapes;  // a view may have other sizes than its buffer
  RecomputedSteps recomputed = {};
  BoundsReports bounds_reports = {};
};

// What a step reads and writes, each perhaps several times. What it writes it may read, too.
struct StepBuffers {
  std::vector<int> read;
  std::vector<int> written;
};
StepBuffers BuffersOf(const KernelList& list, const Step& step);

// Kernels that no step launches are no part of the list any more.
void DropUnusedKernels(KernelList* list);

}  // namespace tartan::compiler
