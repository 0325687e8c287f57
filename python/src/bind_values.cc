// SPDX-License-Identifier: Apache-2.0
// Binds lazy tensors and the operations that create them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/api/checks/check_constraints.h"
#include "frontend/api/composer.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/eager/graph_key.h"
#include "frontend/api/function.h"
#include "frontend/api/gradient.h"
#include "frontend/api/loop.h"
#include "frontend/api/tensor_node.h"
#include "frontend/onnx/model/single_node.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using api::Tensor;

// Converts operands; None is an omitted operand.
std::vector<Tensor> Operands(const nb::sequence& inputs) {
  std::vector<Tensor> operands;
  for (nb::handle input : inputs) {
    operands.push_back(input.is_none() ? Tensor() : nb::cast<Tensor>(input));
  }
  return operands;
}

using AttributeList = std::vector<std::pair<std::string, onnx::AttributeValue>>;

// Number of operations that this thread has applied.
thread_local int64_t applied = 0;

std::vector<Tensor> ApplyOperator(const std::string& name, const nb::sequence& inputs,
                                  AttributeList attributes, int outputs, const std::string& domain,
                                  int64_t opset, api::EagerRuntime* runtime) {
  ++applied;
  const std::vector<Tensor> operands = Operands(inputs);
  const onnx::SingleNode call{name, domain, opset, std::move(attributes), outputs};
  absl::StatusOr<std::vector<Tensor>> results;
  {
    const nb::gil_scoped_release unlocked;
    std::optional<api::EagerResolver> resolver;
    if (runtime != nullptr) resolver.emplace(*runtime);
    results = onnx::Apply(call, operands, runtime == nullptr ? nullptr : &*resolver);
  }
  return ValueOrRaise(std::move(results));
}

// A text is parsed. `name` identifies it in error messages.
api::Function FunctionOf(const std::variant<std::string, api::Function>& tile,
                         const std::string& name) {
  if (const auto* function = std::get_if<api::Function>(&tile)) return *function;
  return ValueOrRaise(
      api::Function::FromTile(std::get<std::string>(tile), name.empty() ? "tile" : name));
}

std::vector<Tensor> ApplyTile(const std::variant<std::string, api::Function>& tile,
                              const nb::sequence& inputs, const std::string& name,
                              bool refuses_infeasible) {
  ++applied;
  const api::Function function = FunctionOf(tile, name);
  const std::vector<Tensor> operands = Operands(inputs);
  std::vector<Tensor> results = ValueOrRaise(function.Apply(operands, name));
  if (refuses_infeasible) RaiseIfError(api::CheckConstraints(function, operands));
  return results;
}

std::vector<Tensor> GradientOf(const std::vector<std::pair<Tensor, Tensor>>& losses,
                               const std::vector<Tensor>& wrt) {
  std::vector<api::SeededTensor> seeded;
  for (const auto& [tensor, seed] : losses) seeded.push_back({tensor, seed});
  absl::StatusOr<std::vector<Tensor>> results;
  {
    const nb::gil_scoped_release unlocked;
    results = api::Gradient(seeded, wrt);
  }
  return ValueOrRaise(std::move(results));
}

std::vector<nb::tuple> GradientPaths(const std::vector<Tensor>& outputs,
                                     const std::vector<Tensor>& wrt) {
  std::vector<nb::tuple> result;
  for (const api::GradientPath& path : ValueOrRaise(api::FindGradientPaths(outputs, wrt))) {
    result.push_back(nb::make_tuple(path.depends, path.exists, path.ends));
  }
  return result;
}

// A loop whose body is known by its placeholders and results.
std::vector<Tensor> LoopOf(std::vector<Tensor> states, std::vector<Tensor> slices,
                           std::vector<Tensor> next_states, std::vector<Tensor> rows,
                           std::vector<Tensor> operands, int64_t iterations, bool reversed) {
  api::RepeatBody body;
  body.states = std::move(states);
  body.slices = std::move(slices);
  body.next_states = std::move(next_states);
  body.rows = std::move(rows);
  body.iterations = iterations;
  return ValueOrRaise(api::Loop(std::move(body), std::move(operands), "loop", reversed));
}

// The tensors as functions of other tensors in place of placeholders.
std::vector<Tensor> WithReplaced(const std::vector<Tensor>& tensors,
                                 const std::vector<std::pair<Tensor, Tensor>>& replacements) {
  for (const auto& [placeholder, other] : replacements) {
    if (placeholder.shape() == other.shape()) continue;
    throw nb::value_error(("a tensor " + other.shape().ToString() + " cannot replace '" +
                           placeholder.node()->name + "' " + placeholder.shape().ToString())
                              .c_str());
  }
  return api::Replaced(tensors, replacements);
}

}  // namespace

void BindValues(nb::module_& module) {
  nb::class_<Tensor>(module, "Value", "A lazy tensor.")
      .def_static(
          "placeholder",
          [](const std::string& name, const std::string& dtype, std::vector<int64_t> dims) {
            return Tensor::Placeholder(name, {TypeNamed(dtype), std::move(dims)});
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"))
      .def_static("leaf", [](const HostTensor& value) { return Tensor::Leaf(value); })
      .def_static("constant", [](const HostTensor& value) { return Tensor::Constant(value); })
      .def_prop_ro("dtype", [](const Tensor& t) { return std::string(Name(t.type())); })
      .def_prop_ro("shape", [](const Tensor& t) { return nb::tuple(nb::cast(t.dims())); })
      .def_prop_ro("depends_on_open_placeholder", &Tensor::depends_on_open_placeholder)
      .def_prop_ro("is_placeholder",
                   [](const Tensor& t) { return t.is_placeholder() && t.leaf_value() == nullptr; })
      .def_prop_ro("known",
                   [](const Tensor& t) -> std::optional<HostTensor> {
                     if (t.leaf_value() != nullptr) return *t.leaf_value();
                     if (t.constant() != nullptr) return *t.constant();
                     return std::nullopt;
                   })
      .def("__eq__", [](const Tensor& a, const Tensor& b) { return a == b; })
      .def("__hash__", [](const Tensor& t) {
        return reinterpret_cast<uintptr_t>(t.node().get()) / 16 * 8 +
               static_cast<uintptr_t>(t.result());
      });
  module.def("apply_tile", &ApplyTile, nb::arg("tile"), nb::arg("inputs"), nb::arg("name") = "",
             nb::arg("refuses_infeasible") = false);
  module.def("apply_operator", &ApplyOperator, nb::arg("name"), nb::arg("inputs"),
             nb::arg("attributes"), nb::arg("outputs") = 1, nb::arg("domain") = "",
             nb::arg("opset") = 0, nb::arg("runtime").none() = nb::none());
  module.def("applied", [] { return applied; });
  module.def("loop", &LoopOf, nb::arg("states"), nb::arg("slices"), nb::arg("next_states"),
             nb::arg("rows"), nb::arg("operands"), nb::arg("iterations"), nb::arg("reversed"));
  module.attr("min_loop_iterations") = api::kMinLoopIterations;
  module.def("gradient", &GradientOf, nb::arg("losses"), nb::arg("wrt"));
  module.def("replaced", &WithReplaced, nb::arg("tensors"), nb::arg("replacements"));
  module.def("placeholders",
             [](const std::vector<Tensor>& tensors) { return api::PlaceholdersOf(tensors); });
  module.def(
      "sharing_among",
      [](const std::vector<Tensor>& tensors, const std::vector<Tensor>& candidates) {
        return api::SharingAmong(tensors, candidates);
      },
      nb::arg("tensors"), nb::arg("candidates"));
  module.def("gradient_paths", &GradientPaths, nb::arg("outputs"), nb::arg("wrt"));
}

}  // namespace tartan::python
