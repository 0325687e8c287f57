// SPDX-License-Identifier: Apache-2.0
// How a decoder is imported whose cache has room for more than is there: what is appended is
// written into memory of the caller's, and what is not there yet counts for nothing.
#pragma once

#include <vector>

#include "frontend/api/tensor.h"

namespace tartan::onnx {

// The model takes a cache of `capacity` - `step` elements along some axis, which it gets as `past`
// and of which only the sizes are looked at, and appends `step` elements: they are written into
// `memory` behind the elements that are there, and the result is the memory. Softmax over
// `capacity` elements leaves out those that are not there; a range of the numbers from `capacity` -
// `step` to `capacity`, which are positions, begins with the number of elements that are there. No
// other size of the model may be `capacity`.
struct DecodingMode {
  struct Cache {
    api::Tensor past;
    api::Tensor memory;
    // Set while the model is imported, where something is appended: the memory with that.
    mutable api::Tensor appended = {};
  };
  std::vector<Cache> caches;
  // Keys and values in one tensor, one behind the other along its first axis: the parts that are
  // taken out of it are those of two caches, from `first` on.
  struct Joint {
    api::Tensor past;
    size_t first = 0;
  };
  std::vector<Joint> joints;
  api::Tensor length;  // int32[1]: elements that are there before the run
  int64_t capacity = 0;
  int64_t step = 1;
};

}  // namespace tartan::onnx
