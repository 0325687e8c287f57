#include "frontend/api/device_runner.h"

#include <algorithm>
#include <utility>

#include "frontend/api/load.h"
#include "tile/base/status_macros.h"
#include "tile/evaluator/repetition.h"

namespace tartan::api {
namespace {

void Append(const std::vector<Tensor>& from, std::vector<Tensor>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> DeviceRunner::Program(
    const RepeatBody& body) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (program_ != nullptr) return program_;
  std::vector<Tensor> inputs;
  if (body.turn.defined()) inputs.push_back(body.turn);
  std::vector<Tensor> outputs;
  if (body.goes_on.defined()) outputs.push_back(body.goes_on);
  Append(body.states, &inputs);
  Append(body.slices, &inputs);
  Append(body.invariants, &inputs);
  Append(body.next_states, &outputs);
  Append(body.rows, &outputs);
  // Handed out again, so that their memory serves for nothing else during a turn.
  Append(body.states, &outputs);
  Append(body.invariants, &outputs);
  RunStatistics ignored;
  TARTAN_ASSIGN_OR_RETURN(program_, Load(device_, inputs, outputs, "body",
                                         statistics_ != nullptr ? statistics_ : &ignored));
  statistics_ = nullptr;
  return program_;
}

absl::StatusOr<std::vector<HostTensor>> DeviceRunner::Repeat(
    const RepeatBody& body, absl::Span<const HostTensor> operands) {
  if (body.turns > kMaxTurns && !body.goes_on.defined()) return TooManyTurns(kMaxTurns);
  TARTAN_ASSIGN_OR_RETURN(const std::shared_ptr<evaluator::LoadedProgram> program, Program(body));
  evaluator::RepetitionForm form;
  form.has_turn = body.turn.defined();
  form.has_condition = body.goes_on.defined();
  form.states = static_cast<int>(body.states.size());
  form.slices_in = static_cast<int>(body.slices.size());
  form.slices_out = static_cast<int>(body.rows.size());
  form.turns = std::min(body.turns, kMaxTurns);
  TARTAN_ASSIGN_OR_RETURN(evaluator::RepetitionResult result,
                          evaluator::Repeat(*program, form, operands));
  if (result.goes_on && body.turns > form.turns) return TooManyTurns(form.turns);
  return std::move(result.tensors);
}

}  // namespace tartan::api
