// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/run_damaged.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/message_damage.h"
#include "tests/frontend/onnx/naive_resolver.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum elements of an input.
constexpr int64_t kMaxInputElements = 1 << 14;
constexpr NaiveLimits kLimits = {1 << 18, 1 << 22, 100, 50};

void StoreStrange(DataType type, int64_t i, Dice* dice, uint8_t* bytes) {
  constexpr double kReals[] = {0,
                               -0.0,
                               1,
                               -1,
                               0.5,
                               2,
                               1e-40,
                               1e30,
                               -1e30,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  if (type == DataType::kBool) {
    StoreElement(type, static_cast<int64_t>(dice->Below(2)), i, bytes);
  } else if (IsFloat(type)) {
    StoreElement(type, dice->Among(kReals), i, bytes);
  } else {
    StoreElement(type, dice->OddNumber(), i, bytes);
  }
}

absl::StatusOr<api::HostValue> MakeTensor(const api::TensorSpec& spec, Dice* dice) {
  constexpr const char* kWords[] = {"", "1", "-1.5e3", "a b", "\xc3\xa9", "\xff", "nan", "x,y,,z"};
  TensorShape shape{spec.type == DataType::kInvalid ? DataType::kFloat32 : spec.type, spec.dims};
  for (int64_t& dim : shape.dims) dim = dim < 0 ? static_cast<int64_t>(dice->Below(5)) : dim;
  if (!spec.has_rank) {
    for (size_t rank = dice->Below(5); rank > 0; --rank) {
      shape.dims.push_back(static_cast<int64_t>(dice->Below(4)));
    }
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  const int64_t count = shape.element_count();
  if (count > kMaxInputElements)
    return absl::ResourceExhaustedError("too many elements of an input to try");
  if (spec.element == api::Element::kString) {
    std::vector<std::string> words(static_cast<size_t>(count));
    for (std::string& word : words) word = dice->Among(kWords);
    return api::HostStrings(shape.dims, words);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  const bool is_strange = dice->OneIn(2);
  const int64_t span = dice->OneIn(2) ? 2 : 7;
  for (int64_t i = 0; i < count; ++i) {
    if (is_strange && dice->OneIn(4)) {
      StoreStrange(shape.type, i, dice, bytes.data());
    } else {
      StoreElement(shape.type, i % span, i, bytes.data());
    }
  }
  return api::HostValue(HostTensor(shape, bytes), spec.element);
}

absl::StatusOr<api::HostValue> MakeInput(const api::TensorSpec& spec, Dice* dice) {
  if (spec.map_keys || (spec.may_be_empty && dice->OneIn(2))) return api::HostValue();
  if (spec.sequence_depth == 0) return MakeTensor(spec, dice);
  api::TensorSpec inner = spec;
  inner.may_be_empty = false;
  --inner.sequence_depth;
  std::vector<api::HostValue> elements(dice->Below(4));
  for (api::HostValue& element : elements) {
    TARTAN_ASSIGN_OR_RETURN(element, MakeInput(inner, dice));
  }
  return api::HostValue::Sequence(std::move(elements));
}

}  // namespace

absl::Status RunDamaged(const OnnxModel& model, uint32_t seed) {
  Dice dice(seed);
  const bool is_known = dice.OneIn(2);
  std::vector<api::HostValue> values;
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), MakeInput(spec, &dice));
    bindings.emplace_back();
    bindings.back().given = !spec.is_optional;
    bindings.back().shape = values.back().tensor().shape();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const api::TensorSpec& spec = model.inputs()[i];
    const bool is_plain = spec.is_tensor() && spec.element == api::Element::kPlain;
    if (bindings[i].given && (is_known || !is_plain)) bindings[i].value = &values[i];
  }
  return BindAndEvaluate(model, values, std::move(bindings), kLimits).status();
}

uint32_t SeedOf(absl::string_view bytes) {
  uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  return hash;
}

absl::Status LoadAndRun(absl::string_view bytes) {
  TARTAN_ASSIGN_OR_RETURN(
      const std::shared_ptr<const OnnxModel> model,
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m"));
  return RunDamaged(*model, SeedOf(bytes));
}

}  // namespace tartan::onnx
