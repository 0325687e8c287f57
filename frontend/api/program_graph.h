// SPDX-License-Identifier: Apache-2.0
// Lazy tensors of a program whose states stay on a device (resident/device_program.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/composer.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

struct ProgramState {
  Tensor input;  // a placeholder
  Tensor next;   // same type and sizes as `input`; undefined: the state is read-only
};

// The tensors that a program computes. `inputs` are placeholders that get a value in each run.
// Together with the states they are all that `outputs` and the next states depend on.
struct ProgramGraph {
  std::vector<Tensor> inputs;
  std::vector<ProgramState> states;
  std::vector<Tensor> outputs;
  std::string name;
};

// The bytes of all inputs and states.
int64_t InputBytes(const ProgramGraph& graph);

// The outputs, followed by the next states.
std::vector<Tensor> ResultsOf(const ProgramGraph& graph);

// Composes one program whose last inputs are the states. InvalidArgument if an input is no
// placeholder, or a next state has another type or shape.
absl::StatusOr<ComposedProgram> Compose(const ProgramGraph& graph);

}  // namespace tartan::api
