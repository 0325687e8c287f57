// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/recurrent_step.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "frontend/api/loop.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Sequences of up to this many steps become one program (empirical).
constexpr int64_t kMaxJoinedSteps = 4;

constexpr ActivationForm kActivations[] = {
    {"Affine", "($a * $x + $b)", 1, 0, true, true},
    {"Elu", "($x >= 0 ? $x : $a * expm1($x))", 1, 0, true, false},
    {"HardSigmoid", "max(0, min(1, $a * $x + $b))", 0.2f, 0.5f, true, true},
    {"LeakyRelu", "($x >= 0 ? $x : $a * $x)", 0.01f, 0, true, false},
    {"Relu", "max($x, 0)"},
    {"ScaledTanh", "($a * tanh($b * $x))", 1, 1, true, true},
    {"Sigmoid", "sigmoid($x)"},
    {"Softplus", "(max($x, 0) + log1p(exp(-abs($x))))"},
    {"Softsign", "($x / (1 + abs($x)))"},
    {"Tanh", "tanh($x)"},
    {"ThresholdedRelu", "($x > $a ? $x : 0)", 1, 0, true, false},
};

// The number of gates whose matmul reads only the hidden state.
int64_t StateMatMulGates(const RecurrentStep& step) {
  return step.cell == Cell::kGru && !step.linear_before_reset ? 2 : step.gates();
}

// Writes the statements of a step; every value is [batch, hidden] unless stated otherwise.
class StepWriter {
 public:
  // If `given_state_matmuls` is true, the matmuls of the state H with the weights of
  // StateMatMulGates are operands of the step, and the projection includes the biases. The
  // gradients of weights are then single matmuls over all steps, and the gradients of biases single
  // sums.
  StepWriter(const RecurrentStep& step, int64_t batch, bool given_state_matmuls)
      : step_(step), batch_(batch), given_state_matmuls_(given_state_matmuls) {}

  // The step's Tile function.
  // - Operands: X (a row of the projection), Q (the state matmuls), H, C (LSTM), T (the iteration,
  //   for lengths), R, B, P, LENGTHS.
  // - Results: HN, CN and Y, which is HN or 0.
  std::string Write() {
    switch (step_.cell) {
      case Cell::kRnn:
        WriteRnn();
        break;
      case Cell::kGru:
        WriteGru();
        break;
      case Cell::kLstm:
        WriteLstm();
        break;
    }
    FinishStates();
    return TileFunction(Inputs(), step_.states() == 2 ? "Y, HN, CN" : "Y, HN", statements_);
  }

 private:
  std::string Inputs() const {
    return absl::StrCat("X, ", given_state_matmuls_ ? "Q, " : "", "H",
                        step_.states() == 2 ? ", C" : "", step_.has_lengths ? ", T" : "", ", R, B",
                        step_.has_peepholes ? ", P" : "", step_.has_lengths ? ", LENGTHS" : "");
  }

  void Add(const std::string& statement) { statements_.push_back(statement); }

  // Columns of gate `gate` of a row [batch, gates * hidden].
  void Columns(const std::string& name, const std::string& from, int64_t gate) {
    Add(absl::StrCat(onnx::Write(name, {"b", "h"}, {batch_, step_.hidden}), " = =(", from,
                     "[b, h + ", gate * step_.hidden, "])"));
  }
  // Part `part` of a vector of parts of the hidden size.
  void Part(const std::string& name, const std::string& from, int64_t part) {
    Add(absl::StrCat(onnx::Write(name, {"h"}, {step_.hidden}), " = =(", from, "[h + ",
                     part * step_.hidden, "])"));
  }
  // The matmul of `state` with the recurrent weights of a gate.
  void StateMatMul(const std::string& name, const std::string& state, int64_t gate) {
    if (given_state_matmuls_ && gate < StateMatMulGates(step_)) {
      Columns(name, "Q", gate);
      return;
    }
    Add(absl::StrCat(onnx::Write(name, {"b", "h"}, {batch_, step_.hidden}), " = +(", state,
                     "[b, k] * R[h + ", gate * step_.hidden, ", k])"));
  }
  void Activate(const std::string& name, const std::string& value, size_t activation) {
    std::string clipped = value;
    if (step_.clip.has_value()) {
      const double bound = *step_.clip;
      clipped = absl::StrCat("max(", Literal(-bound), ", min(", Literal(bound), ", ", value, "))");
    }
    Add(absl::StrCat(name, "In = ", clipped));
    Add(absl::StrCat(name, " = ",
                     absl::StrReplaceAll(step_.activations[activation], {{"$x", name + "In"}})));
  }
  // If the projection and the state matmuls have the same columns, they are added first and share
  // one gradient.
  void AddStateMatMuls() {
    has_sum_ = given_state_matmuls_ && StateMatMulGates(step_) == step_.gates();
    if (has_sum_) Add("Z = X + Q");
  }
  // A gate without peepholes: projection, state matmul, both biases.
  void Gate(const std::string& name, int64_t gate, const std::string& state) {
    if (has_sum_) {
      Columns(name + "Sum", "Z", gate);
      return;
    }
    Columns(name + "X", "X", gate);
    StateMatMul(name + "H", state, gate);
    if (given_state_matmuls_) {
      Add(absl::StrCat(name, "Sum = ", name, "X + ", name, "H"));
      return;
    }
    Part(name + "W", "B", gate);
    Part(name + "R", "B", step_.gates() + gate);
    Add(absl::StrCat(name, "Sum = ", name, "X + ", name, "H + ", name, "W + ", name, "R"));
  }

  void WriteRnn() {
    AddStateMatMuls();
    Gate("N", 0, "H");
    Activate("HNew", "NSum", 0);
  }

  void WriteGru() {
    Gate("Z", 0, "H");
    Activate("ZGate", "ZSum", 0);
    Gate("S", 1, "H");
    Activate("SGate", "SSum", 0);
    if (step_.linear_before_reset) {
      Columns("NX", "X", 2);
      StateMatMul("NH", "H", 2);
      Part("NR", "B", 5);
      if (!given_state_matmuls_) Part("NW", "B", 2);
      Add(absl::StrCat("NSum = NX + SGate * (NH + NR)", given_state_matmuls_ ? "" : " + NW"));
    } else {
      Add("HReset = SGate * H");
      Gate("N", 2, "HReset");
    }
    Activate("NGate", "NSum", 1);
    Add("HNew = (1 - ZGate) * NGate + ZGate * H");
  }

  // Gates in the order input, output, forget, cell; peepholes input, output, forget.
  void WriteLstm() {
    std::string state = "H";
    if (step_.quantizes_state) {
      for (const std::string& statement : DynamicQuantizationStatements("H", 2)) Add(statement);
      const auto number = [](const char* name) { return Cast(name, DataType::kFloat32); };
      Add(absl::StrCat("ROUNDED = (", number("QUANTIZED"), " - ", number("ZERO"), ") * SCALE"));
      state = "ROUNDED";
    }
    AddStateMatMuls();
    for (int64_t gate = 0; gate < 4; ++gate) Gate(absl::StrCat("G", gate), gate, state);
    std::string peephole[3];
    for (int i = 0; step_.has_peepholes && i < 3; ++i) {
      Part(absl::StrCat("P", i), "P", i);
      peephole[i] = absl::StrCat(" + P", i, " * ", i == 1 ? "CNew" : "C");
    }
    Activate("IGate", absl::StrCat("G0Sum", peephole[0]), 0);
    if (step_.input_forget) {
      Add("FGate = 1 - IGate");
    } else {
      Activate("FGate", absl::StrCat("G2Sum", peephole[2]), 0);
    }
    Activate("NGate", "G3Sum", 1);
    Add("CNew = FGate * C + IGate * NGate");
    Activate("OGate", absl::StrCat("G1Sum", peephole[1]), 0);
    Add(absl::StrCat("HNew = OGate * ",
                     absl::StrReplaceAll(step_.activations[2], {{"$x", "CNew"}})));
  }

  void FinishStates() {
    if (!step_.has_lengths) {
      Add("HN = HNew");
      Add("Y = HNew");
      if (step_.states() == 2) Add("CN = CNew");
      return;
    }
    Add(absl::StrCat("L = ", ReshapeCall("LENGTHS", {batch_, 1})));
    Add("LIVES = T < L");
    Add("HN = LIVES ? HNew : H");
    Add("Y = LIVES ? HNew : 0");
    if (step_.states() == 2) Add("CN = LIVES ? CNew : C");
  }

  const RecurrentStep& step_;
  const int64_t batch_;
  const bool given_state_matmuls_;
  bool has_sum_ = false;  // Z, the sum of projection and state matmuls
  std::vector<std::string> statements_;
};

// The results of one step: its output, then its states. `operands` come before the states.
Outputs ApplyStep(const NodeContext& context, const RecurrentStep& step, const std::string& text,
                  std::vector<Tensor> operands, absl::Span<const Tensor> states,
                  const Tensor& iteration, absl::Span<const Tensor> weights) {
  operands.insert(operands.end(), states.begin(), states.end());
  if (step.has_lengths) operands.push_back(iteration);
  operands.insert(operands.end(), weights.begin(), weights.end());
  return context.Apply(text, operands);
}

// The projection plus the biases. The recurrent bias of a GRU's hidden gate is left out if the
// reset gate applies to it.
absl::StatusOr<Tensor> WithBiases(const NodeContext& context, const RecurrentStep& step,
                                  const StepOperands& operands) {
  const int64_t rows = step.gates() * step.hidden;
  const bool resets_later = step.cell == Cell::kGru && step.linear_before_reset;
  return context.ApplyOne(
      TileFunction("X, B", "Y",
                   {Write("W", {"g"}, {rows}) + " = =(B[g])",
                    absl::StrCat(Write("R", {"g"}, {rows}), " = =(B[g + ", rows, "])",
                                 resets_later ? absl::StrCat(", g < ", 2 * step.hidden) : ""),
                    "Y = X + (W + R)"}),
      {operands.projected, operands.weights[1]});
}

// The matmul of a state with the weights of StateMatMulGates.
absl::StatusOr<Tensor> StateMatMuls(const NodeContext& context, const RecurrentStep& step,
                                    const Tensor& state, const Tensor& weights) {
  const std::vector<int64_t> dims = {state.dims()[0], StateMatMulGates(step) * step.hidden};
  return context.ApplyOne(
      TileFunction("H, R", "Q", {Write("Q", {"b", "g"}, dims) + " = +(H[b, k] * R[g, k])"}),
      {state, weights});
}

Outputs JoinSteps(NodeContext& context, const RecurrentStep& step, const StepOperands& operands) {
  const std::vector<int64_t>& dims = operands.projected.dims();
  const bool given_state_matmuls = !step.quantizes_state;
  const std::string text = StepWriter(step, dims[1], given_state_matmuls).Write();
  Tensor projected = operands.projected;
  if (given_state_matmuls) {
    TARTAN_ASSIGN_OR_RETURN(projected, WithBiases(context, step, operands));
  }
  std::vector<Tensor> states = operands.states;
  std::vector<Tensor> rows;
  for (int64_t t = 0; t < dims[0]; ++t) {
    Window window = WholeOf(projected);
    window.start[0] = t;
    window.sizes[0] = 1;
    TARTAN_ASSIGN_OR_RETURN(const Tensor slice, SliceOf(context, projected, window));
    std::vector<Tensor> given;
    TARTAN_ASSIGN_OR_RETURN(given.emplace_back(), Reshape(context, slice, {dims[1], dims[2]}));
    if (given_state_matmuls) {
      TARTAN_ASSIGN_OR_RETURN(given.emplace_back(),
                              StateMatMuls(context, step, states[0], operands.weights[0]));
    }
    TARTAN_ASSIGN_OR_RETURN(
        const std::vector<Tensor> made,
        ApplyStep(context, step, text, std::move(given), states, ConstantInt(t), operands.weights));
    TARTAN_ASSIGN_OR_RETURN(rows.emplace_back(),
                            Reshape(context, made[0], {1, dims[1], step.hidden}));
    states.assign(made.begin() + 1, made.end());
  }
  if (rows.empty()) {
    rows.push_back(Tensor::Constant(
        HostTensor::Zeros(TensorShape{operands.projected.type(), {0, dims[1], step.hidden}})));
  }
  Tensor joined = rows[0];
  if (rows.size() > 1) {
    TARTAN_ASSIGN_OR_RETURN(joined, ConcatOf(context, rows, 0));
  }
  states.insert(states.begin(), joined);
  return states;
}

// The weights as the repeated body sees them: constants directly, others through placeholders.
std::vector<Tensor> AsBodySees(const std::vector<Tensor>& weights, api::RepeatBody* body,
                               std::vector<Tensor>* operands) {
  std::vector<Tensor> seen;
  for (const Tensor& weight : weights) {
    if (!weight.depends_on_placeholder()) {
      seen.push_back(weight);
      continue;
    }
    body->invariants.push_back(Tensor::Placeholder("weights", weight.shape()));
    seen.push_back(body->invariants.back());
    operands->push_back(weight);
  }
  return seen;
}

}  // namespace

std::string ActivationForm::Text() const {
  return absl::StrReplaceAll(text, {{"$a", Literal(static_cast<double>(alpha))},
                                    {"$b", Literal(static_cast<double>(beta))}});
}

absl::StatusOr<ActivationForm> FindActivation(const std::string& name) {
  for (const ActivationForm& form : kActivations) {
    if (absl::EqualsIgnoreCase(form.name, name)) return form;
  }
  return Invalid("unknown activation '", name, "'");
}

std::vector<std::string> DefaultActivations(Cell cell) {
  switch (cell) {
    case Cell::kRnn:
      return {"Tanh"};
    case Cell::kGru:
      return {"Sigmoid", "Tanh"};
    case Cell::kLstm:
      break;
  }
  return {"Sigmoid", "Tanh", "Tanh"};
}

Outputs RunSteps(NodeContext& context, const RecurrentStep& step, const StepOperands& operands) {
  const std::vector<int64_t>& dims = operands.projected.dims();
  const TrainingMode* const training = context.services().training();
  const bool is_joined = training != nullptr
                             ? dims[0] < api::kMinLoopIterations
                             : dims[0] <= kMaxJoinedSteps || !context.services().CanBreakGraph();
  if (is_joined) {
    return JoinSteps(context, step, operands);
  }
  const bool given_state_matmuls = !step.quantizes_state;
  const std::string text = StepWriter(step, dims[1], given_state_matmuls).Write();
  api::RepeatBody body;
  body.iterations = dims[0];
  Tensor projected = operands.projected;
  if (given_state_matmuls) {
    TARTAN_ASSIGN_OR_RETURN(projected, WithBiases(context, step, operands));
  }
  std::vector<Tensor> call_operands = operands.states;
  call_operands.push_back(projected);
  for (const Tensor& state : operands.states) {
    body.states.push_back(Tensor::Placeholder("state", state.shape()));
  }
  body.slices = {Tensor::Placeholder("row", TensorShape{projected.type(), {dims[1], dims[2]}})};
  if (step.has_lengths)
    body.iteration = Tensor::Placeholder("iteration", TensorShape{DataType::kInt64, {}});
  const std::vector<Tensor> weights = AsBodySees(operands.weights, &body, &call_operands);
  std::vector<Tensor> given = {body.slices[0]};
  if (given_state_matmuls) {
    TARTAN_ASSIGN_OR_RETURN(given.emplace_back(),
                            StateMatMuls(context, step, body.states[0], weights[0]));
  }
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> made,
      ApplyStep(context, step, text, std::move(given), body.states, body.iteration, weights));
  body.rows = {made[0]};
  body.next_states.assign(made.begin() + 1, made.end());
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> results,
      context.Run(std::move(call_operands), std::make_shared<api::RepeatCall>(std::move(body))));
  // RepeatCall returns states before rows; the operators return rows first.
  std::rotate(results.begin(), results.end() - 1, results.end());
  return results;
}

}  // namespace tartan::onnx
