// SPDX-License-Identifier: Apache-2.0
// The inputs of a model as asked for on the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"

namespace tartan::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=SPEC
  std::vector<std::string> shapes;  // NAME=1x3x224x224, or SIZE=4 for an open size with a name
  bool random = false;              // what is not named is random
  int64_t batch = 0;                // the open first size of every input; 0: as it is
  bool open_is_one = false;         // sizes still open become 1 in inputs that are made up
};

// The model's inputs with the sizes that --shape and --batch fix. A name that an input and a size
// have in common is the input's. InvalidArgument for a name the model does not have, sizes that
// contradict the model's or each other, and a batch that is no input's size.
absl::StatusOr<std::vector<api::TensorSpec>> FixShapes(const std::vector<api::TensorSpec>& inputs,
                                                       const InputOptions& options);

// Values for all inputs but optional ones that are not named. An open size that the model names is
// that of other inputs with the name, where a file or --shape tells it. Errors carry their stage.
// `note`, where not null, receives a line for the user if sizes were taken as 1.
absl::StatusOr<std::map<std::string, api::HostValue>> MakeInputs(
    const std::vector<api::TensorSpec>& inputs, const InputOptions& options,
    std::string* note = nullptr);

// One line of help for the user of a model: "x: float32[N, 3, 224, 224], mask: bool[N]", and how
// many inputs need not be given.
std::string ListInputs(const std::vector<api::TensorSpec>& inputs);

}  // namespace tartan::cli
