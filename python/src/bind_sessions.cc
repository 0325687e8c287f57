// SPDX-License-Identifier: Apache-2.0
// Binds ONNX models and sessions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/parallel/parallel_session.h"
#include "frontend/api/resident/state_session.h"
#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using api::HostValue;
using api::TensorSpec;
using onnx::OnnxModel;
using ModelPtr = std::shared_ptr<const OnnxModel>;

// Holds an immutable model that sessions share.
struct Model {
  ModelPtr model;
};

// Decodes text from a file; bytes that are not UTF-8 become U+FFFD.
nb::object TextOf(const std::string& bytes) {
  return nb::steal(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::dict SpecOf(const TensorSpec& spec) {
  nb::dict result;
  result["name"] = spec.name;
  result["type"] = spec.ToString();
  result["dtype"] = spec.element == api::Element::kPlain ? std::string(Name(spec.type))
                                                         : std::string(Name(spec.element));
  result["is_tensor"] = spec.is_tensor();
  result["is_optional"] = spec.is_optional;
  result["sequence_depth"] = spec.sequence_depth;
  result["map_keys"] = nb::none();
  if (spec.map_keys.has_value()) {
    result["map_keys"] = *spec.map_keys == api::Element::kString ? "string" : "int64";
  }
  if (!spec.has_rank) {
    result["shape"] = nb::none();
    return result;
  }
  nb::list dims;
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const bool is_named = d < spec.dim_names.size() && !spec.dim_names[d].empty();
    if (spec.dims[d] >= 0) {
      dims.append(spec.dims[d]);
    } else if (is_named) {
      dims.append(spec.dim_names[d]);
    } else {
      dims.append(nb::none());
    }
  }
  result["shape"] = dims;
  return result;
}

nb::dict MetadataOf(const Model& self) {
  const onnx::ModelMetadata& metadata = self.model->metadata();
  nb::dict result;
  result["producer_name"] = TextOf(metadata.producer_name);
  result["graph_name"] = TextOf(metadata.graph_name);
  result["domain"] = TextOf(metadata.domain);
  result["description"] = TextOf(metadata.description);
  result["graph_description"] = TextOf(metadata.graph_description);
  result["version"] = metadata.version;
  nb::dict properties;
  for (const auto& [key, value] : metadata.properties) properties[TextOf(key)] = TextOf(value);
  result["custom_metadata_map"] = properties;
  return result;
}

std::vector<nb::dict> SpecsOf(const std::vector<TensorSpec>& specs) {
  std::vector<nb::dict> result;
  for (const TensorSpec& spec : specs) result.push_back(SpecOf(spec));
  return result;
}

// Converts a value to Python: a tensor; strings as ("strings", shape, list); low-precision types as
// ("element", name, tensor); a sequence as a list; a map as ("map", keys, values); nothing as None.
nb::object ToPython(const HostValue& value) {
  if (value.is_nothing()) return nb::none();
  if (value.is_map()) {
    return nb::make_tuple("map", ToPython(value.keys()), ToPython(value.values()));
  }
  if (value.is_sequence()) {
    nb::list elements;
    for (const HostValue& element : value.elements()) elements.append(ToPython(element));
    return std::move(elements);
  }
  if (value.is_strings()) {
    nb::list strings;
    for (const std::string& text : api::StringsOf(value)) {
      strings.append(nb::bytes(text.data(), text.size()));
    }
    return nb::make_tuple("strings", nb::cast(value.tensor().shape().dims), strings);
  }
  if (value.element() != api::Element::kPlain) {
    return nb::make_tuple("element", std::string(Name(value.element())), value.tensor());
  }
  return nb::cast(value.tensor());
}

api::Element ElementNamed(const std::string& name) {
  for (int e = 0; e <= static_cast<int>(api::Element::kUInt2); ++e) {
    if (Name(static_cast<api::Element>(e)) == name) return static_cast<api::Element>(e);
  }
  Raise(absl::InvalidArgumentError("no tensor has elements of type '" + name + "'"));
}

HostValue FromPython(nb::handle value) {
  if (value.is_none()) return HostValue();
  if (nb::isinstance<HostTensor>(value)) return HostValue(nb::cast<HostTensor>(value));
  if (nb::isinstance<nb::list>(value)) {
    std::vector<HostValue> elements;
    for (nb::handle element : nb::borrow<nb::list>(value)) elements.push_back(FromPython(element));
    return HostValue::Sequence(std::move(elements));
  }
  const nb::tuple parts = nb::borrow<nb::tuple>(value);
  const auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "strings") {
    std::vector<std::string> strings;
    for (nb::handle text : nb::borrow<nb::list>(parts[2])) {
      const nb::bytes bytes = nb::borrow<nb::bytes>(text);
      strings.emplace_back(bytes.c_str(), bytes.size());
    }
    return api::HostStrings(nb::cast<std::vector<int64_t>>(parts[1]), strings);
  }
  if (kind == "map") return HostValue::Map(FromPython(parts[1]), FromPython(parts[2]));
  return HostValue(nb::cast<HostTensor>(parts[2]), ElementNamed(nb::cast<std::string>(parts[1])));
}

using Feeds = std::map<std::string, nb::object>;

std::map<std::string, HostValue> ValuesOf(const Feeds& feeds) {
  std::map<std::string, HostValue> inputs;
  for (const auto& [name, value] : feeds) inputs.emplace(name, FromPython(value));
  return inputs;
}

// Runs the session and returns the name and milliseconds of each kernel launch.
template <class Session>
std::vector<std::pair<std::string, double>> Profile(Session& session, const Feeds& feeds) {
  const std::map<std::string, HostValue> inputs = ValuesOf(feeds);
  std::vector<api::KernelProfile> profile;
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = session.RunValues(inputs, nullptr, &profile).status();
  }
  RaiseIfError(status);
  std::vector<std::pair<std::string, double>> times;
  for (const api::KernelProfile& kernel : profile) times.emplace_back(kernel.kernel, kernel.ms);
  return times;
}

template <class Session>
std::vector<nb::object> Run(Session& session, const Feeds& feeds) {
  const std::map<std::string, HostValue> inputs = ValuesOf(feeds);
  absl::StatusOr<std::vector<HostValue>> outputs;
  {
    const nb::gil_scoped_release unlocked;
    outputs = session.RunValues(inputs);
  }
  std::vector<nb::object> results;
  for (const HostValue& output : ValueOrRaise(std::move(outputs))) {
    results.push_back(ToPython(output));
  }
  return results;
}

// Returns the outputs that are not states.
std::vector<nb::object> RunStates(api::StateSession& session, const Feeds& feeds) {
  std::map<std::string, HostTensor> inputs;
  for (const auto& [name, value] : feeds) {
    if (!nb::isinstance<HostTensor>(value)) {
      Raise(absl::InvalidArgumentError("input '" + name + "' is not a tensor of plain numbers"));
    }
    inputs.emplace(name, nb::cast<HostTensor>(value));
  }
  absl::StatusOr<std::vector<HostTensor>> outputs;
  {
    const nb::gil_scoped_release unlocked;
    outputs = session.Run(inputs);
  }
  std::vector<nb::object> results;
  for (const HostTensor& output : ValueOrRaise(std::move(outputs))) {
    results.push_back(nb::cast(output));
  }
  return results;
}

// Applies the model to lazy tensors given by input name, and returns its outputs as lazy tensors.
std::vector<api::Tensor> Apply(const Model& self, const std::map<std::string, api::Tensor>& inputs,
                               api::EagerRuntime* runtime) {
  std::vector<api::InputBinding> bindings;
  for (const TensorSpec& spec : self.model->inputs()) {
    api::InputBinding& binding = bindings.emplace_back();
    const auto found = inputs.find(spec.name);
    binding.given = found != inputs.end();
    if (!binding.given) continue;
    binding.shape = found->second.shape();
    binding.tensor = found->second;
  }
  absl::StatusOr<api::BoundGraph> bound;
  {
    const nb::gil_scoped_release unlocked;
    std::optional<api::EagerResolver> resolver;
    if (runtime != nullptr) resolver.emplace(*runtime);
    bound = self.model->Bind(bindings, runtime == nullptr ? nullptr : &*resolver);
  }
  const api::BoundGraph graph = ValueOrRaise(std::move(bound));
  if (!graph.needed_values.empty()) {
    const int input = graph.needed_values[0];  // negative: a value computed from an input
    const std::string name =
        input < 0 ? "an input" : "'" + self.model->inputs()[static_cast<size_t>(input)].name + "'";
    Raise(absl::FailedPreconditionError("the value of " + name +
                                        " decides shapes, but is not known"));
  }
  std::vector<api::Tensor> outputs;
  for (const api::Value& output : graph.outputs) {
    if (!output.is_tensor() || output.element() != api::Element::kPlain) {
      Raise(absl::UnimplementedError("an output that is not a tensor of plain numbers"));
    }
    outputs.push_back(output.tensor());
  }
  return outputs;
}

api::Tier TierNamed(const std::string& name) {
  if (name == "exact") return api::Tier::kExact;
  return name == "ready" ? api::Tier::kReady : api::Tier::kAuto;
}

std::unique_ptr<api::StateSession> MakeStateSession(
    const Model& model, const std::shared_ptr<api::Device>& device, const std::string& tier,
    const std::vector<std::pair<std::string, std::string>>& states) {
  api::SessionOptions options;
  options.tier = TierNamed(tier);
  std::vector<api::StatePair> pairs;
  for (const auto& [present, past] : states) pairs.push_back({present, past});
  return ValueOrRaise(api::StateSession::Create(model.model, device, std::move(pairs), options));
}

HostTensor StateOf(const api::StateSession& session, const std::string& past) {
  absl::StatusOr<HostTensor> value;
  {
    const nb::gil_scoped_release unlocked;
    value = session.Get(past);
  }
  return ValueOrRaise(std::move(value));
}

void SetState(api::StateSession& session, const std::string& past, const HostTensor& value) {
  RaiseIfError(session.Set(past, value));
}

void BindStateSessions(nb::module_& module) {
  nb::class_<api::StateSession>(module, "StateSession",
                                "Runs a model whose outputs are inputs of the next run.")
      .def_static("create", &MakeStateSession, nb::arg("model"), nb::arg("device"), nb::arg("tier"),
                  nb::arg("states"))
      .def("run", &RunStates)
      .def("get", &StateOf)
      .def("set", &SetState)
      .def("reset", &api::StateSession::Reset)
      .def_prop_ro("stays", &api::StateSession::stays);
}

std::unique_ptr<api::ParallelSession> MakeParallelSession(
    const Model& model, const std::vector<std::shared_ptr<api::Device>>& devices,
    const std::string& tier) {
  api::SessionOptions options;
  options.tier = TierNamed(tier);
  return ValueOrRaise(api::ParallelSession::Create(model.model, devices, options));
}

void BindParallelSessions(nb::module_& module) {
  nb::class_<api::ParallelSession> session(module, "ParallelSession",
                                           "Runs a model with its batch split over devices.");
  session.def_static("create", &MakeParallelSession, nb::arg("model"), nb::arg("devices"),
                     nb::arg("tier") = "auto");
  session.def("run", &Run<api::ParallelSession>);
  session.def("profile", &Profile<api::ParallelSession>);
}

}  // namespace

void BindSessions(nb::module_& module) {
  nb::class_<Model>(module, "Model", "An ONNX model.")
      .def_static(
          "load",
          [](const std::string& path, bool parameters_as_inputs) {
            absl::StatusOr<ModelPtr> model;
            {
              const nb::gil_scoped_release unlocked;
              model = OnnxModel::Load(path, {false, parameters_as_inputs});
            }
            return Model{ValueOrRaise(std::move(model))};
          },
          nb::arg("path"), nb::arg("parameters_as_inputs") = false)
      .def_static(
          "load_bytes",
          [](const nb::bytes& bytes, bool parameters_as_inputs) {
            const absl::Span<const uint8_t> data(reinterpret_cast<const uint8_t*>(bytes.c_str()),
                                                 bytes.size());
            return Model{
                ValueOrRaise(OnnxModel::LoadBytes(data, "model", {false, parameters_as_inputs}))};
          },
          nb::arg("bytes"), nb::arg("parameters_as_inputs") = false)
      .def_prop_ro("inputs", [](const Model& m) { return SpecsOf(m.model->inputs()); })
      .def_prop_ro("outputs", [](const Model& m) { return SpecsOf(m.model->outputs()); })
      .def_prop_ro("own_input_count", [](const Model& m) { return m.model->own_input_count(); })
      .def_prop_ro("producer", [](const Model& m) { return m.model->producer(); })
      .def_prop_ro("metadata", &MetadataOf)
      .def_prop_ro("opsets", [](const Model& m) { return m.model->opsets(); })
      .def("initializer",
           [](const Model& m, const std::string& name) -> std::optional<HostTensor> {
             const HostTensor* value = m.model->Initializer(name);
             return value == nullptr ? std::nullopt : std::optional<HostTensor>(*value);
           })
      .def("apply", &Apply, nb::arg("inputs"), nb::arg("runtime").none() = nb::none());
  nb::class_<api::Session>(module, "Session", "Runs a model on a device.")
      .def_static(
          "create",
          [](const Model& model, const std::shared_ptr<api::Device>& device,
             const std::string& tier) {
            api::SessionOptions options;
            options.tier = TierNamed(tier);
            return ValueOrRaise(api::Session::Create(model.model, device, options));
          },
          nb::arg("model"), nb::arg("device"), nb::arg("tier") = "auto")
      .def("run", &Run<api::Session>)
      .def("profile", &Profile<api::Session>);
  BindParallelSessions(module);
  BindStateSessions(module);
}

}  // namespace tartan::python
