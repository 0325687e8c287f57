// SPDX-License-Identifier: Apache-2.0
// Runs a decoder token by token, with what it has made of earlier ones in its cache.
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
  // InvalidArgument for states the model does not have, Unimplemented for inputs that a decoder
  // does not have.
  static absl::StatusOr<std::unique_ptr<Decoder>> Create(
      std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device,
      DecoderOptions options);
  ~Decoder();

  // Reads tokens behind those read before; the scores of what may come next. OutOfRange for a token
  // that the model does not have, or a position: it stays as it was.
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> tokens);
  int64_t length() const;  // tokens that were read

  const api::RunStatistics& last_run() const;  // of the last single token

  CacheKind kind() const;
  // Why the cache is not appended to in place though the model has one that grows; else empty.
  const std::string& why_not_in_place() const;
  int64_t read_in_chunks() const;     // kInPlace: of all tokens, those that were read in chunks
  int64_t capacity() const;           // kInPlace: tokens that there is room for
  api::ProgramMemory memory() const;  // kInPlace: of a step; its states are the cache
  // As Session::WaitForExact, for single tokens.
  absl::Status WaitForExact();

 private:
  explicit Decoder(std::unique_ptr<DecoderState> state);
  const std::unique_ptr<DecoderState> impl_;
};

}  // namespace tartan::generate
