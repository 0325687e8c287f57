// SPDX-License-Identifier: Apache-2.0
// Benchmark engines that use other libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/bench/engine.h"
#include "frontend/bench/problem.h"
#include "frontend/bench/workload.h"
#include "hal/device_info.h"

namespace tartan::bench {

// "onednn", "onednn-auto", "openblas", "clblast".
std::vector<std::string> PeerNames();

// Returns null if the library does not have the operation, NotFound if this build does not have the
// library, Internal if the library fails. `values` has one value per program input.
absl::StatusOr<std::unique_ptr<Engine>> MakePeerEngine(absl::string_view name,
                                                       const Problem& problem,
                                                       const TensorShape& result,
                                                       absl::Span<const HostTensor> values,
                                                       const hal::DeviceInfo& device);

}  // namespace tartan::bench
