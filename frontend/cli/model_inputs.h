// SPDX-License-Identifier: Apache-2.0
// Makes a model's inputs from command-line options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=SPEC
  std::vector<std::string> shapes;  // NAME=1x3x224x224, or SIZE=4 for an open size with a name
  bool random = false;              // inputs not named are random
  int64_t batch = 0;                // the open first dimension of every input; 0: not set
  bool open_is_one = false;         // remaining open sizes of generated inputs are 1
};

// Returns the model's inputs with the sizes fixed by --shape and --batch. If an input and a size
// share a name, the name means the input. InvalidArgument for unknown names, for sizes that
// contradict the model or each other, and for a batch size that fits no input.
absl::StatusOr<std::vector<api::TensorSpec>> FixShapes(const std::vector<api::TensorSpec>& inputs,
                                                       const InputOptions& options);

// Makes a model declare its inputs with the sizes fixed by `shapes`, as for FixShapes. Its errors
// are errors of usage.
void FixShapes(std::vector<std::string> shapes, onnx::LoadOptions* load);

// Makes values for all inputs except optional ones that are not named. An open size with a name
// gets its value from another input with that name, from a file or --shape. Errors carry their
// stage. `note`, if not null, receives a line for the user if sizes were set to 1.
absl::StatusOr<std::map<std::string, api::HostValue>> MakeInputs(
    const std::vector<api::TensorSpec>& inputs, const InputOptions& options,
    std::string* note = nullptr);

// Help for users in one line: "x: float32[N, 3, 224, 224], mask: bool[N]", and the number of
// optional inputs.
std::string ListInputs(const std::vector<api::TensorSpec>& inputs);

}  // namespace tartan::cli
