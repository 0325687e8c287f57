// SPDX-License-Identifier: Apache-2.0
// What became of a program: its kernels with their plans and texts, and where its values lie in
// memory. Plain data, of what the compiler makes; nothing is built or run for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/run_statistics.h"
#include "hal/device_info.h"
#include "tile/compiler/kernel_list.h"
#include "tile/evaluator/compiled_program.h"

namespace tartan::api {

struct KernelReport {
  std::string name;
  std::vector<std::string> computes;    // what its launches are for, each once
  std::vector<std::string> operations;  // of them, each once: "sum of mul; tanh"
  std::vector<std::string> plans;       // how they are made, with the terms of the cost, each once
  std::string source;                   // empty where nobody asked for it
  int launches = 0;                     // in a run
  int setup_launches = 0;               // once, when the program is loaded
  // Of its launch that has most of them: work-groups, and work-items of each.
  std::array<int64_t, 3> groups = {1, 1, 1};
  std::array<int64_t, 3> local_size = {1, 1, 1};
  // Of all its launches in a run.
  double flops = 0;
  double bytes = 0;          // read and written at least once
  double predicted_us = -1;  // by the cost model; below 0: it knows of none
  double measured_us = -1;   // below 0: not measured
};

struct BufferReport {
  std::string name;
  compiler::BufferKind kind = compiler::BufferKind::kTemporary;
  TensorShape shape;
  int64_t bytes = 0;
  // Of what is there during a run alone: its place, counted through all arenas, and the steps from
  // the first to the last that need it. Below 0: it has memory of its own.
  int64_t offset = -1;
  int64_t placed_bytes = 0;
  int first_step = 0;
  int last_step = 0;
  std::vector<int> shares_with;  // buffers of the report that lie in the same bytes at other times
};

struct ProgramReport {
  std::string name;
  std::string tier;  // "exact", "ready", or "host", which computes it without kernels
  std::string device;
  std::vector<KernelReport> kernels;  // in the order in which they first run
  std::vector<int> launches;          // kernels in the order of a run's launches
  int steps = 0;                      // of a run: launches, fills and copies
  std::vector<BufferReport> buffers;
  // Bytes on the device.
  int64_t constants = 0;  // and what is computed from them alone
  int64_t states = 0;     // variables
  int64_t scratch = 0;    // inputs, outputs and values on the way, which share memory
  int64_t unshared = 0;   // that scratch would be if they did not
  int64_t peak = 0;       // the most that a step needs, constants and states with it
};

// `sources`: of each kernel of the list, or none. Without a tier.
ProgramReport ReportOf(const evaluator::CompiledProgram& program, const hal::DeviceInfo& info,
                       absl::Span<const std::string> sources = {});

// What the device makes of a program with kernels of its tier; without kernels where `is_on_host`.
absl::StatusOr<ProgramReport> Explain(const Device& device, const proto::Program& program,
                                      bool is_on_host = false);
// What DeviceProgram::Create makes of the same.
absl::StatusOr<ProgramReport> Explain(const Device& device, std::vector<Tensor> inputs,
                                      std::vector<ProgramState> states, std::vector<Tensor> outputs,
                                      absl::string_view name);

// Notes the times of a run's launches, in order. FailedPrecondition where those are of another
// program.
absl::Status SetTimes(absl::Span<const KernelProfile> times, ProgramReport* report);

}  // namespace tartan::api
