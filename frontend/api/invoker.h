// SPDX-License-Identifier: Apache-2.0
// Runs a Tile function or a set of lazy tensors on a device, with inputs and outputs by name.
//
//   TARTAN_ASSIGN_OR_RETURN(const Function matmul,
//                           Function::FromFile("examples/tile/matmul.tile"));
//   TARTAN_ASSIGN_OR_RETURN(const auto device, Device::Open());
//   // a: float32[2, 3], b: float32[3, 4]
//   TARTAN_ASSIGN_OR_RETURN(const NamedTensors c,
//                           Invoke(device, matmul, {{"A", a}, {"B", b}}));
//   c.at("C");  // float32[2, 4]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// A program compiled for exact sizes. Cheap to copy, immutable, and may run in several threads at
// once.
class Invoker {
 public:
  // Compiles `function` for the shapes of all its inputs, by name. InvalidArgument as from
  // Function::Placeholders and Function::Apply; other errors come from the device. Adds the compile
  // time to `statistics`, which may be null.
  static absl::StatusOr<Invoker> Create(std::shared_ptr<const Device> device,
                                        const Function& function, const NamedShapes& shapes,
                                        RunStatistics* statistics = nullptr);

  // Compiles one program for several lazy tensors. `inputs` are all placeholders that `outputs`
  // depend on, with distinct names. `name` is for messages.
  static absl::StatusOr<Invoker> Create(std::shared_ptr<const Device> device,
                                        std::vector<NamedTensor> inputs,
                                        std::vector<NamedTensor> outputs, absl::string_view name,
                                        RunStatistics* statistics = nullptr);

  const std::vector<NamedTensor>& inputs() const;
  const std::vector<NamedTensor>& outputs() const;

  // Runs the program once: takes every input by name, of its type and exact shape, and returns
  // every output by name. InvalidArgument for a missing or unknown name or another shape. Sets
  // latency and number of kernels in `statistics`, which may be null.
  absl::StatusOr<NamedTensors> Run(const NamedTensors& inputs,
                                   RunStatistics* statistics = nullptr) const;

 private:
  struct Impl;
  explicit Invoker(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Creates an Invoker for the shapes of `inputs` and runs it once. The device caches compiled
// programs.
absl::StatusOr<NamedTensors> Invoke(std::shared_ptr<const Device> device, const Function& function,
                                    const NamedTensors& inputs);

}  // namespace tartan::api
