// SPDX-License-Identifier: Apache-2.0
// A problem as the compiler meets it: Tile text as the importer writes it, inputs with their
// shapes, which of them are weights, and the work there is at least.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/bench/problem.h"
#include "proto/tile.pb.h"
#include "tile/base/host_tensor.h"

namespace tartan::bench {

struct WorkloadInput {
  std::string name;
  TensorShape shape;
  bool is_constant = false;  // a weight: what depends on it alone is done before the clock starts
  int64_t positions = 0;     // not 0: integers, random in [0, positions); else floats in [-1, 1)
};

struct Workload {
  std::string tile;  // the forward function
  std::vector<WorkloadInput> inputs;
  TensorShape output;
  int gradient_of = -1;  // the input whose gradient is asked for; -1: the forward function itself
  // Arithmetic operations as they are usually counted (a multiply-add is two), and bytes read and
  // written if each tensor is touched once; for the direction that is asked for.
  double flops = 0;
  double bytes = 0;
};

// Requires what ParseProblem accepts.
Workload MakeWorkload(const Problem& problem);

// A workload ready to be compiled. Output 0 is the result. The inputs that vary are outputs too, so
// that nothing overwrites them and the program can be run again and again.
struct WorkloadProgram {
  proto::Program program;
  // In the order of the program; a gradient has the output's gradient, or seed, as the last one.
  std::vector<WorkloadInput> inputs;
};
absl::StatusOr<WorkloadProgram> MakeProgram(const Workload& workload, absl::string_view name);

// The same numbers at every call.
std::vector<HostTensor> RandomValues(absl::Span<const WorkloadInput> inputs);

// What ElementwiseProblem::function may be.
std::vector<std::string> ElementwiseFunctions();

// InvalidArgument for tensors too large to be addressed.
absl::Status CheckSizes(const Problem& problem);

}  // namespace tartan::bench
