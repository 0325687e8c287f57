// SPDX-License-Identifier: Apache-2.0
// Settings of the machines that golden kernels are compiled for, independent of the test machine.
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
