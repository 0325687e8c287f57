// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/cache_step.h"

#include <algorithm>
#include <utility>

#include "frontend/api/programs/loaded_programs.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {

absl::StatusOr<std::unique_ptr<CacheStep>> CacheStep::Create(
    std::shared_ptr<const CacheModel> model, absl::Span<const HostTensor> values,
    absl::Span<const int64_t> tokens, int64_t capacity) {
  std::unique_ptr<CacheStep> made(new CacheStep(std::move(model)));
  const CacheModel& of = *made->model_;
  made->tokens_.assign(tokens.begin(), tokens.end());
  TARTAN_ASSIGN_OR_RETURN(
      made->memory_, CacheMemory::Create(*of.device, of.states, values, made->length(), capacity));
  TARTAN_ASSIGN_OR_RETURN(made->bound_, BindToCache(of, capacity, 1, /*has_scores=*/true));
  api::LoadedPrograms loaded(*of.device, of.session, /*completes_compilations=*/true);
  absl::StatusOr<std::unique_ptr<api::DeviceProgram>> program =
      api::DeviceProgram::Create(loaded, made->bound_.source);
  if (absl::IsInvalidArgument(program.status())) {
    return absl::UnimplementedError(program.status().message());
  }
  TARTAN_RETURN_IF_ERROR(program.status());
  made->program_ = *std::move(program);
  TARTAN_RETURN_IF_ERROR(made->program_->Bind(made->memory_.tensors()));
  return made;
}

absl::Status CacheStep::AddChunks(int64_t size, ChunkKernels kernels) {
  TARTAN_ASSIGN_OR_RETURN(chunks_, ChunkProgram::Create(*model_, memory_, size, kernels));
  return absl::OkStatus();
}

absl::Status CacheStep::ReadChunk(absl::Span<const int64_t> tokens, int64_t before) {
  TARTAN_RETURN_IF_ERROR(chunks_->Read(tokens, before));
  tokens_.resize(static_cast<size_t>(before));
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> CacheStep::ReadOne(int64_t token) {
  last_run_ = api::RunStatistics();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                          program_->Run(bound_.Feed(model_->inputs, {token}, length(), capacity()),
                                        &last_run_, nullptr));
  tokens_.push_back(token);
  return LastScores(outputs[0]);
}

absl::StatusOr<std::vector<float>> CacheStep::ReadAll(absl::Span<const int64_t> tokens) {
  size_t done = 0;
  while (has_chunks()) {
    const auto left = static_cast<int64_t>(tokens.size() - done) - 1;
    if (left < MinTokensForChunk(chunks_->size())) break;
    const int64_t count = std::min(left, chunks_->size());
    // An incomplete chunk begins with tokens read before. Their rows are overwritten with the same
    // values, and no other rows are.
    const int64_t again = std::min(length(), chunks_->size() - count);
    std::vector<int64_t> chunk(tokens_.end() - again, tokens_.end());
    chunk.insert(chunk.end(), tokens.begin() + done, tokens.begin() + done + count);
    const absl::Status status = ReadChunk(chunk, length() - again);
    // Reads one by one instead: the token is invalid, or the chunk alone exceeds the positions of
    // the model.
    if (absl::IsOutOfRange(status)) break;
    TARTAN_RETURN_IF_ERROR(status);
    read_in_chunks_ += count;
    done += static_cast<size_t>(count);
  }
  std::vector<float> scores;
  for (; done < tokens.size(); ++done) {
    TARTAN_ASSIGN_OR_RETURN(scores, ReadOne(tokens[done]));
  }
  return scores;
}

absl::StatusOr<std::vector<float>> CacheStep::Read(absl::Span<const int64_t> tokens) {
  const int64_t before = length();
  absl::StatusOr<std::vector<float>> scores = ReadAll(tokens);
  if (!scores.ok()) Forget(before);
  return scores;
}

}  // namespace tartan::generate
