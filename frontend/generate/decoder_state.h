// SPDX-License-Identifier: Apache-2.0
// The state of a decoder. decoder.cc reads tokens with it; decoder_in_place.cc decides whether the
// cache may be appended to in place. Internal to this folder.
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
  size_t scores = 0;  // among the outputs that are no states
  size_t scores_output = 0;
  std::unique_ptr<api::StateSession> session;  // null once the cache is appended to in place
  std::unique_ptr<CacheStep> step;
  bool has_tried = false;
  std::string why_not;
  std::vector<int64_t> tokens;  // all, of a model without a cache
  int64_t length = 0;
  std::shared_ptr<const CacheModel> cache;  // null where no cache grows
  std::optional<ChunkNotes> notes;
  bool chunks_are_right = false;   // of this model
  int64_t in_chunks = 0;           // tokens, read by earlier steps
  api::RunStatistics last_run;     // of the session
  int64_t capacity_of_chunks = 0;  // for which the step got its chunks, or there are none

  absl::Status Open();
  absl::StatusOr<std::vector<float>> Run(absl::Span<const int64_t> now, int64_t before);
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> now);
  absl::StatusOr<std::vector<float>> ReadByStep(absl::Span<const int64_t> now);
  absl::StatusOr<std::vector<float>> ReadBySession(absl::Span<const int64_t> now);

  // What is appended to in place, as the first tokens show; none, with the reason, where nothing
  // is.
  absl::Status FindCache(absl::Span<const int64_t> first);
  // The session's states, after so many tokens.
  absl::StatusOr<std::vector<HostTensor>> Rows(int64_t rows) const;
  int64_t CapacityFor(int64_t tokens) const;
  // After the first tokens, which gave the scores `wanted`.
  absl::Status TryInPlace(absl::Span<const int64_t> first, const std::vector<float>& wanted);
  absl::StatusOr<bool> AgreesAlone(absl::Span<const int64_t> first, int64_t capacity);
  absl::StatusOr<bool> AgreesInFloat32(absl::Span<const int64_t> first) const;
  absl::Status Grow(int64_t least);

  bool IsWorthChunks(size_t tokens) const {
    return options.chunk > 0 && !inputs.is_single() &&
           static_cast<int64_t>(tokens) > CacheStep::LeastForChunk(options.chunk);
  }
  // A first prompt, in place from its first token on, where that is known to be right or is found
  // out here; nothing, and nothing is read, where it is not.
  absl::StatusOr<std::optional<std::vector<float>>> ReadFirstInPlace(
      absl::Span<const int64_t> first);
  bool waits() const {
    return options.waits_for_chunks || options.session.tier == api::Tier::kExact;
  }
  bool MayBeginInPlace(Known known, size_t tokens, int64_t capacity) const;
  absl::StatusOr<bool> ChunksAgree(absl::Span<const int64_t> first, CacheStep* made);
  // Chunks for what a later reading brings, where the cache has grown.
  absl::Status RenewChunks();
  void CompileChunksLater();
};

}  // namespace tartan::generate
