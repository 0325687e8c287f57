// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/generate/agreement.h"
#include "frontend/generate/decoder_state.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

// Maximum and minimum number of prompt tokens for comparing the model with itself in chunks.
constexpr size_t kMaxCompared = 24;
constexpr size_t kMinCompared = 6;

}  // namespace

absl::Status DecoderState::FindCache(absl::Span<const int64_t> first) {
  auto made = std::make_shared<CacheModel>();
  made->model = model;
  made->device = device;
  made->session = options.session;
  made->inputs = inputs;
  made->scores_output = scores_output;
  const auto count = static_cast<int64_t>(first.size());
  TARTAN_ASSIGN_OR_RETURN(made->states, FindGrowing(*model, places, inputs.Make(first, 0, count)));
  cache = std::move(made);
  if (IsWorthChunks(first.size())) notes.emplace(cache, options.chunk);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> DecoderState::Rows(int64_t rows) const {
  std::vector<HostTensor> values;
  for (const GrowingState& state : cache->states) {
    const std::string& name = model->inputs()[state.place.input].name;
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), session->Get(name));
    if (values.back().shape() == state.WithRows(rows)) continue;
    return absl::UnimplementedError(
        absl::StrCat("'", name, "' does not grow by an element for each token"));
  }
  return values;
}

int64_t DecoderState::CapacityFor(int64_t tokens) const {
  constexpr int64_t kMost = 1024;  // maximum initial capacity
  const int64_t least = std::max(tokens + 1, std::min(options.expected, kMost));
  return CacheMemory::FreeCapacity(*model, cache->states, least);
}

// Compares two readings of only the last token after the same cache. It is for models that quantise
// activations by the range of all tokens: these differ for a single token.
absl::StatusOr<bool> DecoderState::AgreesForLastToken(absl::Span<const int64_t> first,
                                                      int64_t capacity) {
  if (first.size() < 2 || inputs.is_single()) return false;
  const int64_t before = length - 1;
  const absl::Span<const int64_t> all_but_last = first.subspan(0, first.size() - 1);
  session->Reset();
  TARTAN_RETURN_IF_ERROR(Run(all_but_last, 0).status());
  absl::StatusOr<std::vector<HostTensor>> grown = Rows(before);
  // Reads all tokens in any case, so that the session's state is complete.
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> wanted,
                          Run(first.subspan(first.size() - 1), before));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, std::move(grown));
  TARTAN_ASSIGN_OR_RETURN(const auto made,
                          CacheStep::Create(cache, values, all_but_last, capacity));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> scored, made->Read({first.back()}));
  if (!Agree(wanted, scored, ToleranceOf(cache->states))) return false;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> now, Rows(length));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made_now, made->Values());
  return RowsAgree(cache->states, made_now, now, before);
}

// Repeats the comparison in strict float32. If matmuls round their factors, two correct readings
// may differ by more than any tolerance that detects a wrong one. In-place correctness does not
// depend on rounding.
absl::StatusOr<bool> DecoderState::AgreesInFloat32(absl::Span<const int64_t> first) const {
  if (device->precision() == Precision::kFloat32) return false;
  DecoderState strict;
  strict.model = model;
  strict.device = device->WithPrecision(Precision::kFloat32);
  strict.options = options;
  strict.options.session.pool = nullptr;
  strict.options.session.tier = api::Tier::kReady;
  strict.options.chunk = 0;
  TARTAN_RETURN_IF_ERROR(strict.Open());
  TARTAN_RETURN_IF_ERROR(strict.Read(first.subspan(0, kMaxCompared)).status());
  return strict.step != nullptr;
}

// Verifies in-place appending: reads the last token a second time, in place, and compares scores
// and cache rows.
absl::Status DecoderState::TryInPlace(absl::Span<const int64_t> first,
                                      const std::vector<float>& wanted) {
  if (cache == nullptr) TARTAN_RETURN_IF_ERROR(FindCache(first));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, Rows(length));
  const int64_t capacity = CapacityFor(length);
  TARTAN_ASSIGN_OR_RETURN(
      std::unique_ptr<CacheStep> made,
      CacheStep::Create(cache, values, first.subspan(0, first.size() - 1), capacity));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> scored, made->Read({first.back()}));
  bool is_same = Agree(wanted, scored, ToleranceOf(cache->states));
  if (is_same) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made_now, made->Values());
    is_same = RowsAgree(cache->states, made_now, values, length - 1);
  }
  if (!is_same) {
    TARTAN_ASSIGN_OR_RETURN(bool agrees, AgreesForLastToken(first, capacity));
    if (!agrees) {
      TARTAN_ASSIGN_OR_RETURN(agrees, AgreesInFloat32(first));
    }
    if (!agrees) {
      return absl::UnimplementedError(
          "the scores differ when the cache is updated in place: the model derives positions from "
          "the length of its cache in an unknown way, or reads rows that are not filled yet");
    }
    // Keeps the rows of the whole prompt, because the rows of the last token alone differ.
    TARTAN_ASSIGN_OR_RETURN(made, CacheStep::Create(cache, values, first, capacity));
  }
  step = std::move(made);
  session = nullptr;
  CompileChunksLater();
  return absl::OkStatus();
}

absl::Status DecoderState::Grow(int64_t least) {
  in_chunks += step->read_in_chunks();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, step->Values());
  const int64_t capacity = CacheMemory::FreeCapacity(*model, cache->states, least);
  TARTAN_ASSIGN_OR_RETURN(step, CacheStep::Create(cache, values, step->tokens(), capacity));
  return absl::OkStatus();
}

// The model itself reads the first tokens at once. Its programs are released, because those in
// place repack weights in their own way.
absl::StatusOr<DecoderState::Reading> DecoderState::ReadSome(absl::Span<const int64_t> first) {
  const absl::Span<const int64_t> some = first.subspan(0, kMaxCompared);
  session->Reset();
  absl::StatusOr<std::vector<float>> wanted = Run(some, 0);
  absl::StatusOr<std::vector<HostTensor>> values = Rows(static_cast<int64_t>(some.size()));
  session->Reset();
  session->ReleasePrograms();
  TARTAN_RETURN_IF_ERROR(wanted.status());
  TARTAN_RETURN_IF_ERROR(values.status());
  return Reading{*std::move(wanted), *std::move(values)};
}

// Verifies chunks against the model itself. Chunks read the same tokens in two parts, after an
// empty cache and after the first part; the last token is read alone.
absl::StatusOr<bool> DecoderState::ChunksAgree(absl::Span<const int64_t> first,
                                               const Reading& wanted, CacheStep* made) const {
  const absl::Span<const int64_t> some = first.subspan(0, kMaxCompared);
  const size_t half = some.size() / 2;
  const absl::Span<const int64_t> second = some.subspan(half, some.size() - 1 - half);
  absl::Status read = made->ReadChunk(some.subspan(0, half), 0);
  if (read.ok()) read = made->ReadChunk(second, made->length());
  // The tokens are valid, so a chunk has more positions than the model.
  if (absl::IsOutOfRange(read)) return false;
  TARTAN_RETURN_IF_ERROR(read);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> scored, made->Read({some.back()}));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made_now, made->Values());
  made->Forget(0);
  return Agree(wanted.scores, scored, ToleranceOf(cache->states)) &&
         RowsAgree(cache->states, made_now, wanted.rows, 0);
}

bool DecoderState::MayBeginInPlace(Known known, size_t tokens, int64_t capacity) const {
  // There must be room for the first part, followed by a whole chunk.
  if (capacity < options.chunk + static_cast<int64_t>(kMaxCompared / 2)) return false;
  if (known == Known::kRight) return options.session.tier != api::Tier::kReady || waits();
  if (known == Known::kWrong || tokens < kMinCompared) return false;
  return waits() || (known == Known::kCompiled && options.session.tier == api::Tier::kAuto);
}

absl::StatusOr<std::optional<std::vector<float>>> DecoderState::ReadFirstInPlace(
    absl::Span<const int64_t> first) {
  TARTAN_RETURN_IF_ERROR(FindCache(first));
  if (!notes) return std::nullopt;
  const auto count = static_cast<int64_t>(first.size());
  const int64_t capacity = CapacityFor(count);
  const Known known = notes->Get(capacity);
  if (!MayBeginInPlace(known, first.size(), capacity)) return std::nullopt;
  Reading wanted;
  if (known != Known::kRight) {
    TARTAN_ASSIGN_OR_RETURN(wanted, ReadSome(first));
  }
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<CacheStep> made,
                          CacheStep::Create(cache, {}, {}, capacity));
  const absl::Status added =
      made->AddChunks(options.chunk, waits() ? ChunkKernels::kAny : ChunkKernels::kOnDisk);
  if (absl::IsNotFound(added) || absl::IsUnimplemented(added)) {
    notes->Set(capacity, absl::IsNotFound(added) ? Known::kNothing : Known::kWrong);
    return std::nullopt;
  }
  TARTAN_RETURN_IF_ERROR(added);
  if (known != Known::kRight) {
    TARTAN_ASSIGN_OR_RETURN(const bool agrees, ChunksAgree(first, wanted, made.get()));
    notes->Set(capacity, agrees ? Known::kRight : Known::kWrong);
    if (!agrees) return std::nullopt;
  }
  TARTAN_ASSIGN_OR_RETURN(std::vector<float> result, made->Read(first));
  has_tried = true;
  chunks_are_right = true;
  capacity_of_chunks = capacity;
  step = std::move(made);
  session = nullptr;
  return result;
}

absl::Status DecoderState::RefreshChunks() {
  if (!chunks_are_right || capacity_of_chunks == step->capacity()) return absl::OkStatus();
  capacity_of_chunks = step->capacity();
  const bool is_there = notes->Get(step->capacity()) != Known::kNothing;
  absl::Status added = absl::NotFoundError("the programs for chunks are not compiled");
  if (waits() || is_there) {
    added = step->AddChunks(options.chunk, waits() ? ChunkKernels::kAny : ChunkKernels::kOnDisk);
  }
  if (!absl::IsNotFound(added)) return added;
  CompileChunksLater();
  return absl::OkStatus();
}

void DecoderState::CompileChunksLater() {
  if (!notes || options.session.tier != api::Tier::kAuto || options.session.exact_after_runs == 0) {
    return;
  }
  const int64_t capacity = step->capacity();
  if (notes->Get(capacity) != Known::kNothing) return;
  ChunkProgram::CompileLater(cache, capacity, options.chunk,
                             [notes = *notes, capacity] { notes.Set(capacity, Known::kCompiled); });
}

}  // namespace tartan::generate
