// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/model_inputs.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status UnknownInput(const std::vector<TensorSpec>& specs, const std::string& name,
                          const std::vector<bool>& is_taken) {
  std::vector<std::string> known;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (is_taken.empty() || !is_taken[i]) {
      known.push_back(specs[i].name);
    } else if (specs[i].name == name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", name, "' is a state or bound to memory: it takes no other value"));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the model has no input '", name, "'; it has ", absl::StrJoin(known, ", ")));
}

}  // namespace

absl::StatusOr<InputValues> ArrangeInputs(const Model& model,
                                          const std::map<std::string, HostValue>& given,
                                          const std::vector<bool>& is_taken) {
  const std::vector<TensorSpec>& specs = model.inputs();
  InputValues values(specs.size(), nullptr);
  size_t used = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!is_taken.empty() && is_taken[i]) continue;
    const auto it = given.find(specs[i].name);
    if (it == given.end()) {
      if (specs[i].is_optional) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("input '", specs[i].name, "' is missing: ", specs[i].ToString()));
    }
    ++used;
    TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(specs[i], it->second));
    values[i] = &it->second;
  }
  if (used == given.size()) return values;
  for (const auto& [name, value] : given) {
    bool is_used = false;
    for (const HostValue* one : values) is_used |= one == &value;
    if (!is_used) return UnknownInput(specs, name, is_taken);
  }
  return values;
}

std::vector<bool> BoundByValue(const Model& model) {
  std::vector<bool> by_value;
  for (const TensorSpec& spec : model.inputs()) {
    by_value.push_back(!spec.is_tensor() || spec.element != Element::kPlain);
  }
  return by_value;
}

std::string SignatureOf(const InputValues& values, const std::vector<bool>& by_value) {
  std::string signature;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) {
      absl::StrAppend(&signature, "-;");
    } else if (by_value[i]) {
      AppendKey(*values[i], &signature);
    } else {
      absl::StrAppend(&signature, values[i]->tensor().shape().ToString(), ";");
    }
  }
  return signature;
}

std::vector<InputBinding> BindingsOf(const InputValues& values, const std::vector<bool>& by_value) {
  std::vector<InputBinding> bindings(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    bindings[i].given = values[i] != nullptr;
    if (values[i] == nullptr) continue;
    bindings[i].shape = values[i]->tensor().shape();
    if (by_value[i]) bindings[i].value = values[i];
  }
  return bindings;
}

}  // namespace tartan::api
