// SPDX-License-Identifier: Apache-2.0
// The Tile program of a benchmark problem, as the importer would write it, with its inputs and
// minimum work.
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
  // A weight: values that depend on weights only are computed before timing.
  bool is_constant = false;
  int64_t positions = 0;  // not 0: random integers in [0, positions); 0: floats in [-1, 1)
};

struct Workload {
  std::string tile;  // the forward function
  std::vector<WorkloadInput> inputs;
  TensorShape output;
  int gradient_of = -1;  // index of the input whose gradient is requested; -1: the forward function
  // Arithmetic operations as usually counted (a multiply-add is two), and bytes read and written if
  // each tensor is touched once; for the requested direction.
  double flops = 0;
  double bytes = 0;
};

// Requires a problem that ParseProblem accepts.
Workload MakeWorkload(const Problem& problem);

// A workload ready to be compiled. Output 0 is the result. Variable inputs are outputs too, so that
// nothing overwrites them and the program can run repeatedly.
struct WorkloadProgram {
  proto::Program program;
  // The program's inputs, in order. For a gradient, the output's gradient (the seed) is the last.
  std::vector<WorkloadInput> inputs;
};
absl::StatusOr<WorkloadProgram> MakeProgram(const Workload& workload, absl::string_view name);

// Deterministic random values.
std::vector<HostTensor> RandomValues(absl::Span<const WorkloadInput> inputs);

// The possible values of ElementwiseProblem::function.
std::vector<std::string> ElementwiseFunctions();

// InvalidArgument for tensors too large to be addressed.
absl::Status CheckSizes(const Problem& problem);

}  // namespace tartan::bench
