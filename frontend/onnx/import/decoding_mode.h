// SPDX-License-Identifier: Apache-2.0
// Import settings for a decoder with a preallocated key/value cache. New elements are written into
// the caller's memory, and elements past the current length are masked.
#pragma once

#include <vector>

#include "frontend/api/tensor.h"

namespace tartan::onnx {

// Describes the caches of one decoder step.
// - `past` is the cache that the model takes: `capacity` - `step` elements along some axis. Only
//   its sizes matter.
// - The model appends `step` elements. The importer writes them into `memory` after the `length`
//   elements that are there, and the result is `memory`.
// - Softmax over `capacity` elements leaves out those at or past the new length.
// - A Range from `capacity` - `step` to `capacity` computes positions, as does the Add of
//   `capacity` - `step` to a Range from 0 to `step`. The importer makes them begin at `length`.
//
// No other size of the model may equal `capacity`.
struct DecodingMode {
  struct Cache {
    api::Tensor past;
    api::Tensor memory;
    // Set by the importer when it meets the append: `memory` with the new elements.
    mutable api::Tensor appended = {};
  };
  std::vector<Cache> caches;
  // Keys and values in one tensor, stacked along its first axis. Part i of `past` is the cache at
  // `first` + i.
  struct Joint {
    api::Tensor past;
    size_t first = 0;
  };
  std::vector<Joint> joints;
  api::Tensor length;  // int32[1]: elements in each cache before the run
  int64_t capacity = 0;
  int64_t step = 1;
};

}  // namespace tartan::onnx
