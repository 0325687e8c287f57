// SPDX-License-Identifier: Apache-2.0
// Binds devices, memory on devices, and compiled programs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/api/device.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/resident/device_tensor.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/status.h"
#include "tile/base/cancellation.h"
#include "tile/compiler/compile_options.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using api::Device;
using api::DeviceProgram;
using api::DeviceTensor;
using api::Tensor;

// Runs `work` without the GIL and returns its result.
template <class Work>
auto Unlocked(const Work& work) {
  decltype(work()) result;
  {
    const nb::gil_scoped_release unlocked;
    result = work();
  }
  if constexpr (std::is_same_v<decltype(result), absl::Status>) {
    RaiseIfError(result);
  } else {
    return ValueOrRaise(std::move(result));
  }
}

nb::dict InfoOf(const hal::DeviceInfo& info) {
  nb::dict result;
  result["index"] = info.index;
  result["name"] = info.name;
  result["platform"] = info.platform;
  result["vendor"] = info.vendor;
  result["type"] = std::string(hal::Name(info.type));
  return result;
}

void WatchStates(DeviceProgram& program, std::vector<std::vector<size_t>> states) {
  std::vector<evaluator::StateGroup> groups;
  for (std::vector<size_t>& group : states) groups.emplace_back().states = std::move(group);
  Unlocked([&] { return program.WatchStates(std::move(groups)); });
}

std::unique_ptr<DeviceProgram> MakeProgram(
    const std::shared_ptr<Device>& device, const std::vector<Tensor>& inputs,
    const std::vector<std::pair<Tensor, std::optional<Tensor>>>& states,
    const std::vector<Tensor>& outputs, const std::string& name, const std::string& tier,
    bool apart, const std::shared_ptr<Cancellation>& cancellation) {
  std::vector<api::ProgramState> bound;
  for (const auto& [input, next] : states) bound.push_back({input, next.value_or(Tensor())});
  const auto of_tier =
      device->WithTier(tier == "exact" ? compiler::Tier::kExact : compiler::Tier::kReady);
  const auto where = apart               ? api::CompileWhere::kSeparateProcess
                     : tier == "soonest" ? api::CompileWhere::kSoonest
                                         : api::CompileWhere::kInProcess;
  return Unlocked([&] {
    const Cancellation::Scope scope(cancellation);
    return DeviceProgram::Create(of_tier, {inputs, bound, outputs, name}, nullptr, where);
  });
}

std::vector<nb::tuple> ProfileOf(DeviceProgram& program, const std::vector<HostTensor>& inputs) {
  std::vector<nb::tuple> kernels;
  for (const api::KernelProfile& kernel : Unlocked([&] { return program.Profile(inputs); })) {
    kernels.push_back(
        nb::make_tuple(kernel.kernel, kernel.description, kernel.ms, kernel.flops, kernel.bytes));
  }
  return kernels;
}

nb::dict MemoryOf(const DeviceProgram& program) {
  const api::ProgramMemory memory = program.memory();
  nb::dict result;
  result["states"] = memory.states;
  result["constants"] = memory.constants;
  result["scratch"] = memory.scratch;
  result["peak"] = memory.peak;
  return result;
}

// Returns a copy in memory that a run on the device copies from fastest.
HostTensor CopyForRuns(const Device& device, const HostTensor& value) {
  const absl::Span<const uint8_t> bytes = value.bytes();
  const hal::HostMemory pinned = device.hal()->AllocateHost(static_cast<int64_t>(bytes.size()));
  if (pinned.owner == nullptr) return HostTensor(value.shape(), bytes);
  std::copy(bytes.begin(), bytes.end(), pinned.bytes.begin());
  return HostTensor(value.shape(), pinned.bytes, pinned.owner);
}

void BindDeviceTensors(nb::module_& module) {
  nb::class_<DeviceTensor>(module, "DeviceTensor", "Values stored on a device.")
      .def_static("from_host",
                  [](const std::shared_ptr<Device>& device, const HostTensor& value) {
                    return Unlocked([&] { return DeviceTensor::FromHost(*device, value); });
                  })
      .def("to_host", [](const DeviceTensor& t) { return Unlocked([&] { return t.ToHost(); }); })
      .def("assign", [](DeviceTensor& t,
                        const HostTensor& value) { Unlocked([&] { return t.Assign(value); }); })
      .def_prop_ro("dtype", [](const DeviceTensor& t) { return std::string(Name(t.shape().type)); })
      .def_prop_ro("shape",
                   [](const DeviceTensor& t) { return nb::tuple(nb::cast(t.shape().dims)); });
}

void BindPrograms(nb::module_& module) {
  nb::class_<api::PendingOutputs>(module, "ComingOutputs", "Outputs of a run that was started.")
      .def("wait", [](const api::PendingOutputs& c) { return Unlocked([&] { return c.Wait(); }); });
  nb::class_<Cancellation>(module, "Cancellation", "Cancels a compilation.")
      .def(nb::init<>())
      .def("cancel", &Cancellation::Cancel)
      .def_prop_ro("is_cancelled", &Cancellation::is_cancelled);
  nb::class_<DeviceProgram>(module, "Program",
                            "Computes outputs and next states from inputs and states.")
      .def_static("create", &MakeProgram, nb::arg("device"), nb::arg("inputs"), nb::arg("states"),
                  nb::arg("outputs"), nb::arg("name"), nb::arg("tier") = "exact",
                  nb::arg("apart") = false, nb::arg("cancellation").none() = nb::none())
      .def("bind",
           [](DeviceProgram& p, const std::vector<DeviceTensor>& states) {
             Unlocked([&] { return p.Bind(states); });
           })
      .def("watch_states", &WatchStates)
      .def("start",
           [](DeviceProgram& p, const std::vector<HostTensor>& inputs) {
             Unlocked([&] { return p.Start(inputs, /*may_defer=*/true); });
           })
      .def("outputs", [](DeviceProgram& p) { return Unlocked([&] { return p.Outputs(); }); })
      .def("outputs_later",
           [](DeviceProgram& p) { return Unlocked([&] { return p.OutputsAsync(); }); })
      .def("check_swap",
           [](DeviceProgram& p, DeviceProgram& ready, const std::vector<HostTensor>& inputs) {
             Unlocked([&] { return p.CompareWithReady(ready, inputs); });
           })
      .def("profile", &ProfileOf)
      .def_prop_ro("memory", &MemoryOf)
      .def_prop_ro("kernels", &DeviceProgram::kernels)
      .def_prop_ro("tier", &DeviceProgram::tier);
}

}  // namespace

void BindDevices(nb::module_& module) {
  module.def("list_devices", [] {
    std::vector<nb::dict> result;
    for (const hal::DeviceInfo& info : Unlocked([] { return api::ListDevices(); })) {
      result.push_back(InfoOf(info));
    }
    return result;
  });
  nb::class_<Device>(module, "Device", "A device opened for use.")
      .def_static(
          "open",
          [](const std::string& selector) {
            return Unlocked([&] { return Device::Open(selector); });
          },
          nb::arg("selector") = "")
      .def(
          "with_precision",
          [](const Device& device, const std::string& name) {
            const std::optional<Precision> precision = PrecisionFromName(name);
            if (!precision.has_value()) {
              throw nb::value_error(absl::StrCat("the precision is '", name,
                                                 "', not float32, tf32, bfloat16, float16 or int8")
                                        .c_str());
            }
            return device.WithPrecision(*precision);
          },
          nb::arg("precision"))
      .def("copy_for_runs", &CopyForRuns, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("info", [](const Device& device) { return InfoOf(device.info()); })
      .def_prop_ro("precision",
                   [](const Device& device) { return std::string(Name(device.precision())); })
      .def_prop_ro("memory", [](const Device& device) {
        const hal::DeviceStatistics statistics = device.hal()->statistics();
        nb::dict result;
        result["allocated"] = statistics.allocated_bytes;
        result["peak"] = statistics.peak_allocated_bytes;
        return result;
      });
  nb::class_<api::EagerRuntime>(module, "EagerRuntime", "Evaluates lazy tensors.")
      .def(
          "__init__",
          [](api::EagerRuntime* self, const std::shared_ptr<Device>& device, bool only_host) {
            api::EagerOptions options;
            options.only_host = only_host;
            new (self) api::EagerRuntime(device, options);
          },
          nb::arg("device"), nb::arg("only_host") = false)
      .def("evaluate", [](api::EagerRuntime& runtime, const std::vector<Tensor>& tensors) {
        return Unlocked([&] { return runtime.Evaluate(tensors); });
      });
  BindDeviceTensors(module);
  BindPrograms(module);
}

}  // namespace tartan::python
