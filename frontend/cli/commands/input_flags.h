// SPDX-License-Identifier: Apache-2.0
// The options for a model's inputs, shared by all commands that run a model.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "frontend/cli/context.h"
#include "frontend/cli/model_inputs.h"

namespace tartan::cli {

inline void AddShapeFlag(CLI::App* command, std::vector<std::string>* shapes) {
  command
      ->add_option("--shape", *shapes,
                   "NAME=1x3x224x224: the open sizes of an input; SIZE=4: an open size by the name "
                   "that the model gives it")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false);
}

// `allow_extra_args(false)`: each --input takes one value, so a model path may follow it.
inline void AddInputFlags(CLI::App* command, InputOptions* options) {
  command
      ->add_option(
          "--input", options->inputs,
          "NAME=SPEC: @FILE (.npy, .pb, .png, .jpg, .bin), rand, rand:SEED, zeros, ones or a "
          "number; once per input")
      ->type_name("NAME=SPEC")
      ->allow_extra_args(false);
  AddShapeFlag(command, &options->shapes);
}

// --state, for commands that run a model several times.
inline void AddStateFlag(CLI::App* command, std::vector<std::string>* states) {
  command
      ->add_option("--state", *states,
                   "PRESENT=PAST: an output that stays on the device as an input of the next run, "
                   "and begins with zeros. Once per state")
      ->type_name("PRESENT=PAST")
      ->allow_extra_args(false);
}

// Makes the values of a model's inputs. Notes to the user any open sizes that were set to 1.
inline absl::StatusOr<std::map<std::string, api::HostValue>> MakeModelInputs(
    const std::vector<api::TensorSpec>& inputs, const InputOptions& options,
    const Context& context) {
  std::string note;
  auto values = MakeInputs(inputs, options, &note);
  if (values.ok() && !note.empty()) context.Assume(note);
  return values;
}

}  // namespace tartan::cli
