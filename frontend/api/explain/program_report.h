// SPDX-License-Identifier: Apache-2.0
// A report of a compiled program: its kernels with plans and sources, and the memory layout of its
// buffers. It is plain data from the compiler; nothing is built or run for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/program_graph.h"
#include "frontend/api/run_statistics.h"
#include "hal/device_info.h"
#include "tile/compiler/describe/describe_fusion.h"
#include "tile/compiler/kernel_list.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::api {

struct KernelReport {
  std::string name;
  std::vector<std::string> computes;    // purposes of its launches, each once
  std::vector<std::string> operations;  // operations of its launches, each once: "sum of mul; tanh"
  std::vector<std::string> plans;       // plans with the terms of their cost, each once
  std::string source;                   // empty if not requested
  int launches = 0;                     // launches per run
  int setup_launches = 0;               // launches when the program is loaded
  // Number of work-groups, and work-items per group, of its largest launch.
  std::array<int64_t, 3> groups = {1, 1, 1};
  std::array<int64_t, 3> local_size = {1, 1, 1};
  // Totals over all launches of a run.
  double flops = 0;
  double bytes = 0;          // bytes read and written, each counted once
  double predicted_us = -1;  // predicted by the cost model; below 0: no prediction
  double measured_us = -1;   // below 0: not measured
};

struct BufferReport {
  std::string name;
  compiler::BufferKind kind = compiler::BufferKind::kTemporary;
  TensorShape shape;
  int64_t bytes = 0;
  // Set for a buffer used only during a run: its offset, counted through all arenas, and the first
  // and last step that need it. Below 0: the buffer has its own memory.
  int64_t offset = -1;
  int64_t placed_bytes = 0;
  int first_step = 0;
  int last_step = 0;
  // Indices of buffers in the report that use the same bytes at other times.
  std::vector<int> shares_with;
};

struct ProgramReport {
  std::string name;
  std::string tier;  // "exact" or "ready"; "host": computed without kernels
  std::string device;
  std::vector<KernelReport> kernels;  // order: first launch
  std::vector<int> launches;          // kernel index of each launch of a run, in order
  // The fused operations of each launch, and the reasons for separate launches.
  std::vector<compiler::LaunchFusion> fusion;
  int steps = 0;  // steps of a run: launches, fills and copies
  std::vector<BufferReport> buffers;
  // Device memory in bytes.
  int64_t constants = 0;  // constants and values computed from constants only
  int64_t states = 0;     // variables
  int64_t scratch = 0;    // inputs, outputs and intermediate values, which share memory
  int64_t unshared = 0;   // `scratch` without sharing
  int64_t peak = 0;       // maximum over all steps, including constants and states
};

// Reports `program` without its tier. `sources` has the source of each kernel, or is empty.
ProgramReport ReportOf(const evaluator::CompiledProgram& program, const hal::DeviceInfo& info,
                       absl::Span<const std::string> sources = {});

// Reports the program that the device compiles with kernels of its tier; no kernels if
// `is_on_host`.
absl::StatusOr<ProgramReport> Explain(const Device& device, const proto::Program& program,
                                      bool is_on_host = false);
// Reports the program that DeviceProgram::Create makes of the same arguments.
absl::StatusOr<ProgramReport> Explain(const Device& device, const ProgramGraph& graph);

// Stores the times of a run's launches, in order. FailedPrecondition if they belong to another
// program.
absl::Status SetTimes(absl::Span<const KernelProfile> times, ProgramReport* report);

}  // namespace tartan::api
