// SPDX-License-Identifier: Apache-2.0
// The reference semantics of programs: every contraction enumerates its whole index space and
// applies the definition. Tests compare all other evaluation with it, and the importer computes
// sizes with it. Slow by design; shares no code with the compiler.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

struct NaiveOptions {
  // Limit on visited index points; exceeding it gives ResourceExhausted. Each element of a value
  // that is not a contraction counts as one point.
  int64_t max_points = int64_t{1} << 36;
  // If not null: receives the number of points left, 0 if they did not suffice.
  int64_t* points_left = nullptr;
};

// `inputs` are in the order of program.inputs, with equal shapes; returns the outputs in order.
// Floats are computed in double and rounded to the value's type after each operation. 16-bit floats
// are rounded to float32, and to 16 bits only as outputs or by casts. Integers are exact and wrap.
absl::StatusOr<std::vector<HostTensor>> EvaluateNaively(const Program& program,
                                                        absl::Span<const HostTensor> inputs,
                                                        const NaiveOptions& options = {});

}  // namespace tartan::ir
