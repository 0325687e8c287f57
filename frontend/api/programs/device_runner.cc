// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/programs/device_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/api/programs/loaded_programs.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/repetition.h"

namespace tartan::api {
namespace {

void Append(const std::vector<Tensor>& from, std::vector<Tensor>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

std::vector<Tensor> MadeBy(const RepeatBody& body) {
  std::vector<Tensor> made;
  if (body.condition.defined()) made.push_back(body.condition);
  Append(body.next_states, &made);
  Append(body.rows, &made);
  return made;
}

// The index of the call operand whose values are all that the iterations see of a body's
// placeholder. Returns -1 if there is no such operand, or if its later rows may never be read.
int64_t OperandOf(const Tensor& tensor, const RepeatBody& body) {
  const auto states = static_cast<int64_t>(body.states.size());
  const auto slice = std::find(body.slices.begin(), body.slices.end(), tensor);
  if (slice != body.slices.end()) {
    return body.condition.defined() ? -1 : states + (slice - body.slices.begin());
  }
  const auto same = std::find(body.invariants.begin(), body.invariants.end(), tensor);
  if (same == body.invariants.end()) return -1;
  return states + static_cast<int64_t>(body.slices.size()) + (same - body.invariants.begin());
}

// Returns true if the check holds for every possible iteration number.
bool HoldsForIterations(const CheckedTensor& checked, const RepeatBody& body) {
  const int64_t iterations = std::min(body.iterations, kMaxIterations);
  return checked.values == body.iteration && checked.check->bounds.size() == 1 &&
         checked.check->bounds[0].least <= 0 && iterations - 1 <= checked.check->bounds[0].greatest;
}

}  // namespace

absl::Status DeviceRunner::AddState(const std::vector<CheckedTensor>& checks, RepeatBody* body) {
  std::vector<Tensor> inputs(1);
  std::string header = "V";
  std::string statements;
  int64_t count = 0;
  std::vector<int64_t> offsets;
  for (const CheckedTensor& checked : checks) {
    TARTAN_ASSIGN_OR_RETURN(inputs.emplace_back(), StatusOf(checked));
    offsets.push_back(count);
    count += inputs.back().shape().element_count();
  }
  for (size_t k = 0; k < checks.size(); ++k) {
    absl::StrAppend(&header, ", S", k);
    absl::StrAppend(&statements, " C", k, "[i : ", count, "] = =(S", k, "[i - ", offsets[k], "])",
                    k == 0 ? "" : absl::StrCat(" default C", k - 1), ";");
  }
  inputs[0] = Tensor::Placeholder("checks", TensorShape{DataType::kUInt64, {count}});
  TARTAN_ASSIGN_OR_RETURN(const Tensor next,
                          Apply(absl::StrCat("function (", header, ") -> (N) {", statements,
                                             " N = max(V, C", checks.size() - 1, "); }"),
                                inputs, "checks"));
  body->states.push_back(inputs[0]);
  body->next_states.push_back(next);
  if (!body->condition.defined()) return absl::OkStatus();
  // An out-of-range value may be the one that should have ended the loop, so the condition includes
  // the check.
  TARTAN_ASSIGN_OR_RETURN(body->condition,
                          Apply("function (G, N) -> (H) { M[] = >(N[i]); H = G && M == 0; }",
                                {body->condition, next}, "condition"));
  return absl::OkStatus();
}

absl::StatusOr<DeviceRunner::Loaded> DeviceRunner::Compile(const RepeatBody& given,
                                                           RunStatistics* statistics) const {
  Loaded loaded;
  RepeatBody body = given;
  std::vector<CheckedTensor> made;  // computed by the iterations
  if (is_checked_) {
    for (const CheckedTensor& checked : ChecksOf(MadeBy(body))) {
      if (HoldsForIterations(checked, body)) continue;
      const int64_t operand = OperandOf(checked.values, body);
      if (operand >= 0) {
        loaded.operand_checks.push_back({checked.check, static_cast<size_t>(operand)});
        continue;
      }
      made.push_back(checked);
      loaded.state_checks.push_back(checked.check);
      loaded.statuses += static_cast<int64_t>(checked.check->bounds.size());
    }
  }
  if (!made.empty()) TARTAN_RETURN_IF_ERROR(AddState(made, &body));
  std::vector<Tensor> inputs;
  if (body.iteration.defined()) inputs.push_back(body.iteration);
  Append(body.states, &inputs);
  Append(body.slices, &inputs);
  Append(body.invariants, &inputs);
  std::vector<Tensor> outputs = MadeBy(body);
  // Returning them as outputs keeps their memory from being reused during an iteration.
  Append(body.states, &outputs);
  Append(body.invariants, &outputs);
  TARTAN_ASSIGN_OR_RETURN(loaded.program,
                          api::Load(programs_, inputs, outputs, "body", statistics,
                                    std::clamp<int64_t>(body.iterations, 1, kMaxIterations)));
  return loaded;
}

absl::StatusOr<const DeviceRunner::Loaded*> DeviceRunner::Load(const RepeatBody& body,
                                                               RunStatistics* statistics) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (loaded_ == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(Loaded loaded, Compile(body, statistics));
    loaded_ = std::make_unique<const Loaded>(std::move(loaded));
  }
  return loaded_.get();
}

// The runner passed to a call, which must not keep it or the statistics.
class DeviceRunner::OneRun final : public CallRunner {
 public:
  OneRun(DeviceRunner& runner, RunStatistics* statistics)
      : runner_(runner), statistics_(statistics) {}

  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override {
    return runner_.Repeat(body, operands, statistics_);
  }

 private:
  DeviceRunner& runner_;
  RunStatistics* const statistics_;
};

absl::StatusOr<std::vector<HostTensor>> DeviceRunner::Run(const Call& call,
                                                          absl::Span<const HostTensor> operands,
                                                          RunStatistics* statistics) {
  OneRun runner(*this, statistics);
  return call.Run(operands, runner);
}

absl::StatusOr<std::vector<HostTensor>> DeviceRunner::Repeat(const RepeatBody& body,
                                                             absl::Span<const HostTensor> operands,
                                                             RunStatistics* statistics) {
  if (body.iterations > kMaxIterations && !body.condition.defined())
    return TooManyIterations(kMaxIterations);
  TARTAN_ASSIGN_OR_RETURN(const Loaded* loaded, Load(body, statistics));
  for (const OperandCheck& operand : loaded->operand_checks) {
    if (body.iterations == 0) break;
    TARTAN_RETURN_IF_ERROR(CheckValues(*operand.check, operands[operand.operand]));
  }
  const size_t states = body.states.size();
  const bool has_statuses = !loaded->state_checks.empty();
  std::vector<HostTensor> values(operands.begin(), operands.end());
  if (has_statuses) {
    const TensorShape shape{DataType::kUInt64, {loaded->statuses}};
    values.insert(values.begin() + static_cast<int64_t>(states), HostTensor::Zeros(shape));
  }
  evaluator::RepetitionForm form;
  form.has_iteration = body.iteration.defined();
  form.has_condition = body.condition.defined();
  form.states = static_cast<int>(states) + (has_statuses ? 1 : 0);
  form.slices_in = static_cast<int>(body.slices.size());
  form.slices_out = static_cast<int>(body.rows.size());
  form.iterations = std::min(body.iterations, kMaxIterations);
  TARTAN_ASSIGN_OR_RETURN(
      evaluator::RepetitionResult result,
      CountShortage(evaluator::Repeat(*loaded->program->Use(statistics), form, values),
                    statistics));
  if (has_statuses) {
    const std::vector<uint64_t> numbers = StatusNumbers(result.tensors[states]);
    absl::Span<const uint64_t> rest = numbers;
    for (const std::shared_ptr<const Check>& check : loaded->state_checks) {
      TARTAN_RETURN_IF_ERROR(ReadStatus(*check, rest.first(check->bounds.size())));
      rest.remove_prefix(check->bounds.size());
    }
    result.tensors.erase(result.tensors.begin() + static_cast<int64_t>(states));
  }
  if (result.condition && body.iterations > form.iterations)
    return TooManyIterations(form.iterations);
  return std::move(result.tensors);
}

}  // namespace tartan::api
