// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/state_pairs.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::StatusOr<size_t> FindNamed(const std::vector<TensorSpec>& specs, absl::string_view name,
                                 absl::string_view what) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return i;
  }
  const auto append = [](std::string* out, const TensorSpec& spec) {
    absl::StrAppend(out, spec.name);
  };
  return absl::InvalidArgumentError(absl::StrCat("the model has no ", what, " '", name,
                                                 "'; it has ", absl::StrJoin(specs, ", ", append)));
}

// The part of the name that a state's input and output have in common.
std::string RestOf(absl::string_view name, absl::string_view prefix) {
  if (!absl::ConsumePrefix(&name, prefix)) return "";
  (void)absl::ConsumePrefix(&name, "_key_values");
  return absl::StrCat("-", name);
}

absl::Status CheckTypes(const TensorSpec& present, const TensorSpec& past) {
  for (const TensorSpec* spec : {&present, &past}) {
    if (spec->is_tensor() && spec->element == Element::kPlain) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the state ", spec->ToString(), " is not a tensor of numbers"));
  }
  if (present.type == past.type || present.type == DataType::kInvalid ||
      past.type == DataType::kInvalid) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the output ", present.ToString(),
                                                 " cannot be the next value of ", past.ToString()));
}

}  // namespace

absl::StatusOr<StatePair> ParseStatePair(absl::string_view text) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not of the form PRESENT=PAST: an output, and the input that it becomes"));
  }
  return StatePair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::vector<StatePair> UsualStatePairs(const Model& model) {
  std::vector<StatePair> pairs;
  for (const TensorSpec& input : model.inputs()) {
    const std::string rest = RestOf(input.name, "past");
    if (rest.empty()) continue;
    for (const TensorSpec& output : model.outputs()) {
      if (RestOf(output.name, "present") == rest) pairs.push_back({output.name, input.name});
    }
  }
  return pairs;
}

absl::StatusOr<std::vector<StatePlaces>> FindStates(const Model& model,
                                                    const std::vector<StatePair>& pairs) {
  std::vector<StatePlaces> states;
  for (const StatePair& pair : pairs) {
    StatePlaces state;
    TARTAN_ASSIGN_OR_RETURN(state.output, FindNamed(model.outputs(), pair.present, "output"));
    TARTAN_ASSIGN_OR_RETURN(state.input, FindNamed(model.inputs(), pair.past, "input"));
    for (const StatePlaces& other : states) {
      if (other.output != state.output && other.input != state.input) continue;
      return absl::InvalidArgumentError(absl::StrCat("the state ", pair.present, "=", pair.past,
                                                     " shares a name with another state"));
    }
    TARTAN_RETURN_IF_ERROR(CheckTypes(model.outputs()[state.output], model.inputs()[state.input]));
    states.push_back(state);
  }
  return states;
}

absl::StatusOr<TensorShape> FirstShape(const Model& model, size_t input,
                                       absl::Span<const TensorShape* const> shapes) {
  const TensorSpec& spec = model.inputs()[input];
  if (!spec.has_rank || spec.type == DataType::kInvalid) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model does not declare the type and shape of the state ", spec.ToString(),
                     ": give it a first value"));
  }
  TensorShape shape{spec.type, spec.dims};
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (shape.dims[d] >= 0) continue;
    shape.dims[d] = d == 0 ? 1 : 0;
    const std::string name = d < spec.dim_names.size() ? spec.dim_names[d] : "";
    for (size_t i = 0; i < shapes.size() && !name.empty(); ++i) {
      if (shapes[i] == nullptr) continue;
      const std::vector<std::string>& names = model.inputs()[i].dim_names;
      const auto same = std::find(names.begin(), names.end(), name);
      if (same == names.end()) continue;
      shape.dims[d] = shapes[i]->dims[static_cast<size_t>(same - names.begin())];
    }
  }
  return shape;
}

FreeValues FreeOf(const Model& model, const std::vector<StatePlaces>& states) {
  FreeValues free;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const bool is_state = std::any_of(states.begin(), states.end(),
                                      [&](const StatePlaces& state) { return state.input == i; });
    if (!is_state) free.inputs.push_back(model.inputs()[i]);
  }
  for (size_t o = 0; o < model.outputs().size(); ++o) {
    const bool is_state = std::any_of(states.begin(), states.end(),
                                      [&](const StatePlaces& state) { return state.output == o; });
    if (!is_state) free.outputs.push_back(model.outputs()[o]);
  }
  return free;
}

}  // namespace tartan::api
