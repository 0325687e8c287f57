// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/invoker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/programs/compiled_function.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {
namespace {

std::string ListNames(const std::vector<NamedTensor>& tensors) {
  return absl::StrJoin(tensors, ", ", [](std::string* out, const NamedTensor& named) {
    absl::StrAppend(out, named.name);
  });
}

absl::Status CheckNames(const std::vector<NamedTensor>& tensors, absl::string_view what) {
  std::set<std::string> seen;
  for (const NamedTensor& named : tensors) {
    if (!named.tensor.defined()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " '", named.name, "' is undefined"));
    }
    if (!seen.insert(named.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two ", what, "s are named '", named.name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const std::vector<NamedTensor>& inputs,
                         const std::vector<NamedTensor>& outputs) {
  for (const NamedTensor& input : inputs) {
    if (input.tensor.is_placeholder()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the input '", input.name, "' is not a placeholder"));
  }
  for (const NamedTensor& output : outputs) {
    for (const Tensor& needed : PlaceholdersOf(output.tensor)) {
      const bool is_given =
          std::any_of(inputs.begin(), inputs.end(),
                      [&](const NamedTensor& input) { return input.tensor == needed; });
      if (is_given) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "the output '", output.name, "' depends on a placeholder that is not an input"));
    }
  }
  return absl::OkStatus();
}

std::vector<Tensor> TensorsOf(const std::vector<NamedTensor>& named) {
  std::vector<Tensor> tensors;
  for (const NamedTensor& item : named) tensors.push_back(item.tensor);
  return tensors;
}

}  // namespace

struct Invoker::Impl {
  std::shared_ptr<const Device> device;  // outlives the programs loaded on it
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
  CompiledFunction function;

  // Returns the values in the order of `inputs`.
  absl::StatusOr<std::vector<HostTensor>> Arrange(const NamedTensors& values) const;
};

absl::StatusOr<std::vector<HostTensor>> Invoker::Impl::Arrange(const NamedTensors& values) const {
  std::vector<HostTensor> arranged;
  for (const NamedTensor& input : inputs) {
    const auto value = values.find(input.name);
    if (value == values.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", input.name, "' is missing: ", input.tensor.shape().ToString()));
    }
    if (value->second.shape() != input.tensor.shape()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ",
                                                     value->second.shape().ToString(), ", not ",
                                                     input.tensor.shape().ToString()));
    }
    arranged.push_back(value->second);
  }
  if (values.size() == inputs.size()) return arranged;
  for (const auto& [name, value] : values) {
    const bool is_known =
        std::any_of(inputs.begin(), inputs.end(),
                    [&name = name](const NamedTensor& input) { return input.name == name; });
    if (is_known) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("there is no input '", name, "'; the inputs are ", ListNames(inputs)));
  }
  return arranged;
}

absl::StatusOr<Invoker> Invoker::Create(std::shared_ptr<const Device> device,
                                        const Function& function, const NamedShapes& shapes,
                                        RunStatistics* statistics) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Invoker> {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> placeholders, function.Placeholders(shapes));
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, function.Apply(placeholders));
    const std::vector<std::string> input_names = function.input_names();
    const std::vector<std::string> output_names = function.output_names();
    std::vector<NamedTensor> inputs;
    std::vector<NamedTensor> outputs;
    for (size_t i = 0; i < placeholders.size(); ++i) {
      inputs.push_back({input_names[i], placeholders[i]});
    }
    for (size_t o = 0; o < results.size(); ++o) outputs.push_back({output_names[o], results[o]});
    return Create(std::move(device), std::move(inputs), std::move(outputs), function.file(),
                  statistics);
  });
}

absl::StatusOr<Invoker> Invoker::Create(std::shared_ptr<const Device> device,
                                        std::vector<NamedTensor> inputs,
                                        std::vector<NamedTensor> outputs, absl::string_view name,
                                        RunStatistics* statistics) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Invoker> {
    TARTAN_RETURN_IF_ERROR(CheckNames(inputs, "input"));
    TARTAN_RETURN_IF_ERROR(CheckNames(outputs, "output"));
    TARTAN_RETURN_IF_ERROR(CheckInputs(inputs, outputs));
    RunStatistics ignored;
    LoadedPrograms programs(device);
    auto impl = std::make_shared<Impl>();
    TARTAN_ASSIGN_OR_RETURN(
        impl->function,
        CompiledFunction::Make(programs, TensorsOf(inputs), TensorsOf(outputs), name,
                               /*is_checked=*/true, statistics == nullptr ? &ignored : statistics));
    impl->device = std::move(device);
    impl->inputs = std::move(inputs);
    impl->outputs = std::move(outputs);
    return Invoker(std::move(impl));
  });
}

const std::vector<NamedTensor>& Invoker::inputs() const { return impl_->inputs; }
const std::vector<NamedTensor>& Invoker::outputs() const { return impl_->outputs; }

absl::StatusOr<NamedTensors> Invoker::Run(const NamedTensors& inputs,
                                          RunStatistics* statistics) const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<NamedTensors> {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, impl_->Arrange(inputs));
    const auto start = Clock::now();
    RunStatistics run;
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                            impl_->function.Run(values, &run, nullptr));
    if (statistics != nullptr) {
      statistics->latency_ms = MillisecondsSince(start);
      statistics->kernels = run.kernels;
    }
    NamedTensors outputs;
    for (size_t o = 0; o < results.size(); ++o) {
      outputs[impl_->outputs[o].name] = std::move(results[o]);
    }
    return outputs;
  });
}

absl::StatusOr<NamedTensors> Invoke(std::shared_ptr<const Device> device, const Function& function,
                                    const NamedTensors& inputs) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<NamedTensors> {
    NamedShapes shapes;
    for (const auto& [name, value] : inputs) shapes[name] = value.shape();
    TARTAN_ASSIGN_OR_RETURN(const Invoker invoker,
                            Invoker::Create(std::move(device), function, shapes));
    return invoker.Run(inputs);
  });
}

}  // namespace tartan::api
