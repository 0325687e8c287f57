// SPDX-License-Identifier: Apache-2.0
// The plug-in interface to other libraries. Each is a shared object next to the program, loaded on
// request, so that installed files do not depend on it. Uses standard C++ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/bench/problem.h"

namespace tartan::bench {

struct PeerRequest {
  std::string engine;
  const Problem* problem = nullptr;
  // The workload's inputs in order; last, the output's gradient if a gradient is requested. Null
  // for inputs that are not floats. Dense and row-major; they outlive the run.
  std::vector<const float*> inputs;
  // The OpenCL device, for libraries that use one.
  std::string platform;
  std::string device;
};

class PeerRun {
 public:
  virtual ~PeerRun() = default;
  // Runs `count` times and waits for the last run. Returns an error message, or an empty string.
  virtual std::string Run(int64_t count) = 0;
  // Reads the result of the last run, dense and row-major. Returns an error message, or an empty
  // string.
  virtual std::string Read(float* output) = 0;
};

// The only symbol of a shared object, "TartanMakePeerRun". Returns null if the library does not
// have the operation (`error` stays empty) or fails (`error` has the reason).
using MakePeerRun = PeerRun* (*)(const PeerRequest& request, std::string* error);

}  // namespace tartan::bench
