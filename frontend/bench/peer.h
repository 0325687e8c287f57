// SPDX-License-Identifier: Apache-2.0
// The border to other libraries: each is a shared object beside the program, loaded when it is
// asked for, so that nothing that is installed depends on them. Standard C++ only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/bench/problem.h"

namespace tartan::bench {

struct PeerRequest {
  std::string engine;
  const Problem* problem = nullptr;
  // Of the workload, in its order; the output's gradient last where one is asked for. Null for
  // inputs that are no floats. Dense and row-major; they outlive the run.
  std::vector<const float*> inputs;
  // The OpenCL device to use, for those who use one.
  std::string platform;
  std::string device;
};

class PeerRun {
 public:
  virtual ~PeerRun() = default;
  // Runs `count` times and waits for the last. Empty, or what went wrong.
  virtual std::string Run(int64_t count) = 0;
  // The result of the last run, dense and row-major.
  virtual std::string Read(float* output) = 0;
};

// The one symbol of a shared object, "TartanMakePeerRun". Null where the library does not have the
// operation (`error` stays empty) or fails (`error` says how).
using MakePeerRun = PeerRun* (*)(const PeerRequest& request, std::string* error);

}  // namespace tartan::bench
