// SPDX-License-Identifier: Apache-2.0
// The conformance suite for backends, as a parameterised test suite. A backend's test program
// compiles conformance*.cc and instantiates the suite with its Backend:
//   INSTANTIATE_TEST_SUITE_P(Null, Conformance, testing::Values(NullBackend()), BackendName);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "hal/hal.h"

namespace tartan::hal {

struct Backend {
  std::string name;
  std::function<std::unique_ptr<Driver>()> make_driver;
  std::string format;
  // add_one(float* x): x[i] += 1 for each work-item i.
  KernelSource add_one;
  // scale(const float* from, float* to): to[i] = 2 * from[i], with the fixed local size (4, 1, 1).
  KernelSource scale;
  // A kernel that does not build, and a text that the error message must contain.
  KernelSource broken;
  std::string broken_message;
  // Tests (by name) that this backend cannot pass, each with the reason.
  std::map<std::string, std::string> skipped;
};

std::ostream& operator<<(std::ostream& out, const Backend& backend);
std::string BackendName(const testing::TestParamInfo<Backend>& info);

class Conformance : public testing::TestWithParam<Backend> {
 protected:
  // Opens the first device; skips the test if the backend lists it in `skipped`.
  void SetUp() override;

  BufferPtr Allocate(int64_t bytes);
  std::unique_ptr<Queue> CreateQueue(bool profiling = false);
  // add_one is entry point 0, scale is 1.
  ExecutablePtr Compile();
  BufferPtr Upload(Queue& queue, const std::vector<float>& values);
  std::vector<float> Download(Queue& queue, const BufferPtr& buffer);

  std::unique_ptr<Driver> driver_;
  DevicePtr device_;
};

}  // namespace tartan::hal
