// SPDX-License-Identifier: Apache-2.0
// The internal state of a decoder. decoder.cc reads tokens with it; decoder_in_place.cc decides
// whether the cache may be appended to in place. Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/generate/cache_step.h"
#include "frontend/generate/chunk_program.h"
#include "frontend/generate/decoder_inputs.h"
#include "frontend/generate/decoder_options.h"
#include "frontend/generate/growing_state.h"

namespace tartan::generate {

struct DecoderState {
  using Known = ChunkNotes::Known;

  std::shared_ptr<const onnx::OnnxModel> model;
  std::shared_ptr<api::Device> device;
  DecoderOptions options;
  DecoderInputs inputs;
  std::vector<api::StatePlaces> places;
  size_t scores = 0;  // index among the outputs that are not states
  size_t scores_output = 0;
  std::unique_ptr<api::StateSession> session;  // null once the cache is appended to in place
  std::unique_ptr<CacheStep> step;
  bool has_tried = false;
  std::string why_not;
  std::vector<int64_t> tokens;  // all tokens, for a model without a cache
  int64_t length = 0;
  std::shared_ptr<const CacheModel> cache;  // null if no cache grows
  std::optional<ChunkNotes> notes;
  bool chunks_are_right = false;   // verified for this model
  int64_t in_chunks = 0;           // number of tokens read in chunks by earlier steps
  api::RunStatistics last_run;     // statistics of the session's last run
  int64_t capacity_of_chunks = 0;  // the capacity for which chunks were last requested

  absl::Status Open();
  absl::StatusOr<std::vector<float>> Run(absl::Span<const int64_t> now, int64_t before);
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> now);
  absl::StatusOr<std::vector<float>> ReadByStep(absl::Span<const int64_t> now);
  absl::StatusOr<std::vector<float>> ReadBySession(absl::Span<const int64_t> now);

  // Finds the states that can be appended to in place, from the first tokens; an error has the
  // reason if there are none.
  absl::Status FindCache(absl::Span<const int64_t> first);
  // The session's states after `rows` tokens.
  absl::StatusOr<std::vector<HostTensor>> Rows(int64_t rows) const;
  int64_t CapacityFor(int64_t tokens) const;
  // Tries in-place appending after the first tokens, whose scores were `wanted`.
  absl::Status TryInPlace(absl::Span<const int64_t> first, const std::vector<float>& wanted);
  absl::StatusOr<bool> AgreesForLastToken(absl::Span<const int64_t> first, int64_t capacity);
  absl::StatusOr<bool> AgreesInFloat32(absl::Span<const int64_t> first) const;
  absl::Status Grow(int64_t least);

  bool IsWorthChunks(size_t tokens) const {
    return options.chunk > 0 && !inputs.is_single() &&
           static_cast<int64_t>(tokens) > CacheStep::MinTokensForChunk(options.chunk);
  }
  // Reads a first prompt in place from its first token on, if that is known to be correct or can be
  // verified now. Otherwise returns nullopt and reads nothing.
  absl::StatusOr<std::optional<std::vector<float>>> ReadFirstInPlace(
      absl::Span<const int64_t> first);
  bool waits() const {
    return options.waits_for_chunks || options.session.tier == api::Tier::kExact;
  }
  bool MayBeginInPlace(Known known, size_t tokens, int64_t capacity) const;
  struct Reading {
    std::vector<float> scores;     // of the last token
    std::vector<HostTensor> rows;  // of the cache
  };
  absl::StatusOr<Reading> ReadSome(absl::Span<const int64_t> first);
  absl::StatusOr<bool> ChunksAgree(absl::Span<const int64_t> first, const Reading& wanted,
                                   CacheStep* made) const;
  // Gets chunks for later reads after the cache has grown.
  absl::Status RefreshChunks();
  void CompileChunksLater();
};

}  // namespace tartan::generate
