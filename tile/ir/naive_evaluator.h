// SPDX-License-Identifier: Apache-2.0
// The meaning of a program, as directly as it can be written: every contraction enumerates its
// whole index space and applies the definition. The oracle of all other evaluation, and what the
// importer computes sizes with. Slow on purpose; nothing is shared with the compiler.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

struct NaiveOptions {
  // ResourceExhausted when the program visits more index points than this; an element of another
  // value counts as one.
  int64_t max_points = int64_t{1} << 36;
  // Where given: set to how many of them are left, 0 where they did not suffice.
  int64_t* points_left = nullptr;
};

// `inputs` in the order of program.inputs, with equal shapes; returns the outputs in order.
// Floats are computed in double and rounded to the value's type after each operation, 16-bit ones
// to float32 (they are rounded to 16 bits where they are outputs or cast to); integers are exact
// and wrap.
absl::StatusOr<std::vector<HostTensor>> EvaluateNaively(const Program& program,
                                                        absl::Span<const HostTensor> inputs,
                                                        const NaiveOptions& options = {});

}  // namespace tartan::ir
