// SPDX-License-Identifier: Apache-2.0
// The engines that use Tartan's own device: its kernels, and a copy.
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

// "tartan": compiles the program and puts the inputs on the device; weights are packed and whatever
// depends on them alone is computed before the first run.
absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(const WorkloadProgram& program,
                                                         absl::Span<const HostTensor> values,
                                                         api::Device& device);

// The same of a program that is compiled already.
absl::StatusOr<std::unique_ptr<Engine>> MakeTartanEngine(
    std::shared_ptr<const evaluator::CompiledProgram> compiled, const WorkloadProgram& program,
    absl::Span<const HostTensor> values);

// "copy": a copy on the device that reads half of `bytes` and writes the other half, so that its
// time is what a kernel bound by memory alone would take.
absl::StatusOr<std::unique_ptr<Engine>> MakeCopyEngine(double bytes, api::Device& device);

}  // namespace tartan::bench
