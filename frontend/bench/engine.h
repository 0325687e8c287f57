// SPDX-License-Identifier: Apache-2.0
// The interface of benchmark engines: Tartan, another library, or a copy of the same number of
// bytes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"

namespace tartan::bench {

// A problem prepared for repeated runs on the same inputs. Used by one thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const std::string& name() const = 0;
  // Runs `count` times in sequence and waits for the last run.
  virtual absl::Status Run(int64_t count) = 0;
  // The result of the last run; an empty tensor if there is nothing to compare.
  virtual absl::StatusOr<HostTensor> Output() = 0;
  virtual int64_t kernels() const { return 0; }  // launches per run, if known
};

}  // namespace tartan::bench
