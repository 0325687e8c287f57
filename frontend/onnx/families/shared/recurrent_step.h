// SPDX-License-Identifier: Apache-2.0
// One step of a recurrent network as Tile text, and its repetition over a sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

enum class Cell : uint8_t { kRnn, kGru, kLstm };

// An activation of the recurrent operators, found by its case-insensitive name.
struct ActivationForm {
  const char* name = nullptr;
  const char* text = nullptr;  // in terms of $x, $a and $b
  float alpha = 0;
  float beta = 0;
  bool has_alpha = false;
  bool has_beta = false;

  std::string Text() const;  // in terms of $x, with alpha and beta filled in
};
absl::StatusOr<ActivationForm> FindActivation(const std::string& name);
std::vector<std::string> DefaultActivations(Cell cell);

struct RecurrentStep {
  Cell cell = Cell::kRnn;
  int64_t hidden = 0;
  std::vector<std::string> activations;  // texts in terms of $x: f, g, h in the cell's order
  std::optional<float> clip;             // limit of the magnitude of an activation's argument
  bool linear_before_reset = false;      // GRU
  bool input_forget = false;             // LSTM
  bool has_peepholes = false;            // LSTM
  bool has_lengths = false;
  bool quantizes_state = false;  // the hidden state is rounded to 8 bits before its matmuls

  int64_t gates() const { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }
  int states() const { return cell == Cell::kLstm ? 2 : 1; }
};

struct StepOperands {
  Tensor projected;            // [steps, batch, gates * hidden]: the input times its weights
  std::vector<Tensor> states;  // [batch, hidden]: hidden state, LSTM's cell
  // Recurrent weights [gates * hidden, hidden] and both biases [2 * gates * hidden]. Then peepholes
  // [3 * hidden] and lengths [batch], if the step has them.
  std::vector<Tensor> weights;
};

// Returns the hidden state after every step [steps, batch, hidden], then the final states. Past the
// length of its sequence, a row's output is 0 and its states stay constant.
Outputs RunSteps(NodeContext& context, const RecurrentStep& step, const StepOperands& operands);

}  // namespace tartan::onnx
