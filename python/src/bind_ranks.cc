// SPDX-License-Identifier: Apache-2.0
// Binds the ranks that an MPI launcher started: collective operations on host tensors, and sums of
// tensors on devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/mpi/mpi_transport.h"
#include "distributed/training/gradient_exchange.h"
#include "frontend/api/device.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/resident/device_tensor.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/status.h"

namespace nb = nanobind;

namespace tartan::python {
namespace {

using distributed::HostTransport;

struct Ranks {
  distributed::JoinedRanks joined;

  const distributed::Place& place() const { return joined.communicator->place(); }
};

// A tensor whose bytes are still written.
struct Written {
  explicit Written(TensorShape of)
      : shape(std::move(of)), bytes(std::make_shared<std::vector<uint8_t>>(shape.byte_size())) {}
  explicit Written(const HostTensor& value) : Written(value.shape()) {
    std::copy(value.bytes().begin(), value.bytes().end(), bytes->begin());
  }
  absl::Span<uint8_t> span() { return absl::MakeSpan(*bytes); }
  HostTensor Take() const { return HostTensor(shape, *bytes, bytes); }

  TensorShape shape;
  std::shared_ptr<std::vector<uint8_t>> bytes;
};

// Calls `work` without the GIL.
void RaiseUnlocked(const std::function<absl::Status()>& work) {
  absl::Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = work();
  }
  RaiseIfError(status);
}

void OnTransport(Ranks& self, const std::function<absl::Status(HostTransport&)>& work) {
  RaiseUnlocked([&] { return self.joined.communicator->OnTransport(work); });
}

std::unique_ptr<Ranks> Join(const std::string& transport, double longest_wait_s) {
  distributed::JoinOptions options;
  options.longest_wait_s = longest_wait_s;
  const absl::StatusOr<distributed::Way> way = distributed::WayNamed(transport);
  RaiseIfError(way.status());
  options.exchange.way = *way;
  auto ranks = std::make_unique<Ranks>();
  RaiseUnlocked([&]() -> absl::Status {
    absl::StatusOr<distributed::JoinedRanks> joined =
        distributed::JoinRanksAndCommunicator(options);
    if (joined.ok()) ranks->joined = *std::move(joined);
    return joined.status();
  });
  if (ranks->joined.communicator == nullptr) return nullptr;
  return ranks;
}

HostTensor AllReduce(Ranks& self, const HostTensor& value) {
  Written sum(value);
  OnTransport(self, [&](HostTransport& transport) {
    return sum.bytes->empty() ? absl::OkStatus() : transport.AllReduce(sum.span(), value.type());
  });
  return sum.Take();
}

HostTensor AllGather(Ranks& self, const HostTensor& value) {
  TensorShape shape = value.shape();
  shape.dims.insert(shape.dims.begin(), self.place().ranks);
  Written all(shape);
  OnTransport(self, [&](HostTransport& transport) {
    return all.bytes->empty() ? absl::OkStatus() : transport.AllGather(value.bytes(), all.span());
  });
  return all.Take();
}

// The first dimension of `value` is the number of ranks.
HostTensor ReduceScatter(Ranks& self, const HostTensor& value) {
  TensorShape shape = value.shape();
  shape.dims.erase(shape.dims.begin());
  Written part(shape);
  OnTransport(self, [&](HostTransport& transport) {
    return part.bytes->empty() ? absl::OkStatus()
                               : transport.ReduceScatter(value.bytes(), part.span(), value.type());
  });
  return part.Take();
}

HostTensor Broadcast(Ranks& self, const HostTensor& value, int64_t root) {
  Written same(value);
  OnTransport(self, [&](HostTransport& transport) {
    return same.bytes->empty() ? absl::OkStatus() : transport.Broadcast(same.span(), root);
  });
  return same.Take();
}

void Send(Ranks& self, const HostTensor& value, int64_t to) {
  OnTransport(self, [&](HostTransport& transport) { return transport.Send(value.bytes(), to); });
}

HostTensor Receive(Ranks& self, const std::string& dtype, std::vector<int64_t> dims, int64_t from) {
  Written value(TensorShape{TypeNamed(dtype), std::move(dims)});
  OnTransport(self,
              [&](HostTransport& transport) { return transport.Receive(value.span(), from); });
  return value.Take();
}

using Specs = std::vector<std::pair<std::string, std::vector<int64_t>>>;

// Tensors of zeros that are adjacent in one buffer, so that few operations add many of them.
std::vector<api::DeviceTensor> Allocate(Ranks& self, const std::shared_ptr<api::Device>& device,
                                        const Specs& specs) {
  const int64_t alignment = std::max<int64_t>(1, device->hal()->info().buffer_alignment);
  std::vector<TensorShape> shapes;
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const auto& [dtype, dims] : specs) {
    shapes.push_back(TensorShape{TypeNamed(dtype), dims});
    offsets.push_back((end + alignment - 1) / alignment * alignment);
    end = offsets.back() + shapes.back().byte_size();
  }
  std::vector<api::DeviceTensor> tensors;
  RaiseUnlocked([&]() -> absl::Status {
    train::GradientExchange& exchange = *self.joined.exchange;
    absl::Status opened = exchange.Open(*device);
    if (!opened.ok()) return opened;
    const absl::StatusOr<hal::BufferPtr> whole = exchange.Allocate(*device, end);
    if (!whole.ok()) return whole.status();
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto tensor = api::DeviceTensor::Within(*device, *whole, offsets[i], shapes[i]);
      if (!tensor.ok()) return tensor.status();
      tensors.push_back(*std::move(tensor));
    }
    return absl::OkStatus();
  });
  return tensors;
}

// `program`, if it watches one group of states per bucket, has the events of its last run.
void Sum(Ranks& self, const std::shared_ptr<api::Device>& device,
         const std::vector<std::vector<api::DeviceTensor>>& buckets,
         const api::DeviceProgram* program) {
  std::vector<train::GradientBucket> joined;
  std::vector<hal::EventPtr> events;
  if (program != nullptr) events = program->StateEvents();
  events.resize(buckets.size());
  for (size_t i = 0; i < buckets.size(); ++i) joined.push_back({buckets[i], events[i]});
  RaiseUnlocked([&] { return self.joined.exchange->Sum(*device, joined); });
}

void BindOperations(nb::class_<Ranks>& ranks) {
  ranks.def("all_reduce", &AllReduce, nb::arg("value"))
      .def("all_gather", &AllGather, nb::arg("value"))
      .def("reduce_scatter", &ReduceScatter, nb::arg("value"))
      .def("broadcast", &Broadcast, nb::arg("value"), nb::arg("root"))
      .def("send", &Send, nb::arg("value"), nb::arg("to"))
      .def("receive", &Receive, nb::arg("dtype"), nb::arg("shape"), nb::arg("source"))
      .def("allocate", &Allocate, nb::arg("device"), nb::arg("specs"))
      .def("sum", &Sum, nb::arg("device"), nb::arg("buckets"), nb::arg("program").none())
      .def("fail",
           [](Ranks& self, const std::string& why) {
             const nb::gil_scoped_release unlocked;
             self.joined.exchange->Fail(absl::InternalError(why));
           })
      .def("finish",
           [](Ranks& self) { RaiseUnlocked([&] { return self.joined.exchange->Finish(); }); });
}

}  // namespace

void BindRanks(nb::module_& module) {
  nb::class_<Ranks> ranks(module, "Ranks", "The processes that an MPI launcher started.");
  ranks.def_prop_ro("rank", [](const Ranks& self) { return self.place().rank; })
      .def_prop_ro("world_size", [](const Ranks& self) { return self.place().ranks; })
      .def_prop_ro("local_rank", [](const Ranks& self) { return self.place().local_rank; })
      .def_prop_ro("local_size", [](const Ranks& self) { return self.place().local_ranks; })
      .def_prop_ro("bucket_bytes",
                   [](const Ranks& self) { return self.joined.exchange->bucket_bytes(); })
      .def_prop_ro("exchange", [](const Ranks& self) { return self.joined.exchange; });
  BindOperations(ranks);
  module.def("started_by_mpi", &distributed::StartedByMpi);
  module.def("join_ranks", &Join, nb::arg("transport"), nb::arg("longest_wait_s"));
}

}  // namespace tartan::python
