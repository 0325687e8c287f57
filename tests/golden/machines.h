// SPDX-License-Identifier: Apache-2.0
// The machines that golden kernels are made for: fixed, whatever machine the tests run on.
#pragma once

#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"

namespace tartan::golden {

struct Machine {
  std::string name;
  HardwareSettings settings;
};

const std::vector<Machine>& Machines();

}  // namespace tartan::golden
