// SPDX-License-Identifier: Apache-2.0
// A loss on a device, its gradients by parameters, and how it moves when they do: what a check of
// gradients measures.
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

// Numbers of a seed, the same everywhere.
class SeededNumbers {
 public:
  explicit SeededNumbers(uint64_t seed) : bits_(seed) {}
  double Uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  // Away from 0, of either sign.
  double Signed() { return (Uniform() < 0.5 ? -1 : 1) * (0.5 + Uniform()); }
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(bits_() % static_cast<uint64_t>(count));
  }

 private:
  std::mt19937_64 bits_;
};

// The elements of a parameter that move together, and how far for a step of 1.
using Direction = std::vector<std::pair<int64_t, double>>;

// The sum of all elements of outputs, each times a random number. All in float64.
class CheckedLoss {
 public:
  // `device` computes in float64. Errors are those of CheckGradients.
  static absl::StatusOr<std::unique_ptr<CheckedLoss>> Create(
      const std::shared_ptr<api::Device>& device, absl::Span<const api::Tensor> outputs,
      absl::Span<const GivenTensor> parameters, absl::Span<const GivenTensor> inputs,
      SeededNumbers* numbers);

  // Of each parameter, as given.
  const std::vector<double>& value(size_t parameter) const { return values_[parameter]; }
  const std::vector<double>& gradient(size_t parameter) const { return gradients_[parameter]; }
  // The gradients as another device computes them.
  absl::StatusOr<std::vector<std::vector<double>>> GradientsOn(
      const std::shared_ptr<const api::Device>& device) const;

  // What the loss is more than at the given values when a parameter moves; it stays moved until
  // Restore.
  absl::StatusOr<double> Moved(size_t parameter, const Direction& direction, double step);
  absl::Status Restore(size_t parameter);
  // How much of what Moved gives is rounding.
  double rounding() const { return rounding_; }

 private:
  CheckedLoss() = default;
  absl::Status AddOutputs(absl::Span<const api::Tensor> outputs, SeededNumbers* numbers);
  // Lazy tensors of parameters and inputs.
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
  std::vector<api::Tensor> derivatives_;  // by each parameter, lazy
  std::vector<std::vector<double>> values_;
  std::vector<std::vector<double>> gradients_;
  std::vector<HostTensor> start_values_;   // of outputs
  std::vector<api::DeviceTensor> states_;  // the parameters, then the outputs at the start
  std::unique_ptr<api::DeviceProgram> difference_;
  double start_ = 0;  // the difference there, which rounding alone makes
  double size_ = 0;   // of the loss: root of the sum of its terms' squares
  double rounding_ = 0;
};

}  // namespace tartan::train
