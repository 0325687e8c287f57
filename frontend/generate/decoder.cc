// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/decoder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/generate/cache_step.h"
#include "frontend/generate/decoder_inputs.h"
#include "frontend/generate/last_scores.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

// Of the range of the scores: what two ways to the same numbers may differ by. In 16 bits a cache
// is rounded where the scores of a whole prompt were not.
double ToleranceOf(const std::vector<GrowingState>& states) {
  for (const GrowingState& state : states) {
    if (ByteWidth(state.value.type()) < 4) return 2e-2;
  }
  return 1e-3;
}

bool Agree(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  if (a.size() != b.size() || a.empty()) return false;
  double least = a[0];
  double most = a[0];
  for (const float score : a) {
    if (!std::isfinite(score)) continue;
    least = std::min<double>(least, score);
    most = std::max<double>(most, score);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= tolerance * (most - least))) return false;
  }
  return true;
}

// Whether the row that was appended last is that of the model's own cache.
absl::StatusOr<bool> Agree(const CacheStep& step, const std::vector<GrowingState>& states) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, step.Values());
  for (size_t s = 0; s < states.size(); ++s) {
    if (values[s].shape() != states[s].value.shape()) return false;
    const std::vector<double> a = LastRow(values[s], states[s].axis).ToDoubles();
    const std::vector<double> b = LastRow(states[s].value, states[s].axis).ToDoubles();
    if (!Agree({a.begin(), a.end()}, {b.begin(), b.end()}, ToleranceOf(states))) return false;
  }
  return true;
}

}  // namespace

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

struct Decoder::Impl {
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

  absl::Status Open();
  absl::StatusOr<std::vector<float>> Run(absl::Span<const int64_t> now, int64_t before);
  absl::StatusOr<std::vector<float>> Read(absl::Span<const int64_t> now);
  absl::StatusOr<std::vector<GrowingState>> Growing(int64_t rows) const;
  // After the first tokens, which gave the scores `wanted`.
  absl::Status TryInPlace(absl::Span<const int64_t> first, const std::vector<float>& wanted);
  absl::StatusOr<bool> AgreesAlone(absl::Span<const int64_t> first, int64_t least);
  absl::StatusOr<std::unique_ptr<CacheStep>> MakeStep(const std::vector<GrowingState>& states,
                                                      int64_t rows, int64_t least) const {
    return CacheStep::Create(*model, device, options.session, inputs, scores_output, states, rows,
                             CacheStep::FreeCapacity(*model, states, least));
  }
  absl::Status Grow();
};

absl::Status Decoder::Impl::Open() {
  if (options.states.empty()) options.states = api::UsualStatePairs(*model);
  TARTAN_ASSIGN_OR_RETURN(places, api::FindStates(*model, options.states));
  const api::FreeValues free = api::FreeOf(*model, places);
  TARTAN_ASSIGN_OR_RETURN(inputs, DecoderInputs::Find(free.inputs));
  TARTAN_ASSIGN_OR_RETURN(scores, FindScores(free.outputs));
  for (size_t o = 0; o < model->outputs().size(); ++o) {
    if (model->outputs()[o].name == free.outputs[scores].name) scores_output = o;
  }
  for (const api::StatePlaces& place : places) {
    const api::TensorSpec& past = model->inputs()[place.input];
    const api::TensorSpec& present = model->outputs()[place.output];
    for (size_t d = 0; d < std::min(past.dims.size(), present.dims.size()); ++d) {
      if (past.dims[d] < 0 || present.dims[d] < 0 || past.dims[d] == present.dims[d]) continue;
      return absl::UnimplementedError(
          absl::StrCat("the cache ", past.ToString(), " has a fixed length, and comes back as ",
                       present.ToString(), ": export the model with open lengths"));
    }
  }
  if (options.session.pool == nullptr) {
    options.session.pool = std::make_shared<evaluator::ResidentPool>();
  }
  api::SessionOptions of_prompts = options.session;
  of_prompts.exact_after_runs = 0;  // lengths of prompts do not come again
  of_prompts.max_signatures = 4;
  TARTAN_ASSIGN_OR_RETURN(session,
                          api::StateSession::Create(WithLastScores(model, scores_output), device,
                                                    options.states, std::move(of_prompts)));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> Decoder::Impl::Run(absl::Span<const int64_t> now,
                                                      int64_t before) {
  const int64_t all = before + static_cast<int64_t>(now.size());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                          session->Run(inputs.Make(now, before, all)));
  return LastScores(outputs[scores]);
}

absl::StatusOr<std::vector<GrowingState>> Decoder::Impl::Growing(int64_t rows) const {
  std::vector<GrowingState> states;
  for (const api::StatePlaces& place : places) {
    const api::TensorSpec& spec = model->inputs()[place.input];
    GrowingState state;
    state.place = place;
    TARTAN_ASSIGN_OR_RETURN(state.value, session->Get(spec.name));
    const std::vector<int64_t>& dims = state.value.shape().dims;
    const std::vector<int64_t> begun = session->FirstSizes(spec.name);
    int axes = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d >= begun.size() || begun[d] != 0) continue;
      state.axis = static_cast<int64_t>(d);
      ++axes;
    }
    if (axes != 1 || dims[static_cast<size_t>(state.axis)] != rows) {
      return absl::UnimplementedError(
          absl::StrCat("'", spec.name, "' does not grow by an element for each token"));
    }
    states.push_back(std::move(state));
  }
  return states;
}

// Activations that are quantised by the range of all tokens are others for a single one: what is
// compared are two readings of the last token alone, behind the same cache.
absl::StatusOr<bool> Decoder::Impl::AgreesAlone(absl::Span<const int64_t> first, int64_t least) {
  if (first.size() < 2 || inputs.is_single()) return false;
  const int64_t before = length - 1;
  session->Reset();
  TARTAN_RETURN_IF_ERROR(Run(first.subspan(0, first.size() - 1), 0).status());
  absl::StatusOr<std::vector<GrowingState>> grown = Growing(before);
  // Whatever comes of it, all tokens are read afterwards.
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> wanted,
                          Run(first.subspan(first.size() - 1), before));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<GrowingState> states, std::move(grown));
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<CacheStep> made, MakeStep(states, before, least));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> scored, made->Read(first.back()));
  if (!Agree(wanted, scored, ToleranceOf(states))) return false;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<GrowingState> now, Growing(length));
  return Agree(*made, now);
}

// The last token is read a second time, in place: a model that is not what it seems is found out by
// its scores.
absl::Status Decoder::Impl::TryInPlace(absl::Span<const int64_t> first,
                                       const std::vector<float>& wanted) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<GrowingState> states, Growing(length));
  constexpr int64_t kMost = 1024;  // more are not made before they are needed
  const int64_t least = std::max(length + 1, std::min(options.expected, kMost));
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<CacheStep> made, MakeStep(states, length - 1, least));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> scored, made->Read(first.back()));
  bool is_same = Agree(wanted, scored, ToleranceOf(states));
  if (is_same) {
    TARTAN_ASSIGN_OR_RETURN(is_same, Agree(*made, states));
  }
  if (!is_same) {
    TARTAN_ASSIGN_OR_RETURN(const bool agrees, AgreesAlone(first, least));
    if (!agrees) {
      return absl::UnimplementedError(
          "the scores are others in place: the model takes positions from its cache's length in a "
          "way that is not known, or sees what is not there yet");
    }
    // The prompt's own rows, not those of the last token alone.
    TARTAN_ASSIGN_OR_RETURN(made, MakeStep(states, length, least));
  }
  step = std::move(made);
  session = nullptr;
  return absl::OkStatus();
}

absl::Status Decoder::Impl::Grow() {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> values, step->Values());
  std::vector<GrowingState> states;
  for (size_t s = 0; s < places.size(); ++s)
    states.push_back({places[s], step->axis(s), values[s]});
  TARTAN_ASSIGN_OR_RETURN(step, MakeStep(states, step->length(), 2 * step->capacity()));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> Decoder::Impl::Read(absl::Span<const int64_t> now) {
  if (now.empty()) return absl::InvalidArgumentError("there are no tokens to read");
  std::vector<float> result;
  if (places.empty()) {
    tokens.insert(tokens.end(), now.begin(), now.end());
    auto scored = Run(tokens, 0);
    if (!scored.ok()) tokens.resize(tokens.size() - now.size());
    TARTAN_ASSIGN_OR_RETURN(result, std::move(scored));
    length = static_cast<int64_t>(tokens.size());
    return result;
  }
  const bool one_by_one = step != nullptr || inputs.is_single();
  const size_t turn = one_by_one ? 1 : now.size();
  for (size_t i = 0; i < now.size(); i += turn) {
    const absl::Span<const int64_t> part = now.subspan(i, turn);
    if (step != nullptr) {
      if (step->length() == step->capacity()) TARTAN_RETURN_IF_ERROR(Grow());
      TARTAN_ASSIGN_OR_RETURN(result, step->Read(part[0]));
    } else {
      TARTAN_ASSIGN_OR_RETURN(result, Run(part, length));
    }
    length += static_cast<int64_t>(part.size());
  }
  if (step == nullptr && !has_tried && options.appends_in_place && !session->stays()) {
    has_tried = true;
    const absl::Status status = TryInPlace(now, result);
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
    why_not = std::string(status.message());
  }
  return result;
}

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;

absl::StatusOr<std::unique_ptr<Decoder>> Decoder::Create(
    std::shared_ptr<const onnx::OnnxModel> model, std::shared_ptr<api::Device> device,
    DecoderOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Decoder>> {
    auto impl = std::make_unique<Impl>();
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

CacheKind Decoder::kind() const {
  if (impl_->step != nullptr) return CacheKind::kInPlace;
  if (impl_->places.empty()) return CacheKind::kNone;
  return impl_->session->stays() ? CacheKind::kStates : CacheKind::kHost;
}

const std::string& Decoder::why_not_in_place() const { return impl_->why_not; }
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
