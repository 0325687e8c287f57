// SPDX-License-Identifier: Apache-2.0
// Random data augmentation of training pictures, on the device and in the program of the training
// step. The random numbers depend on the seed only and are the same on every device. No gradient
// passes through augmentation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/tensor.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::train {

enum class AugmentationKind { kFlip, kCrop, kAffine, kNoise };

struct Augmentation {
  AugmentationKind kind = AugmentationKind::kFlip;
  // `kFlip`: directions, each applied with the probability.
  bool horizontal = true;
  bool vertical = false;
  double probability = 0.5;
  // `kCrop`: pads each side with this number of zeros, then cuts a picture of the original size at
  // a random position.
  int64_t padding = 4;
  // `kAffine`, about the centre, with bilinear interpolation; outside values are 0.
  // - `rotate`, `shear`: maximum angle in degrees, in either direction.
  // - `translate`: maximum share of height and width.
  // - `scale`: scaling by 1 - scale to 1 + scale.
  double rotate = 10;
  double translate = 0.1;
  double scale = 0.1;
  double shear = 0;
  double deviation = 0.05;  // kNoise: standard deviation of Gaussian noise added to every element
};

// A list of augmentations in order of application.
struct Augmentations {
  std::vector<Augmentation> list;
  bool channels_last = false;  // pictures are [N, H, W, C], otherwise [N, C, H, W]

  // A canonical text: equal for equal augmentations, empty if there are none.
  std::string ToString() const;
};

// Parses "flip,crop:padding=2,affine:rotate=10,scale=0.1,noise". If an affine map has any option,
// those not named are 0. InvalidArgument names the error and the valid options.
absl::StatusOr<std::vector<Augmentation>> ParseAugmentations(absl::string_view text);

// True for shapes that may be pictures: floats of four dimensions.
bool IsPicture(const TensorShape& shape);

// Random numbers per example of one augmentation. Flip: vertical, horizontal. Crop: height, width.
// Affine: rotation, shear, scale, height, width.
int64_t DrawCount(AugmentationKind kind);

// The key added to the seed. The examples' numbers are prng(seed + key, draws, N) with `noise` 0;
// rows are in list order. For the elements of noise augmentation number `noise` (from 1), they are
// prng(seed + key, 2, elements).
std::vector<uint32_t> AugmentationKey(uint32_t input, uint32_t noise);

// Returns the augmented pictures `x` of the model input with index `input`; `seed` is uint32[2].
// InvalidArgument if `x` is not a picture.
absl::StatusOr<api::Tensor> Augmented(const api::Tensor& x, const Augmentations& augmentations,
                                      const api::Tensor& seed, uint32_t input,
                                      absl::string_view name);

// Replaces all inputs in `bindings` that are pictures by augmented ones; other inputs are
// unchanged. Returns the seed placeholder of the step. InvalidArgument, listing the inputs, if none
// is a picture.
absl::StatusOr<api::Tensor> AugmentInputs(const onnx::OnnxModel& model,
                                          const Augmentations& augmentations,
                                          std::vector<api::InputBinding>* bindings);

}  // namespace tartan::train
