// SPDX-License-Identifier: Apache-2.0
// Calls a Tile function, or computes lazy tensors, on a device: values in and out by name.
//
//   TARTAN_ASSIGN_OR_RETURN(const Function matmul,
//   Function::FromFile("examples/tile/matmul.tile")); TARTAN_ASSIGN_OR_RETURN(const auto device,
//   Device::Open()); TARTAN_ASSIGN_OR_RETURN(const NamedTensors c, Invoke(device, matmul, {{"A",
//   a}, {"B", b}})); c.at("C")  // a: float32[2, 3], b: float32[3, 4] → float32[2, 4]
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

// Compiled for exact sizes; cheap to copy, immutable, and may be run from several threads at once.
class Invoker {
 public:
  // Compiles `function` for inputs of these shapes: all of them, by name. InvalidArgument as from
  // Function::Placeholders and Function::Apply; else what the device says. Adds to `statistics`,
  // which may be null, what compiling took.
  static absl::StatusOr<Invoker> Create(std::shared_ptr<const Device> device,
                                        const Function& function, const NamedShapes& shapes,
                                        RunStatistics* statistics = nullptr);

  // Compiles one program for several lazy tensors. `inputs` are placeholders, and all that
  // `outputs` depend on; names are distinct. `name` is for messages.
  static absl::StatusOr<Invoker> Create(std::shared_ptr<const Device> device,
                                        std::vector<NamedTensor> inputs,
                                        std::vector<NamedTensor> outputs, absl::string_view name,
                                        RunStatistics* statistics = nullptr);

  const std::vector<NamedTensor>& inputs() const;
  const std::vector<NamedTensor>& outputs() const;

  // One run: every input by name, of its type and exact shape, to every output by name.
  // InvalidArgument for a missing or unknown name or another shape. Sets latency and number of
  // kernels in `statistics`, which may be null.
  absl::StatusOr<NamedTensors> Run(const NamedTensors& inputs,
                                   RunStatistics* statistics = nullptr) const;

 private:
  struct Impl;
  explicit Invoker(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Creates an Invoker for the shapes of `inputs` and runs it once. Compiled programs are kept by the
// device.
absl::StatusOr<NamedTensors> Invoke(std::shared_ptr<const Device> device, const Function& function,
                                    const NamedTensors& inputs);

}  // namespace tartan::api
