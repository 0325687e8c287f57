#include "tests/frontend/onnx/run_damaged.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/repeat.h"
#include "frontend/api/tensor_node.h"
#include "tests/frontend/onnx/message_damage.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Inputs beyond this are not made.
constexpr int64_t kMaxInputElements = 1 << 14;
// Index points of a contraction; fewer where there are many.
constexpr int64_t kMaxPoints = 1 << 18;
constexpr int64_t kMaxPointsInAll = 1 << 22;
constexpr int64_t kMaxTurns = 100;
constexpr int kMaxQuestions = 50;

absl::Status TooMuch(absl::string_view of) {
  return absl::ResourceExhaustedError(absl::StrCat("too many ", of, " to try"));
}

// What is computed for the outputs.
int64_t CountNodes(absl::Span<const api::Tensor> outputs) {
  std::unordered_set<const api::TensorNode*> seen;
  std::vector<api::Tensor> stack(outputs.begin(), outputs.end());
  while (!stack.empty()) {
    const api::Tensor next = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(next.node().get()).second) continue;
    for (const api::Tensor& input : api::InputsOf(*next.node())) stack.push_back(input);
  }
  return static_cast<int64_t>(seen.size());
}

// Bodies of loops by the definition, as far as they end soon.
class FewTurns final : public api::CallRunner {
 public:
  absl::StatusOr<std::vector<HostTensor>> Repeat(const api::RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override {
    if (body.turns > kMaxTurns) return TooMuch("turns");
    return api::NaiveRunner().Repeat(body, operands);
  }
};

// Evaluates what the importer asks for as soon as it does.
class NaiveResolver final : public api::Resolver {
 public:
  explicit NaiveResolver(absl::Span<const HostTensor> inputs)
      : inputs_(inputs.begin(), inputs.end()) {}

  void Begin(absl::Span<const api::Tensor> placeholders) override {
    for (size_t i = 0; i < placeholders.size(); ++i) {
      if (!placeholders[i].defined()) continue;
      placeholders_.push_back(placeholders[i]);
      values_.push_back(inputs_[i]);
    }
  }

  absl::StatusOr<api::Answer> Ask(const api::Question& question) override {
    if (++questions_ > kMaxQuestions) return TooMuch("questions");
    std::vector<api::Tensor> wanted = question.operands;
    wanted.insert(wanted.end(), question.kept.begin(), question.kept.end());
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> values, Evaluate(wanted));
    const auto first_kept = values.begin() + static_cast<int64_t>(question.operands.size());
    std::vector<HostTensor> results(values.begin(), first_kept);
    if (question.call != nullptr) {
      FewTurns runner;
      TARTAN_ASSIGN_OR_RETURN(results, question.call->Run(results, runner));
      // Positions of what is not zero have positions that are not zero: chains of them grow.
      for (const HostTensor& result : results) {
        if (result.element_count() > kMaxPoints) return TooMuch("elements");
      }
    }
    api::Answer answer;
    for (const HostTensor& result : results) {
      answer.results.push_back(question.call == nullptr ? api::Tensor::Constant(result)
                                                        : Known(question.name, result));
    }
    for (auto kept = first_kept; kept != values.end(); ++kept) {
      answer.kept.push_back(Known("kept", *kept));
    }
    return answer;
  }

  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const api::Tensor> tensors) const {
    const int64_t nodes = CountNodes(tensors);
    const int64_t points = std::min(kMaxPoints, kMaxPointsInAll / std::max<int64_t>(nodes, 1));
    return api::EvaluateByDefinition(placeholders_, values_, tensors, points);
  }

 private:
  api::Tensor Known(const std::string& name, const HostTensor& value) {
    placeholders_.push_back(api::Tensor::Placeholder(name, value.shape()));
    values_.push_back(value);
    return placeholders_.back();
  }

  const std::vector<HostTensor> inputs_;  // by the model's inputs
  std::vector<api::Tensor> placeholders_;
  std::vector<HostTensor> values_;  // of each placeholder
  int questions_ = 0;
};

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
  if (count > kMaxInputElements) return TooMuch("elements of an input");
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

// Binds until no value is asked for that is an input's.
absl::StatusOr<api::BoundGraph> Bind(const OnnxModel& model,
                                     const std::vector<api::HostValue>& values,
                                     std::vector<api::InputBinding>* bindings,
                                     NaiveResolver* resolver) {
  TARTAN_ASSIGN_OR_RETURN(api::BoundGraph bound, model.Bind(*bindings, resolver));
  for (int input : bound.needed_values) {
    const size_t i = static_cast<size_t>(input);
    if ((*bindings)[i].value != nullptr) return absl::InternalError("a value is asked for again");
    (*bindings)[i].value = &values[i];
  }
  return bound;
}

}  // namespace

absl::Status RunDamaged(const OnnxModel& model, uint32_t seed) {
  Dice dice(seed);
  const bool is_known = dice.OneIn(2);
  std::vector<api::HostValue> values;
  std::vector<HostTensor> tensors;
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), MakeInput(spec, &dice));
    tensors.push_back(values.back().tensor());
    bindings.emplace_back();
    bindings.back().given = !spec.is_optional;
    bindings.back().shape = tensors.back().shape();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const api::TensorSpec& spec = model.inputs()[i];
    const bool is_plain = spec.is_tensor() && spec.element == api::Element::kPlain;
    if (bindings[i].given && (is_known || !is_plain)) bindings[i].value = &values[i];
  }
  while (true) {
    NaiveResolver resolver(tensors);
    TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, Bind(model, values, &bindings, &resolver));
    if (!bound.needed_values.empty()) continue;
    std::vector<api::Tensor> outputs;
    for (const api::Value& output : bound.outputs) api::AppendTensors(output, &outputs);
    return resolver.Evaluate(outputs).status();
  }
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
