// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/decoder_inputs.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::generate {
namespace {

std::string ListOf(const std::vector<api::TensorSpec>& specs) {
  return absl::StrJoin(specs, ", ", [](std::string* out, const api::TensorSpec& spec) {
    absl::StrAppend(out, spec.ToString());
  });
}

// A tensor whose element i is value(i).
template <class Element>
HostTensor TensorOf(DataType type, std::vector<int64_t> dims, int64_t count, Element value) {
  const int64_t width = ByteWidth(type);
  std::vector<uint8_t> bytes(static_cast<size_t>(count * width));
  for (int64_t i = 0; i < count; ++i) StoreElement(type, value(i), i, bytes.data());
  return HostTensor({type, std::move(dims)}, bytes);
}

}  // namespace

absl::StatusOr<DecoderInputs> DecoderInputs::Find(const std::vector<api::TensorSpec>& free) {
  static const auto* const roles =
      new std::map<std::string, Role>{{"input_ids", Role::kTokens},
                                      {"decoder_input_ids", Role::kTokens},
                                      {"tokens", Role::kTokens},
                                      {"ids", Role::kTokens},
                                      {"idx", Role::kTokens},
                                      {"input", Role::kTokens},
                                      {"input1", Role::kTokens},
                                      {"attention_mask", Role::kMask},
                                      {"position_ids", Role::kPositions},
                                      {"cache_position", Role::kPositions},
                                      {"token_type_ids", Role::kTypes},
                                      {"use_cache_branch", Role::kHasCache},
                                      {"num_logits_to_keep", Role::kWantedScores},
                                      {"logits_to_keep", Role::kWantedScores}};
  DecoderInputs made;
  int tokens = 0;
  for (const api::TensorSpec& spec : free) {
    if (spec.is_optional) continue;
    const auto role = roles->find(spec.name);
    const bool fits = role != roles->end() && spec.is_tensor() && spec.has_rank &&
                      spec.element == api::Element::kPlain && spec.type != DataType::kInvalid;
    if (!fits) {
      return absl::UnimplementedError(absl::StrCat(
          "the input ", spec.ToString(),
          " is not supported: it is neither an input of a decoder (input_ids, attention_mask, "
          "position_ids, cache_position, token_type_ids, use_cache_branch, num_logits_to_keep) nor "
          "a state that --state names; the inputs are ",
          ListOf(free)));
    }
    const size_t rank = spec.dims.size();
    if (role->second == Role::kTokens) {
      ++tokens;
      made.is_single_ = rank > 0 && spec.dims.back() == 1;
    }
    const bool is_row = rank == 1 || (rank == 2 && (spec.dims[0] < 0 || spec.dims[0] == 1));
    if (role->second != Role::kWantedScores && !is_row) {
      return absl::UnimplementedError(
          absl::StrCat("the input ", spec.ToString(), " does not have a single sequence"));
    }
    made.inputs_.push_back({role->second, spec});
  }
  if (tokens == 1) return made;
  return absl::InvalidArgumentError(absl::StrCat(
      "a decoder must have one input of tokens, such as input_ids, but this model has ", tokens,
      "; its inputs are ", ListOf(free)));
}

std::map<std::string, HostTensor> DecoderInputs::Make(absl::Span<const int64_t> now, int64_t before,
                                                      int64_t room) const {
  const auto count = static_cast<int64_t>(now.size());
  std::map<std::string, HostTensor> values;
  for (const Input& input : inputs_) {
    const api::TensorSpec& spec = input.spec;
    const auto row = [&](int64_t size, auto value) {
      std::vector<int64_t> dims(spec.dims.size(), 1);
      dims.back() = size;
      return TensorOf(spec.type, std::move(dims), size, value);
    };
    HostTensor& value = values[spec.name];
    switch (input.role) {
      case Role::kTokens:
        value = row(count, [&](int64_t i) { return now[static_cast<size_t>(i)]; });
        break;
      case Role::kMask:
        value = row(room, [&](int64_t i) -> int64_t { return i < before + count ? 1 : 0; });
        break;
      case Role::kPositions:
        value = row(count, [&](int64_t i) { return before + i; });
        break;
      case Role::kTypes:
        value = row(count, [](int64_t) -> int64_t { return 0; });
        break;
      case Role::kHasCache:
        value = row(1, [&](int64_t) -> int64_t { return before > 0 ? 1 : 0; });
        break;
      case Role::kWantedScores:
        value = TensorOf(spec.type, std::vector<int64_t>(spec.dims.size(), 1), 1,
                         [](int64_t) -> int64_t { return 1; });
        break;
    }
  }
  return values;
}

absl::StatusOr<size_t> FindScores(const std::vector<api::TensorSpec>& free) {
  std::optional<size_t> found;
  for (size_t o = 0; o < free.size(); ++o) {
    const api::TensorSpec& spec = free[o];
    const bool fits = spec.is_tensor() && spec.element == api::Element::kPlain &&
                      (IsFloat(spec.type) || spec.type == DataType::kInvalid);
    if (fits && spec.name == "logits") return o;
    if (fits && !found) found = o;
  }
  if (found) return *found;
  return absl::InvalidArgumentError(
      absl::StrCat("the model has no output of scores, such as logits; it has ", ListOf(free)));
}

std::vector<float> LastScores(const HostTensor& scores) {
  const TensorShape& shape = scores.shape();
  if (shape.dims.empty() || shape.element_count() == 0) return {};
  const int64_t size = shape.dims.back();
  const int64_t bytes = size * ByteWidth(shape.type);
  const HostTensor last({shape.type, {size}},
                        scores.bytes().subspan(scores.bytes().size() - static_cast<size_t>(bytes)));
  const std::vector<double> values = last.ToDoubles();
  return {values.begin(), values.end()};
}

}  // namespace tartan::generate
