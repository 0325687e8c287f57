// SPDX-License-Identifier: Apache-2.0
// Pictures that are changed at random before a step of training sees them, on the device and in the
// step's own program. Which numbers are drawn is a function of the seed alone, the same on every
// device; no gradient goes through.
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
  // kFlip: which directions, each with the probability.
  bool horizontal = true;
  bool vertical = false;
  double probability = 0.5;
  // kCrop: as many zeros on each side, of which a picture of the old size is cut out anywhere.
  int64_t padding = 4;
  // kAffine, about the middle: scaled by 1 - scale to 1 + scale, sheared and rotated by up to so
  // many degrees either way, moved by up to this share of height and width. Between pixels values
  // are bilinear, outside they are 0.
  double rotate = 10;
  double translate = 0.1;
  double scale = 0.1;
  double shear = 0;
  double deviation = 0.05;  // kNoise: of normal numbers added to every element
};

// In the order in which they are applied.
struct Augmentations {
  std::vector<Augmentation> list;
  bool channels_last = false;  // pictures are [N, H, W, C], else [N, C, H, W]

  // Equal for those that do the same; empty where there are none.
  std::string ToString() const;
};

// "flip,crop:padding=2,affine:rotate=10,scale=0.1,noise". Of an affine map with any option, those
// that are not named are 0. InvalidArgument names what is wrong and what there is.
absl::StatusOr<std::vector<Augmentation>> ParseAugmentations(absl::string_view text);

// Whether it can be one: floats of four dimensions.
bool IsPicture(const TensorShape& shape);

// How many numbers each example draws of one: for a flip those of vertical and horizontal, for a
// crop those of height and width, for an affine map those of rotation, shear, scale, height and
// width.
int64_t DrawCount(AugmentationKind kind);

// What is added to the seed for the numbers of the examples, prng(seed + key, draws, N), whose rows
// are in the order of the list; and with `noise` from 1 on for the elements of the augmentation of
// that number: prng(seed + key, 2, elements).
std::vector<uint32_t> AugmentationKey(uint32_t input, uint32_t noise);

// The pictures `x` of the model's input of that number, changed; `seed` is uint32[2].
// InvalidArgument for what is no picture.
absl::StatusOr<api::Tensor> Augmented(const api::Tensor& x, const Augmentations& augmentations,
                                      const api::Tensor& seed, uint32_t input,
                                      absl::string_view name);

// Puts the changed pictures in the place of the inputs that are fed, which may be floats of four
// dimensions or anything else. Returns the seed that the step is to be given. InvalidArgument,
// listing the inputs, where none is a picture.
absl::StatusOr<api::Tensor> AugmentInputs(const onnx::OnnxModel& model,
                                          const Augmentations& augmentations,
                                          std::vector<api::InputBinding>* bindings);

}  // namespace tartan::train
