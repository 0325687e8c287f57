// SPDX-License-Identifier: Apache-2.0
// Mixed-precision training: storage types, and loss scaling, which keeps small float16 gradients
// from becoming 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/optimizer.h"

namespace tartan::train {

// The storage type of activations, saved forward values, gradients, and the copies of parameters
// that matmuls read. Parameters themselves and averages are always float32.
enum class Precision : uint8_t { kFloat32, kBFloat16, kFloat16 };
absl::string_view Name(Precision precision);
// Parses "bfloat16"; InvalidArgument lists the names.
absl::StatusOr<Precision> PrecisionNamed(absl::string_view name);
// The data type: kFloat32, kBFloat16 or kFloat16.
DataType TypeOf(Precision precision);

// Loss scaling: the loss is multiplied by the scale before gradients are taken, and the gradients
// are divided by it in float32. An update with non-finite gradients is skipped.
struct LossScale {
  double fixed = 0;             // 0: dynamic
  double first = 65536;         // dynamic: scale of the first step
  int64_t growth_steps = 2000;  // dynamic: consecutive updates before the scale doubles

  // InvalidArgument naming a value that is out of its range.
  absl::Status Check() const;
};
// Parses "dynamic" or a number.
absl::StatusOr<LossScale> ParseLossScale(absl::string_view text);

// Indices into the device state of a loss scale, float32[kScaleCount].
enum ScaleState : int64_t {
  kScale,
  kGood,              // consecutive updates made
  kSkippedUpdates,    // total of skipped updates
  kConsecutiveSkips,  // consecutive updates skipped
  // Averages of ones, updated like the optimiser's averages from 0. They are the divisors of the
  // bias correction, in which skipped updates do not count.
  kAverage1,
  kAverage2,
  kScaleCount
};
inline constexpr char kScaleName[] = "train/loss_scale";
std::vector<float> FirstScale(const LossScale& scale);

// Limits beyond which non-finite gradients mean that the run diverges; empirical.
// - kMinScale: with a lower dynamic scale, the scale is not the cause.
// - kMaxConsecutiveSkips: maximum number of consecutive skipped updates with a fixed scale.
inline constexpr double kMinScale = 1.0 / 8192;
inline constexpr int64_t kMaxConsecutiveSkips = 30;
// OutOfRange, with an explanation, if `state` shows that the run diverges.
absl::Status CheckScale(const LossScale& scale, const std::vector<double>& state);

// --- Lazy tensors; internal to this folder.

// The scale in a state, float32[].
absl::StatusOr<api::Tensor> ScaleOf(const api::Tensor& state);
// Divides each gradient by the scale, a scalar.
absl::Status UnscaleAll(const api::Tensor& scale, std::vector<api::Tensor>* gradients);
// A bool scalar: all elements of all gradients are finite.
absl::StatusOr<api::Tensor> AllFinite(const std::vector<api::Tensor>& gradients);
// The state after an update, or after a skipped one if `finite` is false. Unchanged if `healthy` is
// false.
absl::StatusOr<api::Tensor> NextScale(const LossScale& scale, const Optimizer& optimizer,
                                      const api::Tensor& state, const api::Tensor& finite,
                                      const api::Tensor& healthy);
// The step numbers of optimizer.h, with bias corrections for the number of updates made.
absl::StatusOr<api::Tensor> CorrectedStepScalars(const api::Tensor& numbers,
                                                 const api::Tensor& next_state);

}  // namespace tartan::train
