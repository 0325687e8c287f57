// SPDX-License-Identifier: Apache-2.0
// Attention in the forms that models have it: one kernel on GPUs, where that is quicker.
#pragma once

#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tile/base/hardware_settings.h"

namespace tartan {

struct AttentionProgram {
  TestProgram program;
  int launches = 1;
};

// A made-up GPU, on which launches cost so much that few are best.
HardwareSettings AttentionSettings();

// Small enough for an interpreter.
const std::vector<AttentionProgram>& AttentionPrograms();

// One that has too little local memory for their rows: they are walked in blocks.
HardwareSettings LongAttentionSettings();

// A GPU of 132 units, beside which no other is made up.
HardwareSettings LargeGpuSettings();

// With rows of many keys.
const std::vector<AttentionProgram>& LongAttentionPrograms();

}  // namespace tartan
