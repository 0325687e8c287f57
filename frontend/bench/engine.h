// SPDX-License-Identifier: Apache-2.0
// Something that can run a problem: Tartan, another library, or a copy of as many bytes.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"

namespace tartan::bench {

// A problem made ready to be run again and again on the same inputs. Used by one thread.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const std::string& name() const = 0;
  // Runs `count` times, one after the other, and waits for the last.
  virtual absl::Status Run(int64_t count) = 0;
  // What the last run computed; nothing (an empty tensor) where there is nothing to compare.
  virtual absl::StatusOr<HostTensor> Output() = 0;
  virtual int64_t kernels() const { return 0; }  // launched per run, where that is known
};

}  // namespace tartan::bench
