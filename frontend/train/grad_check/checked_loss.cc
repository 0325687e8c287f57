// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/grad_check/checked_loss.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"
#include "tile/ir/in_float64.h"

namespace tartan::train {
namespace {

using api::DeviceProgram;
using api::DeviceTensor;
using api::Tensor;

// Rounding is measured by moving parameters in their last bits.
// - kLastBits: relative movement.
// - kRoundings: number of measurements.
constexpr double kLastBits = 1e-15;
constexpr int kRoundings = 5;

Tensor Seed(const TensorShape& shape, SeededNumbers* numbers) {
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    StoreElement(shape.type, numbers->Signed(), i, bytes.data());
  }
  return Tensor::Constant(HostTensor(shape, bytes), "seed");
}

std::vector<api::ProgramState> Unchanging(absl::Span<const Tensor> tensors) {
  std::vector<api::ProgramState> states;
  for (const Tensor& tensor : tensors) states.push_back({tensor, Tensor()});
  return states;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckedLoss>> CheckedLoss::Create(
    const std::shared_ptr<api::Device>& device, absl::Span<const Tensor> outputs,
    absl::Span<const GivenTensor> parameters, absl::Span<const GivenTensor> inputs,
    SeededNumbers* numbers) {
  std::unique_ptr<CheckedLoss> loss(new CheckedLoss());
  for (const GivenTensor& input : inputs) {
    loss->inputs_.push_back(input.placeholder);
    loss->input_values_.push_back(input.value);
  }
  for (const GivenTensor& parameter : parameters) {
    loss->parameters_.push_back(parameter.placeholder);
    loss->parameter_values_.push_back(parameter.value);
    loss->values_.push_back(parameter.value.ToDoubles());
  }
  TARTAN_RETURN_IF_ERROR(loss->AddOutputs(outputs, numbers));
  TARTAN_ASSIGN_OR_RETURN(loss->derivatives_, api::Gradient(loss->outputs_, loss->parameters_));
  std::vector<Tensor> results;
  for (const api::SeededTensor& output : loss->outputs_) results.push_back(output.tensor);
  results.insert(results.end(), loss->derivatives_.begin(), loss->derivatives_.end());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> all, loss->ComputeOn(device, results));
  const size_t count = loss->outputs_.size();
  for (size_t r = count; r < all.size(); ++r) loss->gradients_.push_back(all[r].ToDoubles());
  TARTAN_RETURN_IF_ERROR(loss->SetStart(absl::MakeConstSpan(all).first(count)));
  TARTAN_RETURN_IF_ERROR(loss->LoadDifference(device));
  TARTAN_RETURN_IF_ERROR(loss->MeasureRounding(numbers));
  return loss;
}

absl::Status CheckedLoss::AddOutputs(absl::Span<const Tensor> outputs, SeededNumbers* numbers) {
  for (const Tensor& output : outputs) {
    if (!IsFloat(output.type()) || output.shape().element_count() == 0) continue;
    outputs_.push_back({output, Seed(output.shape(), numbers)});
  }
  if (!outputs_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("no output is a float tensor with elements");
}

absl::StatusOr<std::vector<HostTensor>> CheckedLoss::ComputeOn(
    const std::shared_ptr<const api::Device>& device, const std::vector<Tensor>& results) const {
  std::vector<DeviceTensor> tensors;
  for (const HostTensor& value : parameter_values_) {
    TARTAN_ASSIGN_OR_RETURN(
        tensors.emplace_back(),
        DeviceTensor::FromHost(*device, device->in_float64() ? ir::InFloat64(value) : value));
  }
  TARTAN_ASSIGN_OR_RETURN(
      const auto program,
      DeviceProgram::Create(device, {inputs_, Unchanging(parameters_), results, "gradients"}));
  TARTAN_RETURN_IF_ERROR(program->Bind(std::move(tensors)));
  TARTAN_RETURN_IF_ERROR(program->Start(input_values_));
  return program->Outputs();
}

absl::StatusOr<std::vector<std::vector<double>>> CheckedLoss::GradientsOn(
    const std::shared_ptr<const api::Device>& device) const {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results, ComputeOn(device, derivatives_));
  std::vector<std::vector<double>> gradients;
  for (const HostTensor& result : results) gradients.push_back(result.ToDoubles());
  return gradients;
}

absl::Status CheckedLoss::SetStart(absl::Span<const HostTensor> outputs) {
  double squares = 0;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const std::vector<double> seeds = outputs_[o].seed.constant()->ToDoubles();
    const std::vector<double> values = outputs[o].ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        return absl::InvalidArgumentError(absl::StrCat("an output has the value ", values[i],
                                                       ", where gradients cannot be checked"));
      }
      squares += values[i] * seeds[i] * values[i] * seeds[i];
    }
    start_values_.push_back(outputs[o]);
  }
  size_ = std::sqrt(squares);
  return absl::OkStatus();
}

// Sums the differences of outputs, not the outputs: the rounding error is then proportional to the
// change.
absl::Status CheckedLoss::LoadDifference(const std::shared_ptr<api::Device>& device) {
  std::vector<Tensor> sums;
  std::vector<Tensor> states = parameters_;
  for (const HostTensor& value : parameter_values_) {
    TARTAN_ASSIGN_OR_RETURN(states_.emplace_back(),
                            DeviceTensor::FromHost(*device, ir::InFloat64(value)));
  }
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const auto& [output, seed] = outputs_[o];
    const Tensor start = Tensor::Placeholder(absl::StrCat("start", o), output.shape());
    TARTAN_ASSIGN_OR_RETURN(
        sums.emplace_back(),
        api::Apply(absl::StrCat("function (Y, S, Y0) -> (L) { D = (Y - Y0) * S; L[] = +(D[",
                                Indices(output.rank()), "]); }"),
                   {output, seed, start}, "loss"));
    states.push_back(start);
    TARTAN_ASSIGN_OR_RETURN(states_.emplace_back(),
                            DeviceTensor::FromHost(*device, start_values_[o]));
  }
  for (const HostTensor& value : input_values_) wide_inputs_.push_back(ir::InFloat64(value));
  TARTAN_ASSIGN_OR_RETURN(
      difference_,
      DeviceProgram::Create(device, {inputs_, Unchanging(states), std::move(sums), "difference"}));
  TARTAN_RETURN_IF_ERROR(difference_->Bind(states_));
  TARTAN_ASSIGN_OR_RETURN(start_, Evaluate());
  return absl::OkStatus();
}

absl::Status CheckedLoss::MeasureRounding(SeededNumbers* numbers) {
  std::vector<double> moved;
  for (int r = 0; r < kRoundings; ++r) {
    for (size_t p = 0; p < parameters_.size(); ++p) {
      std::vector<double> values = values_[p];
      for (double& value : values) value += kLastBits * numbers->Signed() * value;
      TARTAN_RETURN_IF_ERROR(Assign(p, values));
    }
    TARTAN_ASSIGN_OR_RETURN(const double sum, Evaluate());
    moved.push_back(std::abs(sum - start_));
  }
  for (size_t p = 0; p < parameters_.size(); ++p) TARTAN_RETURN_IF_ERROR(Restore(p));
  // Uses the median: a value at a kink or a rounding step is an outlier.
  std::sort(moved.begin(), moved.end());
  rounding_ = std::max(4 * moved[kRoundings / 2], 1e-16 * size_);
  return absl::OkStatus();
}

absl::StatusOr<double> CheckedLoss::Evaluate() {
  TARTAN_RETURN_IF_ERROR(difference_->Start(wide_inputs_));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, difference_->Outputs());
  double sum = 0;
  for (const HostTensor& output : outputs) sum += output.GetDouble(0);
  return sum;
}

absl::Status CheckedLoss::Assign(size_t parameter, const std::vector<double>& values) {
  return states_[parameter].Assign(HostTensor::FromVector(states_[parameter].shape(), values));
}

absl::StatusOr<double> CheckedLoss::Moved(size_t parameter, const Direction& direction,
                                          double step) {
  std::vector<double> values = values_[parameter];
  for (const auto& [element, by] : direction) values[static_cast<size_t>(element)] += step * by;
  TARTAN_RETURN_IF_ERROR(Assign(parameter, values));
  TARTAN_ASSIGN_OR_RETURN(const double sum, Evaluate());
  return sum - start_;
}

absl::Status CheckedLoss::Restore(size_t parameter) {
  return Assign(parameter, values_[parameter]);
}

}  // namespace tartan::train
