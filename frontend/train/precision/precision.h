// SPDX-License-Identifier: Apache-2.0
// Training in 16 bits: how values lie in memory, and the factor that keeps small gradients from
// becoming 0 in float16.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/api/tensor.h"
#include "frontend/train/optimizer.h"

namespace tartan::train {

// Of activations, of what is kept for gradients, of gradients on their way, and of the copies of
// parameters that products read. Parameters themselves and averages are float32 in each.
enum class Precision : uint8_t { kFloat32, kBFloat16, kFloat16 };
absl::string_view Name(Precision precision);
// "bfloat16"; InvalidArgument lists the names.
absl::StatusOr<Precision> PrecisionNamed(absl::string_view name);
// kFloat32, kBFloat16 or kFloat16.
DataType TypeOf(Precision precision);

// The loss is multiplied by it before gradients are taken, and they are divided by it in float32.
// Where one is no finite number then, the update is left out.
struct LossScale {
  double fixed = 0;             // 0: dynamic
  double first = 65536;         // dynamic: of the first step
  int64_t growth_steps = 2000;  // dynamic: it doubles after so many updates in a row

  // InvalidArgument naming the value that is out of its range.
  absl::Status Check() const;
};
// "dynamic" or a number.
absl::StatusOr<LossScale> ParseLossScale(absl::string_view text);

// The state of a scale, on the device: float32[kScaleCount], in this order.
enum ScaleState : int64_t {
  kScale,
  kGood,      // updates in a row
  kLeftOut,   // updates, over all
  kInARow,    // left out
  kAverage1,  // of ones, as the optimizer's averages begin from 0: what corrects them, where
  kAverage2,  // updates that were left out do not count
  kScaleCount
};
inline constexpr char kScaleName[] = "train/loss_scale";
std::vector<float> FirstScale(const LossScale& scale);

// Below it gradients that are still no finite numbers are not the scale's fault; nor after so many
// in a row with a fixed one.
inline constexpr double kLeastScale = 1.0 / 8192;
inline constexpr int64_t kMostInARow = 30;
// OutOfRange, in words, where `state` says that the run diverges.
absl::Status CheckScale(const LossScale& scale, const std::vector<double>& state);

// --- As lazy tensors; internal to this folder.

// float32[], of a state of a scale.
absl::StatusOr<api::Tensor> ScaleOf(const api::Tensor& state);
// Each divided by the scale.
absl::Status UnscaleAll(const api::Tensor& state, std::vector<api::Tensor>* gradients);
// Whether all elements of all gradients are finite numbers.
absl::StatusOr<api::Tensor> AllFinite(const std::vector<api::Tensor>& gradients);
// After an update, or one that is left out as `finite` is false. Where `healthy` is false, as it
// was.
absl::StatusOr<api::Tensor> NextScale(const LossScale& scale, const Optimizer& optimizer,
                                      const api::Tensor& state, const api::Tensor& finite,
                                      const api::Tensor& healthy);
// The numbers of optimizer.h with corrections by the updates that were made.
absl::StatusOr<api::Tensor> CorrectedNumbers(const api::Tensor& numbers,
                                             const api::Tensor& next_state);

}  // namespace tartan::train
