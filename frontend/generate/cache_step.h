// SPDX-License-Identifier: Apache-2.0
// Reads tokens with a cache that stays on the device and has spare capacity. New rows are appended
// in place.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/generate/cache_memory.h"
#include "frontend/generate/cache_program.h"
#include "frontend/generate/chunk_program.h"

namespace tartan::generate {

class CacheStep {
 public:
  // Makes a cache with room for `capacity` tokens that holds `tokens`. It starts with the first
  // rows of `values`, one per state; without `values` it is empty, and so must be `tokens`.
  // Unimplemented, with the reason, for models that cannot run this way.
  static absl::StatusOr<std::unique_ptr<CacheStep>> Create(std::shared_ptr<const CacheModel> model,
                                                           absl::Span<const HostTensor> values,
                                                           absl::Span<const int64_t> tokens,
                                                           int64_t capacity);

  // Makes Read read all tokens except the last in chunks, if there are enough tokens
  // (MinTokensForChunk). Errors as from ChunkProgram::Create.
  absl::Status AddChunks(int64_t size, ChunkKernels kernels);
  bool has_chunks() const { return chunks_ != nullptr; }
  static int64_t MinTokensForChunk(int64_t size) { return (size + 7) / 8; }

  // Reads tokens, which must fit, and returns the scores after the last. OutOfRange for a token or
  // a position that the model does not have; the state is then unchanged.
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> tokens);
  // Reads up to a chunk of tokens at once, after the first `before` tokens, which are not read.
  absl::Status ReadChunk(absl::Span<const int64_t> tokens, int64_t before);
  // Truncates the cache to `length` tokens.
  void Forget(int64_t length) { tokens_.resize(static_cast<size_t>(length)); }

  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t capacity() const { return memory_.capacity(); }
  const std::vector<int64_t>& tokens() const { return tokens_; }
  int64_t read_in_chunks() const { return read_in_chunks_; }        // total number of tokens
  const api::RunStatistics& last_run() const { return last_run_; }  // of the last single token
  // The valid rows of each state.
  absl::StatusOr<std::vector<HostTensor>> Values() const {
    return memory_.Values(model_->states, length());
  }
  absl::Status MakeExact() { return program_->MakeExact(); }
  api::ProgramMemory memory() const { return program_->memory(); }

 private:
  explicit CacheStep(std::shared_ptr<const CacheModel> model) : model_(std::move(model)) {}

  absl::StatusOr<std::vector<float>> ReadAll(absl::Span<const int64_t> tokens);
  absl::StatusOr<std::vector<float>> ReadOne(int64_t token);

  const std::shared_ptr<const CacheModel> model_;
  CacheProgram bound_;
  std::unique_ptr<api::DeviceProgram> program_;
  std::unique_ptr<ChunkProgram> chunks_;
  CacheMemory memory_;
  std::vector<int64_t> tokens_;
  int64_t read_in_chunks_ = 0;
  api::RunStatistics last_run_;
};

}  // namespace tartan::generate
