// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/decoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/generate/decoder_state.h"
#include "frontend/generate/last_scores.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {

absl::string_view Name(CacheKind kind) {
  switch (kind) {
    case CacheKind::kInPlace:
      return "in place";
    case CacheKind::kStates:
      return "states";
    case CacheKind::kHost:
      return "host";
    default:
      return "none";
  }
}

absl::Status DecoderState::Open() {
  if (options.states.empty()) options.states = api::UsualStatePairs(*model);
  TARTAN_ASSIGN_OR_RETURN(places, api::FindStates(*model, options.states));
  const api::FreeValues free = api::FreeOf(*model, places);
  TARTAN_ASSIGN_OR_RETURN(inputs, DecoderInputs::Find(free.inputs));
  TARTAN_ASSIGN_OR_RETURN(scores, FindScores(free.outputs));
  for (size_t o = 0; o < model->outputs().size(); ++o) {
    if (model->outputs()[o].name == free.outputs[scores].name) scores_output = o;
  }
  TARTAN_RETURN_IF_ERROR(CheckOpenLengths(*model, places));
  if (options.session.pool == nullptr) {
    options.session.pool = std::make_shared<evaluator::ResidentPool>();
  }
  api::SessionOptions of_prompts = options.session;
  of_prompts.max_signatures = 4;
  TARTAN_ASSIGN_OR_RETURN(session,
                          api::StateSession::Create(WithLastScores(model, scores_output), device,
                                                    options.states, std::move(of_prompts)));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> DecoderState::Run(absl::Span<const int64_t> now,
                                                     int64_t before) {
  const int64_t all = before + static_cast<int64_t>(now.size());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                          session->Run(inputs.Make(now, before, all), &(last_run = {})));
  return LastScores(outputs[scores]);
}

absl::StatusOr<std::vector<float>> DecoderState::ReadByStep(absl::Span<const int64_t> now) {
  const int64_t after = length + static_cast<int64_t>(now.size());
  if (after > step->capacity()) {
    TARTAN_RETURN_IF_ERROR(Grow(std::max(after, 2 * step->capacity())));
  }
  if (IsWorthChunks(now.size())) TARTAN_RETURN_IF_ERROR(RefreshChunks());
  TARTAN_ASSIGN_OR_RETURN(std::vector<float> result, step->Read(now));
  length = after;
  return result;
}

absl::StatusOr<std::vector<float>> DecoderState::ReadBySession(absl::Span<const int64_t> now) {
  std::vector<float> result;
  const size_t turn = inputs.is_single() ? 1 : now.size();
  for (size_t i = 0; i < now.size(); i += turn) {
    TARTAN_ASSIGN_OR_RETURN(result, Run(now.subspan(i, turn), length));
    length += static_cast<int64_t>(turn);
  }
  if (has_tried || !options.appends_in_place || session->stays()) return result;
  has_tried = true;
  const absl::Status status = TryInPlace(now, result);
  if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  why_not = std::string(status.message());
  return result;
}

absl::StatusOr<std::vector<float>> DecoderState::Read(absl::Span<const int64_t> now) {
  if (now.empty()) return absl::InvalidArgumentError("no tokens to read");
  if (places.empty()) {
    tokens.insert(tokens.end(), now.begin(), now.end());
    auto scored = Run(tokens, 0);
    if (!scored.ok()) tokens.resize(tokens.size() - now.size());
    TARTAN_RETURN_IF_ERROR(scored.status());
    length = static_cast<int64_t>(tokens.size());
    return scored;
  }
  if (step != nullptr) return ReadByStep(now);
  if (length == 0 && options.appends_in_place) {
    absl::StatusOr<std::optional<std::vector<float>>> scored = ReadFirstInPlace(now);
    if (!scored.ok() && !absl::IsUnimplemented(scored.status())) return scored.status();
    if (scored.ok() && scored->has_value()) {
      length = static_cast<int64_t>(now.size());
      return **std::move(scored);
    }
  }
  return ReadBySession(now);
}

Decoder::Decoder(std::unique_ptr<DecoderState> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device,
    DecoderOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Decoder>> {
    auto impl = std::make_unique<DecoderState>();
    impl->model = std::move(model);
    impl->device = std::move(device);
    impl->options = std::move(options);
    TARTAN_RETURN_IF_ERROR(impl->Open());
    return std::unique_ptr<Decoder>(new Decoder(std::move(impl)));
  });
}

absl::StatusOr<std::vector<float>> Decoder::Read(absl::Span<const int64_t> tokens) {
  return CatchOutOfMemory([&] { return impl_->Read(tokens); });
}

int64_t Decoder::length() const { return impl_->length; }
const api::RunStatistics& Decoder::last_run() const {
  return impl_->step == nullptr ? impl_->last_run : impl_->step->last_run();
}
CacheKind Decoder::kind() const {
  if (impl_->step != nullptr) return CacheKind::kInPlace;
  if (impl_->places.empty()) return CacheKind::kNone;
  return impl_->session->stays() ? CacheKind::kStates : CacheKind::kHost;
}
const std::string& Decoder::why_not_in_place() const { return impl_->why_not; }
int64_t Decoder::read_in_chunks() const {
  return impl_->in_chunks + (impl_->step == nullptr ? 0 : impl_->step->read_in_chunks());
}
int64_t Decoder::capacity() const { return impl_->step == nullptr ? 0 : impl_->step->capacity(); }
api::ProgramMemory Decoder::memory() const {
  return impl_->step == nullptr ? api::ProgramMemory() : impl_->step->memory();
}

absl::Status Decoder::WaitForExact() {
  return CatchOutOfMemory([&] {
    return impl_->step != nullptr ? impl_->step->MakeExact() : impl_->session->WaitForExact();
  });
}

}  // namespace tartan::generate
