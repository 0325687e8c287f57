#include "frontend/api/stage.h"

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// A value that decides what comes next does so as the type that the model gives it.
HostTensor InType(DataType type, const HostTensor& value) {
  if (value.type() == type) return value;
  std::vector<uint8_t> bytes(static_cast<size_t>(value.element_count() * ByteWidth(type)));
  for (int64_t i = 0; i < value.element_count(); ++i) {
    StoreElement(type, value.GetDouble(i), i, bytes.data());
  }
  return HostTensor({type, value.shape().dims}, bytes);
}

}  // namespace

Stage::~Stage() {
  // What the outermost of a thread's destructors has yet to release.
  thread_local StageList* releasing = nullptr;
  if (releasing != nullptr) {
    releasing->splice(releasing->end(), next);
    return;
  }
  releasing = &next;
  while (!next.empty()) {
    std::shared_ptr<Stage> stage = std::move(next.front().second);
    next.pop_front();
    stage.reset();
  }
  releasing = nullptr;
}

std::string Step::Key() const {
  std::string key;
  for (const HostTensor& result : results) {
    absl::StrAppend(&key, result.shape().ToString(), ";");
    if (is_call) continue;
    key.append(reinterpret_cast<const char*>(result.bytes().data()), result.bytes().size());
  }
  return key;
}

absl::Status RunStage(const Stage& stage, RunState* state, RunStatistics* statistics,
                      std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> fetched,
                          stage.fetch.Run(state->values, statistics, profile));
  Step step;
  step.kept.assign(fetched.begin() + static_cast<int64_t>(stage.operand_count), fetched.end());
  fetched.resize(stage.operand_count);
  if (stage.call == nullptr) {
    step.results = std::move(fetched);
  } else {
    step.is_call = true;
    TARTAN_ASSIGN_OR_RETURN(step.results, stage.runner->Run(*stage.call, fetched, statistics));
    state->values.insert(state->values.end(), step.results.begin(), step.results.end());
  }
  state->values.insert(state->values.end(), step.kept.begin(), step.kept.end());
  state->steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostValue>> RunLastStage(const Stage& stage, const RunState& state,
                                                    RunStatistics* statistics,
                                                    std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> fetched,
                          stage.fetch.Run(state.values, statistics, profile));
  absl::Span<const HostTensor> rest = fetched;
  std::vector<HostValue> outputs;
  for (const Value& output : stage.outputs) outputs.push_back(Replace(output, &rest));
  return outputs;
}

Answer StageRecorder::MakeAnswer(const Step& step, const Question& question,
                                 const std::string& name) {
  const auto placeholder = [&](const HostTensor& value, DataType type) {
    state_.placeholders.push_back(Tensor::Placeholder(name, {type, value.shape().dims}));
    return state_.placeholders.back();
  };
  Answer answer;
  for (size_t i = 0; i < step.results.size(); ++i) {
    const HostTensor& result = step.results[i];
    answer.results.push_back(step.is_call
                                 ? placeholder(result, ResultType(result.type(), question))
                                 : Tensor::Constant(InType(question.operands[i].type(), result)));
  }
  for (size_t i = 0; i < step.kept.size(); ++i) {
    answer.kept.push_back(placeholder(step.kept[i], question.kept[i].type()));
  }
  return answer;
}

// The type that a call's result has in the model: where the device computes in float64, that of the
// first float it was given.
DataType StageRecorder::ResultType(DataType actual, const Question& question) const {
  if (!device_.in_float64() || actual != DataType::kFloat64) return actual;
  for (const Tensor& operand : question.operands) {
    if (IsFloat(operand.type())) return operand.type();
  }
  return DataType::kFloat32;
}

void StageRecorder::Append(std::shared_ptr<Stage> stage) {
  if (first_made_ == nullptr) {
    first_made_ = stage;
  } else {
    last_->next.emplace_front(state_.steps.back().Key(), stage);
  }
  last_ = std::move(stage);
}

absl::StatusOr<Answer> StageRecorder::Ask(const Question& question) {
  const std::string name = question.name.empty() ? "value" : question.name;
  const size_t index = asked_++;
  if (index < known_) return MakeAnswer(state_.steps[index], question, name);
  auto stage = std::make_shared<Stage>();
  stage->operand_count = question.operands.size();
  stage->call = question.call;
  stage->runner = std::make_unique<DeviceRunner>(device_, is_checked_, &programs_);
  std::vector<Tensor> wanted = question.operands;
  wanted.insert(wanted.end(), question.kept.begin(), question.kept.end());
  TARTAN_ASSIGN_OR_RETURN(stage->fetch, Fetch::Make(device_, state_.placeholders, wanted, name_,
                                                    is_checked_, statistics_, &programs_));
  Append(stage);
  TARTAN_RETURN_IF_ERROR(RunStage(*stage, &state_, statistics_, nullptr));
  return MakeAnswer(state_.steps.back(), question, name);
}

absl::StatusOr<std::shared_ptr<Stage>> StageRecorder::Finish(std::vector<Value> outputs) {
  auto stage = std::make_shared<Stage>();
  stage->is_last = true;
  std::vector<Tensor> wanted;
  for (const Value& output : outputs) AppendTensors(output, &wanted);
  stage->outputs = std::move(outputs);
  TARTAN_ASSIGN_OR_RETURN(stage->fetch, Fetch::Make(device_, state_.placeholders, wanted, name_,
                                                    is_checked_, statistics_, &programs_));
  Append(std::move(stage));
  return first_made_;
}

}  // namespace tartan::api
