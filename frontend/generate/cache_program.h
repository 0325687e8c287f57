// SPDX-License-Identifier: Apache-2.0
// A decoder bound to a cache with room: a program that reads so many tokens at once, and writes
// their rows behind those that are there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/step_program.h"
#include "frontend/api/session.h"
#include "frontend/generate/decoder_inputs.h"
#include "frontend/generate/growing_state.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::generate {

// What programs of a decoder are made of.
struct CacheModel {
  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<api::Device> device;
  api::SessionOptions session;
  DecoderInputs inputs;
  size_t scores_output = 0;
  std::vector<GrowingState> states;
};

struct CacheProgram {
  api::StepSource source;
  std::vector<std::string> fed;  // names of its inputs; the length comes last

  // Values of the inputs for `tokens`, `before` of which others come.
  std::vector<HostTensor> Feed(const DecoderInputs& inputs, absl::Span<const int64_t> tokens,
                               int64_t before, int64_t capacity) const;
};

// Reads `count` tokens; its output are their scores, if it `has_scores`. Unimplemented, with the
// reason, for models that cannot be run so.
absl::StatusOr<CacheProgram> BindToCache(const CacheModel& model, int64_t capacity, int64_t count,
                                         bool has_scores);

// Keys or values of a joint cache: the first axis away.
TensorShape PartOf(TensorShape joint);

}  // namespace tartan::generate
