// SPDX-License-Identifier: Apache-2.0
// The suite that every communicator passes, as a parameterised test suite. A test program compiles
// conformance.cc and instantiates the suite with its ranks and devices.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "distributed/communicator.h"

namespace tartan::distributed {

struct Implementation {
  std::string name;
  // Calls the function on every rank that is in this process, at the same time, with the rank's
  // communicator and a device.
  std::function<void(const std::function<void(Communicator& ranks, const hal::DevicePtr& device)>&)>
      run;
};

std::ostream& operator<<(std::ostream& out, const Implementation& implementation);
std::string NameOf(const testing::TestParamInfo<Implementation>& info);

class Collectives : public testing::TestWithParam<Implementation> {};

}  // namespace tartan::distributed
