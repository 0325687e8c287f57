// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/model_inputs.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/input_spec.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

using api::TensorSpec;

template <class Specs>
auto* FindSpec(Specs& specs, absl::string_view name) {
  const auto it = std::find_if(specs.begin(), specs.end(),
                               [&](const TensorSpec& spec) { return spec.name == name; });
  return it == specs.end() ? nullptr : &*it;
}

absl::Status NoSuchInput(absl::string_view name, const std::vector<TensorSpec>& inputs) {
  return absl::InvalidArgumentError(
      absl::StrCat("there is no input '", name, "'; the inputs are ", ListInputs(inputs)));
}

absl::Status FixShape(const std::vector<int64_t>& dims, TensorSpec* spec) {
  bool fits = !spec->has_rank || dims.size() == spec->dims.size();
  for (size_t d = 0; fits && spec->has_rank && d < dims.size(); ++d) {
    fits = spec->dims[d] < 0 || spec->dims[d] == dims[d];
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("--shape ", spec->name, ": ", DimsToString(dims),
                                                   " contradicts ", spec->ToString()));
  }
  spec->dims = dims;
  spec->dim_names.clear();
  spec->has_rank = true;
  return absl::OkStatus();
}

std::vector<std::string> NamesOf(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

// The names of open sizes, each once.
std::vector<std::string> SizeNamesOf(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) {
    for (const std::string& name : spec.dim_names) {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

// `inputs` are the declarations, because a fixed shape has no names any more.
absl::Status FixNamedSize(const std::string& name, absl::string_view text,
                          const std::vector<TensorSpec>& inputs, std::vector<TensorSpec>* fixed) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ParseDims(text));
  if (dims.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shape ", name, "=", text, ": '", name, "' names a size: give one number"));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorSpec& spec = (*fixed)[i];
    for (size_t d = 0; d < inputs[i].dim_names.size(); ++d) {
      if (inputs[i].dim_names[d] != name) continue;
      if (spec.dims[d] >= 0 && spec.dims[d] != dims[0]) {
        return absl::InvalidArgumentError(absl::StrCat("--shape ", name, "=", text, " contradicts ",
                                                       spec.ToString(), ", whose size ", d, " is '",
                                                       name, "'"));
      }
      spec.dims[d] = dims[0];
      if (d < spec.dim_names.size()) spec.dim_names[d].clear();
    }
  }
  return absl::OkStatus();
}

absl::Status Missing(const TensorSpec& input, const std::vector<TensorSpec>& inputs) {
  return At(Stage::kUsage,
            absl::InvalidArgumentError(absl::StrCat(
                "input '", input.name, "' is missing: give it with --input ", input.name,
                "=@FILE, or use --random for random values; the inputs are ", ListInputs(inputs))));
}

using SpecsByName = std::map<std::string, InputSpec>;

absl::StatusOr<SpecsByName> ParseInputs(const std::vector<TensorSpec>& inputs,
                                        const InputOptions& options) {
  SpecsByName specs;
  for (const std::string& text : options.inputs) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named,
                            SplitNamed(text, "NAME=SPEC, such as x=@picture.png", NamesOf(inputs)));
    TARTAN_ASSIGN_OR_RETURN(InputSpec spec, ParseInputSpec(named.text));
    if (FindSpec(inputs, named.name) == nullptr) return NoSuchInput(named.name, inputs);
    if (!specs.emplace(named.name, std::move(spec)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", named.name, "' is given more than once"));
    }
  }
  return specs;
}

// Known values of named open sizes, such as N.
using NamedSizes = std::map<std::string, int64_t>;

void Learn(const TensorSpec& input, const std::vector<int64_t>& dims, NamedSizes* sizes) {
  for (size_t d = 0; d < std::min(dims.size(), input.dim_names.size()); ++d) {
    if (dims[d] >= 0 && !input.dim_names[d].empty()) sizes->emplace(input.dim_names[d], dims[d]);
  }
}

// Sets open sizes to their value elsewhere, or to 1 if requested. Returns whether any became 1.
bool CloseSizes(const NamedSizes& sizes, bool open_is_one, TensorSpec* input) {
  bool assumed = false;
  for (size_t d = 0; d < input->dims.size(); ++d) {
    if (input->dims[d] >= 0) continue;
    const auto known = d < input->dim_names.size() ? sizes.find(input->dim_names[d]) : sizes.end();
    if (known == sizes.end()) assumed |= open_is_one;
    if (known != sizes.end() || open_is_one) {
      input->dims[d] = known != sizes.end() ? known->second : 1;
    }
  }
  return assumed;
}

// "x=1x3x64x64": an example of the --shape option for `input`.
std::string ExampleShape(const TensorSpec& input) {
  std::string example = absl::StrCat(input.name, "=");
  for (size_t d = 0; d < input.dims.size(); ++d) {
    const int64_t other = d == 0 && input.dims.size() > 1 ? 1 : 64;
    absl::StrAppend(&example, d == 0 ? "" : "x", input.dims[d] < 0 ? other : input.dims[d]);
  }
  return example;
}

}  // namespace

std::string ListInputs(const std::vector<TensorSpec>& inputs) {
  if (inputs.empty()) return "no inputs";
  std::vector<std::string> texts;
  size_t optional = 0;
  for (const TensorSpec& spec : inputs) {
    if (spec.is_optional) {
      ++optional;
    } else {
      texts.push_back(spec.ToString());
    }
  }
  if (optional > 0) {
    texts.push_back(
        absl::StrCat(optional, optional == 1 ? " input" : " inputs", " with a value in the model"));
  }
  return absl::StrJoin(texts, ", ");
}

absl::StatusOr<std::vector<TensorSpec>> FixShapes(const std::vector<TensorSpec>& inputs,
                                                  const InputOptions& options) {
  std::vector<TensorSpec> fixed = inputs;
  const std::vector<std::string> size_names = SizeNamesOf(inputs);
  std::vector<std::string> names = NamesOf(inputs);
  names.insert(names.end(), size_names.begin(), size_names.end());
  std::vector<NamedText> sizes;
  for (const std::string& text : options.shapes) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named,
                            SplitNamed(text, "NAME=1x3x224x224 or SIZE=4", names));
    TensorSpec* spec = FindSpec(fixed, named.name);
    if (spec == nullptr) {
      sizes.push_back(named);
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ParseDims(named.text));
    TARTAN_RETURN_IF_ERROR(FixShape(dims, spec));
  }
  for (const NamedText& size : sizes) {
    if (std::find(size_names.begin(), size_names.end(), size.name) == size_names.end())
      return absl::InvalidArgumentError(absl::StrCat("there is no input or open size '", size.name,
                                                     "'; the inputs are ", ListInputs(inputs)));
    TARTAN_RETURN_IF_ERROR(FixNamedSize(size.name, size.text, inputs, &fixed));
  }
  if (options.batch == 0) return fixed;
  bool has_batch = false;
  for (TensorSpec& spec : fixed) {
    if (spec.dims.empty()) continue;
    if (spec.dims[0] < 0) spec.dims[0] = options.batch;
    has_batch = has_batch || spec.dims[0] == options.batch;
  }
  if (!has_batch) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--batch ", options.batch, ": no input leaves its first size open: ", ListInputs(inputs)));
  }
  return fixed;
}

void FixShapes(std::vector<std::string> shapes, onnx::LoadOptions* load) {
  if (shapes.empty()) return;
  InputOptions options;
  options.shapes = std::move(shapes);
  load->fix_inputs = [options](const std::vector<TensorSpec>& inputs) {
    return At(Stage::kUsage, FixShapes(inputs, options));
  };
}

absl::StatusOr<std::map<std::string, api::HostValue>> MakeInputs(
    const std::vector<TensorSpec>& inputs, const InputOptions& options, std::string* note) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<TensorSpec> fixed,
                          At(Stage::kUsage, FixShapes(inputs, options)));
  TARTAN_ASSIGN_OR_RETURN(const SpecsByName asked, At(Stage::kUsage, ParseInputs(inputs, options)));
  NamedSizes sizes;
  for (size_t i = 0; i < inputs.size(); ++i) Learn(inputs[i], fixed[i].dims, &sizes);
  // Files come first, because they determine sizes that other inputs share.
  std::map<std::string, api::HostValue> values;
  for (const TensorSpec& input : fixed) {
    const auto spec = asked.find(input.name);
    if (spec == asked.end() || !std::holds_alternative<FileInput>(spec->second.value)) continue;
    TARTAN_ASSIGN_OR_RETURN(const api::HostValue value,
                            At(Stage::kUsage, MakeInput(spec->second, input)));
    if (value.is_tensor()) Learn(input, value.tensor().shape().dims, &sizes);
    values.emplace(input.name, value);
  }
  std::vector<std::string> assumed;
  std::string remedy;  // remedy for the first of them
  for (TensorSpec input : fixed) {
    const auto spec = asked.find(input.name);
    if (values.count(input.name) > 0 || (spec == asked.end() && input.is_optional)) continue;
    if (spec == asked.end() && !options.random) return Missing(input, inputs);
    const TensorSpec open = input;
    if (CloseSizes(sizes, options.open_is_one, &input)) {
      assumed.push_back(input.ToString());
      if (remedy.empty()) remedy = ExampleShape(open);
    }
    const InputSpec random = {RandomInput{}, "rand"};
    TARTAN_ASSIGN_OR_RETURN(
        values[input.name],
        At(Stage::kUsage, MakeInput(spec == asked.end() ? random : spec->second, input)));
  }
  if (!assumed.empty() && note != nullptr) {
    *note = absl::StrCat("open sizes are taken as 1: ", absl::StrJoin(assumed, ", "),
                         "; give other sizes with --shape, for example --shape ", remedy);
  }
  return values;
}

}  // namespace tartan::cli
