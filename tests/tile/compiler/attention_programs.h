// SPDX-License-Identifier: Apache-2.0
// Attention in the forms that models have it: one kernel on GPUs, where that is quicker.
#pragma once

#include <ostream>
#include <string>
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

// Softmax of scores by values, for heads that share keys in groups, with a tensor B of queries by
// keys that `logits` may read.
struct AttentionCase {
  std::string name;
  int64_t groups = 1;  // of heads that read the same keys
  int64_t heads = 1;   // of a group
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t depth = 1;
  std::string logits = "P * 0.125";
  DataType type = DataType::kFloat32;
};
std::ostream& operator<<(std::ostream& out, const AttentionCase& c);

// The queries are the last of all places.
inline constexpr char kCausalLogits[] =
    "(index(B, 1) > index(B, 0) + U - T ? -inf() : 0.0) + P * 0.125";

TestProgram ProgramOf(const AttentionCase& c);

// Small enough for an interpreter.
const std::vector<AttentionProgram>& AttentionPrograms();

// One that has too little local memory for their rows: they are walked in blocks.
HardwareSettings LongAttentionSettings();

// A GPU of 132 units, beside which no other is made up.
HardwareSettings LargeGpuSettings();

// With rows of many keys.
const std::vector<AttentionProgram>& LongAttentionPrograms();

}  // namespace tartan
