// SPDX-License-Identifier: Apache-2.0
// Benchmark engines that use Tartan's device: Tartan's kernels, and a copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/bench/engine.h"
#include "frontend/bench/workload.h"

namespace tartan::evaluator {
class CompiledProgram;
}

namespace tartan::bench {

// "tartan": compiles the program and copies the inputs to the device. Weights are packed, and
// values that depend on weights only are computed, before the first run.
absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(const WorkloadProgram& program,
                                                         absl::Span<const HostTensor> values,
                                                         api::Device& device);

// The same for a compiled program.
absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(
    std::shared_ptr<const evaluator::CompiledProgram> compiled, const WorkloadProgram& program,
    absl::Span<const HostTensor> values);

// "copy": a device copy that reads half of `bytes` and writes the other half. Its time is the time
// of a kernel bound by memory alone.
absl::StatusOr<std::unique_ptr<Engine>> MakeCopyEngine(double bytes, api::Device& device);

}  // namespace tartan::bench
