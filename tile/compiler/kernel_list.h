// SPDX-License-Identifier: Apache-2.0
// The compiler's result: kernels, buffers, and the steps that run them. Plain data, independent of
// any device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/shape.h"
#include "tile/graph/fusion_log.h"
#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

enum class BufferKind : uint8_t {
  kInput,       // given by the caller at each run
  kConstant,    // given once, at load
  kPersistent,  // computed once at load, from constants
  kTemporary,   // valid within one run
  kOutput,      // returned to the caller after a run
  kState,       // an input in caller-owned memory that runs may update
};

struct BufferInfo {
  std::string name;
  BufferKind kind = BufferKind::kTemporary;
  TensorShape shape;
  int64_t bytes = 0;  // 0 for an empty tensor, which no step touches
  // A view of `bytes` bytes of another buffer, which is no view. Views of one buffer are equal or
  // disjoint. -1: the buffer has its own memory.
  int base = -1;
  int64_t offset = 0;  // in bytes
};

struct LaunchStep {
  int kernel = 0;            // position in KernelList::kernels
  std::vector<int> buffers;  // positions in KernelList::buffers, one per parameter
  // Values of the kernel's size arguments, and the global size of this launch.
  std::vector<int64_t> sizes = {};
  std::array<int64_t, 3> global_size = {1, 1, 1};
  std::string description;  // the Tile statement(s) it computes
  double flops = 0;
  double bytes = 0;         // bytes read and written, each tensor counted once
  double predicted_us = 0;  // microseconds from the plan's cost model; 0 if unknown
  // Its work-items need more registers than a kernel of several launches provides, so it cannot
  // join a launch sequence (MarkLaunchBatches). Not serialized.
  bool fills_registers = false;
  // Readable text, set with CompileHooks::describes_launches; not serialized.
  std::string operations = {};  // such as "sum of mul; tanh"
  std::string plan = {};        // the plan and its cost terms
  // Per output of the kernel: no element is written twice, and an element read at the same place is
  // read by the work-item that writes it. Empty: unknown for all outputs.
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

// Statistics of rematerialized steps (recompute.h).
struct RecomputedSteps {
  int steps = 0;            // number of extra steps
  double us = 0;            // predicted microseconds of the extra steps
  int64_t saved_bytes = 0;  // reduction of the peak memory of a run

  bool operator==(const RecomputedSteps&) const = default;
};

// Report buffers of bounds-checked kernels (check_bounds.h): positions in KernelList::buffers, or
// -1 without checks. The setup phase and the run phase have one report each.
struct BoundsReports {
  int setup = -1;
  int run = -1;

  bool operator==(const BoundsReports&) const = default;
};

struct KernelList {
  std::string name;
  std::vector<loop::Kernel> kernels;  // distinct ones
  std::vector<BufferInfo> buffers;
  std::vector<Step> setup;  // run once, when the constants are known
  std::vector<Step> steps;  // run at every execution, in order
  // Buffer of each program input and output, in order. Outputs may share a buffer with an input or
  // another output (views and pass-through).
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<TensorShape> output_shapes;  // a view may have other dimensions than its buffer
  RecomputedSteps recomputed = {};
  BoundsReports bounds_reports = {};
  // Decisions about fusion, with CompileHooks::describes_launches or a dump; not serialized.
  std::vector<graph::FusionDecision> decisions = {};
};

// The buffers that a step reads and writes; entries may repeat. A step may also read the buffers it
// writes.
struct StepBuffers {
  std::vector<int> read;
  std::vector<int> written;
};
StepBuffers BuffersOf(const KernelList& list, const Step& step);

// Removes kernels that no step launches.
void DropUnusedKernels(KernelList* list);

}  // namespace tartan::compiler
