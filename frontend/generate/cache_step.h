// SPDX-License-Identifier: Apache-2.0
// Reads tokens with a cache that has room: it stays on the device, and the rows of what is read are
// written behind those that are there.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/resident/step_program.h"
#include "frontend/generate/cache_memory.h"
#include "frontend/generate/cache_program.h"
#include "frontend/generate/chunk_program.h"

namespace tartan::generate {

class CacheStep {
 public:
  // With room for `capacity` tokens, after `tokens`: the cache begins as the first rows of
  // `values`, one for each state; without any it is empty, and so are `tokens`. Unimplemented, with
  // the reason, for models that cannot be run so.
  static absl::StatusOr<std::unique_ptr<CacheStep>> Create(std::shared_ptr<const CacheModel> model,
                                                           absl::Span<const HostTensor> values,
                                                           absl::Span<const int64_t> tokens,
                                                           int64_t capacity);

  // From then on Read reads all tokens but the last in chunks, where they are as many as are worth
  // one. The errors of ChunkProgram::Create.
  absl::Status AddChunks(int64_t size, ChunkKernels kernels);
  bool has_chunks() const { return chunks_ != nullptr; }
  static int64_t LeastForChunk(int64_t size) { return (size + 7) / 8; }

  // Reads tokens, for which there must be room, and gives the scores after the last. A token that
  // the model does not have, or a position, is OutOfRange: all is as it was before.
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> tokens);
  // Reads at most a chunk of tokens behind the first `before`, which are not looked at, as one.
  absl::Status ReadChunk(absl::Span<const int64_t> tokens, int64_t before);
  // As if only so many had been read.
  void Forget(int64_t length) { tokens_.resize(static_cast<size_t>(length)); }

  int64_t length() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t capacity() const { return memory_.capacity(); }
  const std::vector<int64_t>& tokens() const { return tokens_; }
  int64_t read_in_chunks() const { return read_in_chunks_; }        // of all tokens
  const api::RunStatistics& last_run() const { return last_run_; }  // of a single token
  // What is there of each state.
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
  std::unique_ptr<api::StepProgram> program_;
  std::unique_ptr<ChunkProgram> chunks_;
  CacheMemory memory_;
  std::vector<int64_t> tokens_;
  int64_t read_in_chunks_ = 0;
  api::RunStatistics last_run_;
};

}  // namespace tartan::generate
