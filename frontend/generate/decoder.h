// SPDX-License-Identifier: Apache-2.0
// Runs a decoder token by token with a cache of earlier tokens.
//
//   TARTAN_ASSIGN_OR_RETURN(const auto decoder, Decoder::Create(model, device, {}));
//   TARTAN_ASSIGN_OR_RETURN(std::vector<float> scores, decoder->Read(prompt));
//   for (…) TARTAN_ASSIGN_OR_RETURN(scores, decoder->Read({token}));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/run_statistics.h"
#include "frontend/generate/decoder_options.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::generate {

struct DecoderState;  // decoder_state.h

// Used by one thread at a time.
class Decoder {
 public:
  // InvalidArgument for unknown states, Unimplemented for inputs that are unusual for a decoder.
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(
      std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device,
      DecoderOptions options);
  ~Decoder();

  // Reads tokens after the earlier ones; returns the scores of the next token. OutOfRange for a
  // token or position that the model does not have; the decoder is then unchanged.
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> tokens);
  int64_t length() const;  // number of tokens read

  const api::RunStatistics& last_run() const;  // statistics of the last single token

  CacheKind kind() const;
  // The reason why a growing cache is not appended to in place; otherwise empty.
  const std::string& why_not_in_place() const;
  int64_t read_in_chunks() const;     // kInPlace: number of tokens read in chunks
  int64_t capacity() const;           // kInPlace: capacity in tokens
  api::ProgramMemory memory() const;  // kInPlace: of a step; its states are the cache
  // Like Session::WaitForExact, for single tokens.
  absl::Status WaitForExact();

 private:
  explicit Decoder(std::unique_ptr<DecoderState> state);
  const std::unique_ptr<DecoderState> impl_;
};

}  // namespace tartan::generate
