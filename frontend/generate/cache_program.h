// SPDX-License-Identifier: Apache-2.0
// Binds a decoder to a cache with spare capacity: a program that reads a fixed number of tokens at
// once and appends their rows to the cache in place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/program_graph.h"
#include "frontend/api/session.h"
#include "frontend/generate/decoder_inputs.h"
#include "frontend/generate/growing_state.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::generate {

// Inputs for making the programs of a decoder.
struct CacheModel {
  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<api::Device> device;
  api::SessionOptions session;
  DecoderInputs inputs;
  size_t scores_output = 0;
  std::vector<GrowingState> states;
};

struct CacheProgram {
  api::ProgramGraph source;
  std::vector<std::string> fed;  // names of its inputs; the length is the last

  // Input values for `tokens` after `before` earlier tokens.
  std::vector<HostTensor> Feed(const DecoderInputs& inputs, absl::Span<const int64_t> tokens,
                               int64_t before, int64_t capacity) const;
};

// Binds a program that reads `count` tokens. Its output is their scores if it `has_scores`.
// Unimplemented, with the reason, for models that cannot run this way.
absl::StatusOr<CacheProgram> BindToCache(const CacheModel& model, int64_t capacity, int64_t count,
                                         bool has_scores);

// The shape of the keys or the values of a joint cache: without the first axis.
TensorShape PartOf(TensorShape joint);

}  // namespace tartan::generate
