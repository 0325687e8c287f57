// SPDX-License-Identifier: Apache-2.0
// Test programs for fused attention, in the forms that models contain.
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

// An invented GPU with launches so expensive that the fewest launches win.
HardwareSettings AttentionSettings();

// Grouped-query attention: `heads` query heads share each of `groups` sets of keys and values.
// `logits` may read the tensor B[queries, keys].
struct AttentionCase {
  std::string name;
  int64_t groups = 1;  // sets of keys and values
  int64_t heads = 1;   // query heads per group
  int64_t queries = 1;
  int64_t keys = 1;
  int64_t depth = 1;
  std::string logits = "P * 0.125";
  DataType type = DataType::kFloat32;
  DataType mask = DataType::kFloat32;  // type of B
};
std::ostream& operator<<(std::ostream& out, const AttentionCase& c);

// Causal mask for queries that are the last positions of the sequence.
inline constexpr char kCausalLogits[] =
    "(index(B, 1) > index(B, 0) + U - T ? -inf() : 0.0) + P * 0.125";

TestProgram ProgramOf(const AttentionCase& c);

// Programs small enough for the loop interpreter.
const std::vector<AttentionProgram>& AttentionPrograms();

// AttentionSettings with too little local memory for whole rows, which requires online softmax.
HardwareSettings LongAttentionSettings();

// A realistic GPU with 132 compute units.
HardwareSettings LargeGpuSettings();

// Programs with many keys per query, for online softmax.
const std::vector<AttentionProgram>& LongAttentionPrograms();

}  // namespace tartan
