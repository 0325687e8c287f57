#include "frontend/cli/model_inputs.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/cli/exit_code.h"
#include "frontend/cli/input_spec.h"
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
      absl::StrCat("there is no input '", name, "'; there is ", ListInputs(inputs)));
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
    texts.push_back(absl::StrCat(optional, optional == 1 ? " input" : " inputs",
                                 " with a value in the model"));
  }
  return absl::StrJoin(texts, ", ");
}

absl::StatusOr<std::vector<TensorSpec>> FixShapes(const std::vector<TensorSpec>& inputs,
                                                  const InputOptions& options) {
  std::vector<TensorSpec> fixed = inputs;
  for (const std::string& text : options.shapes) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named, SplitNamed(text, "NAME=1x3x224x224"));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ParseDims(named.text));
    TensorSpec* spec = FindSpec(fixed, named.name);
    if (spec == nullptr) return NoSuchInput(named.name, inputs);
    TARTAN_RETURN_IF_ERROR(FixShape(dims, spec));
  }
  for (TensorSpec& spec : fixed) {
    if (options.batch > 0 && !spec.dims.empty() && spec.dims[0] < 0) spec.dims[0] = options.batch;
    if (!options.open_is_one) continue;
    for (int64_t& dim : spec.dims) {
      if (dim < 0) dim = 1;
    }
  }
  return fixed;
}

absl::StatusOr<std::map<std::string, api::HostValue>> MakeInputs(
    const std::vector<TensorSpec>& inputs, const InputOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<TensorSpec> fixed,
                          At(Stage::kUsage, FixShapes(inputs, options)));
  std::map<std::string, api::HostValue> values;
  for (const std::string& text : options.inputs) {
    TARTAN_ASSIGN_OR_RETURN(const NamedText named,
                            At(Stage::kUsage, SplitNamed(text, "NAME=SPEC, as x=@picture.png")));
    TARTAN_ASSIGN_OR_RETURN(const InputSpec spec, At(Stage::kUsage, ParseInputSpec(named.text)));
    const TensorSpec* input = FindSpec(fixed, named.name);
    if (input == nullptr) return At(Stage::kUsage, NoSuchInput(named.name, inputs));
    if (values.count(named.name) > 0) {
      return At(Stage::kUsage, absl::InvalidArgumentError(absl::StrCat(
                                   "input '", named.name, "' is given more than once")));
    }
    TARTAN_ASSIGN_OR_RETURN(values[named.name], At(Stage::kUsage, MakeInput(spec, *input)));
  }
  for (const TensorSpec& input : fixed) {
    if (input.is_optional || values.count(input.name) > 0) continue;
    if (!options.random) {
      return At(
          Stage::kUsage,
          absl::InvalidArgumentError(absl::StrCat(
              "input '", input.name, "' is missing: give it with --input ", input.name,
              "=@FILE, or take random values with --random; the inputs are ", ListInputs(inputs))));
    }
    TARTAN_ASSIGN_OR_RETURN(values[input.name],
                            At(Stage::kUsage, MakeInput({RandomInput{}, "rand"}, input)));
  }
  return values;
}

}  // namespace tartan::cli
