// SPDX-License-Identifier: Apache-2.0
// A loss function for gradient checks: its gradients by parameters, and its change when parameters
// move.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/gradient.h"
#include "frontend/api/resident/device_program.h"

namespace tartan::train {

// A placeholder and its value.
struct GivenTensor {
  std::string name;
  api::Tensor placeholder;
  HostTensor value;
};

// Seeded random numbers, the same on every platform.
class SeededNumbers {
 public:
  explicit SeededNumbers(uint64_t seed) : bits_(seed) {}
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  // Magnitude 0.5 to 1.5, random sign.
  double Signed() { return (Uniform() < 0.5 ? -1 : 1) * (0.5 + Uniform()); }
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(bits_() % static_cast<uint64_t>(count));
  }

 private:
  std::mt19937_64 bits_;
};

// A direction in a parameter's space: elements that move, and their movement for a step of 1.
using Direction = std::vector<std::pair<int64_t, double>>;

// The loss is the sum of all elements of the outputs, each times a random number. All is computed
// in float64.
class CheckedLoss {
 public:
  // `device` computes in float64. Errors as from CheckGradients.
  static absl::StatusOr<std::unique_ptr<CheckedLoss>> Create(
      const std::shared_ptr<api::Device>& device, absl::Span<const api::Tensor> outputs,
      absl::Span<const GivenTensor> parameters, absl::Span<const GivenTensor> inputs,
      SeededNumbers* numbers);

  // Value and gradient of each parameter at the start.
  const std::vector<double>& value(size_t parameter) const { return values_[parameter]; }
  const std::vector<double>& gradient(size_t parameter) const { return gradients_[parameter]; }
  // The gradients computed by another device.
  absl::StatusOr<std::vector<std::vector<double>>> GradientsOn(
      const std::shared_ptr<const api::Device>& device) const;

  // Moves a parameter and returns the change of the loss from its start; the parameter stays moved
  // until Restore.
  absl::StatusOr<double> Moved(size_t parameter, const Direction& direction, double step);
  absl::Status Restore(size_t parameter);
  // The rounding error of Moved.
  double rounding() const { return rounding_; }

 private:
  CheckedLoss() = default;
  absl::Status AddOutputs(absl::Span<const api::Tensor> outputs, SeededNumbers* numbers);
  // Evaluates lazy tensors of parameters and inputs.
  absl::StatusOr<std::vector<HostTensor>> ComputeOn(
      const std::shared_ptr<const api::Device>& device,
      const std::vector<api::Tensor>& results) const;
  absl::Status SetStart(absl::Span<const HostTensor> outputs);
  absl::Status LoadDifference(const std::shared_ptr<api::Device>& device);
  absl::Status MeasureRounding(SeededNumbers* numbers);
  absl::StatusOr<double> Evaluate();
  absl::Status Assign(size_t parameter, const std::vector<double>& values);

  std::vector<api::Tensor> inputs_;
  std::vector<HostTensor> input_values_;
  std::vector<HostTensor> wide_inputs_;  // the same in float64
  std::vector<api::Tensor> parameters_;
  std::vector<HostTensor> parameter_values_;
  std::vector<api::SeededTensor> outputs_;
  std::vector<api::Tensor> derivatives_;  // derivatives of the loss by each parameter, lazy
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<double>> gradients_;
  std::vector<HostTensor> start_values_;   // outputs at the start
  std::vector<api::DeviceTensor> states_;  // the parameters, then the outputs at the start
  std::unique_ptr<api::DeviceProgram> difference_;
  double start_ = 0;  // the difference at the start, which is rounding only
  double size_ = 0;   // magnitude of the loss: root of the sum of its squared terms
  double rounding_ = 0;
};

}  // namespace tartan::train
