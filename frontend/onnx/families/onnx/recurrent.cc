// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: RNN, GRU, LSTM. The input's projection is one matmul for all steps; the step
// is a repeated body.
#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/quantization_text.h"
#include "frontend/onnx/families/shared/recurrent_step.h"
#include "frontend/onnx/families/shared/repetition.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The layer's sizes and attributes. Operands: X, W, R, B, sequence_lens, initial_h, initial_c, P.
struct Layer {
  RecurrentStep step;
  bool batch_first = false;
  int64_t directions = 1;
  bool first_is_reverse = false;
  int64_t steps = 0;
  int64_t batch = 0;
  int64_t inputs = 0;
  std::vector<std::string> activations;  // for all directions
};

absl::Status CheckOperand(const NodeContext& context, int i, const std::vector<int64_t>& dims) {
  return context.HasInput(i) ? context.CheckDims(i, dims) : absl::OkStatus();
}

absl::Status CheckOperands(const NodeContext& context, const Layer& layer) {
  const int64_t hidden = layer.step.hidden;
  const int64_t rows = layer.step.gates() * hidden;
  const std::vector<int64_t> state = layer.batch_first
                                         ? std::vector{layer.batch, layer.directions, hidden}
                                         : std::vector{layer.directions, layer.batch, hidden};
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 1, {layer.directions, rows, layer.inputs}));
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 2, {layer.directions, rows, hidden}));
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 3, {layer.directions, 2 * rows}));
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 4, {layer.batch}));
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 5, state));
  TARTAN_RETURN_IF_ERROR(CheckOperand(context, 6, state));
  return CheckOperand(context, 7, {layer.directions, 3 * hidden});
}

// Texts of the activations for all directions, each with its alpha and beta.
absl::StatusOr<std::vector<std::string>> Activations(const NodeContext& context,
                                                     const Layer& layer) {
  const std::vector<std::string> defaults = DefaultActivations(layer.step.cell);
  std::vector<std::string> names;
  if (context.HasAttribute("activations")) {
    TARTAN_ASSIGN_OR_RETURN(names, context.Strings("activations"));
  }
  if (names.empty()) {
    for (int64_t d = 0; d < layer.directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  if (names.size() != defaults.size() * static_cast<size_t>(layer.directions)) {
    return Invalid(names.size(), " activations for ", layer.directions, " directions");
  }
  std::vector<float> alphas;
  std::vector<float> betas;
  if (context.HasAttribute("activation_alpha")) {
    TARTAN_ASSIGN_OR_RETURN(alphas, context.Floats("activation_alpha"));
  }
  if (context.HasAttribute("activation_beta")) {
    TARTAN_ASSIGN_OR_RETURN(betas, context.Floats("activation_beta"));
  }
  std::vector<std::string> texts;
  size_t next_alpha = 0;
  size_t next_beta = 0;
  for (const std::string& name : names) {
    TARTAN_ASSIGN_OR_RETURN(ActivationForm form, FindActivation(name));
    if (form.has_alpha && next_alpha < alphas.size()) form.alpha = alphas[next_alpha++];
    if (form.has_beta && next_beta < betas.size()) form.beta = betas[next_beta++];
    texts.push_back(form.Text());
  }
  return texts;
}

absl::StatusOr<Layer> ReadLayer(NodeContext& context, Cell cell) {
  Layer layer;
  layer.step.cell = cell;
  TARTAN_ASSIGN_OR_RETURN(const int64_t layout, context.Int("layout", 0));
  layer.batch_first = layout != 0;
  const Tensor& x = context.input(0);
  if (x.rank() != 3 || context.input(2).rank() != 3) {
    return Invalid("X and R have three dimensions, got ", x.shape().ToString(), " and ",
                   context.input(2).shape().ToString());
  }
  layer.steps = x.dims()[layer.batch_first ? 1 : 0];
  layer.batch = x.dims()[layer.batch_first ? 0 : 1];
  layer.inputs = x.dims()[2];
  TARTAN_ASSIGN_OR_RETURN(layer.step.hidden,
                          context.Int("hidden_size", context.input(2).dims()[2]));
  constexpr int64_t kMaxHidden = int64_t{1} << 32;
  if (layer.step.hidden < 0 || layer.step.hidden > kMaxHidden) {
    return Invalid("hidden_size is ", layer.step.hidden);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::string direction, context.String("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return Invalid("direction '", direction, "'");
  }
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.first_is_reverse = direction == "reverse";
  if (context.HasAttribute("clip")) {
    TARTAN_ASSIGN_OR_RETURN(layer.step.clip.emplace(), context.Float("clip"));
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t before, context.Int("linear_before_reset", 0));
  layer.step.linear_before_reset = before != 0;
  TARTAN_ASSIGN_OR_RETURN(const int64_t forget, context.Int("input_forget", 0));
  layer.step.input_forget = forget != 0;
  layer.step.has_peepholes = context.HasInput(7);
  layer.step.has_lengths = context.HasInput(4);
  TARTAN_RETURN_IF_ERROR(CheckOperands(context, layer));
  if (layer.step.has_lengths) {
    const std::string place = absl::StrCat("axis ", layer.batch_first ? 1 : 0);
    TARTAN_RETURN_IF_ERROR(context.CheckInput(4, {{0, layer.steps, place}}, "sequence length"));
  }
  TARTAN_ASSIGN_OR_RETURN(layer.activations, Activations(context, layer));
  return layer;
}

// Part `at` of a tensor along `axis`, which is dropped.
absl::StatusOr<Tensor> Pick(const NodeContext& context, const Tensor& x, int64_t axis, int64_t at) {
  Window window = WholeOf(x);
  window.start[static_cast<size_t>(axis)] = at;
  window.sizes[static_cast<size_t>(axis)] = 1;
  TARTAN_ASSIGN_OR_RETURN(const Tensor slice, SliceOf(context, x, window));
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + axis);
  return Reshape(context, slice, dims);
}

// The steps of [T, B, …] in the order of a direction. The reverse order starts at each sequence's
// own end.
absl::StatusOr<Tensor> InOrder(NodeContext& context, const Tensor& x, bool reversed) {
  if (!reversed) return x;
  if (!context.HasInput(4)) return RowsFirst(context, x, 0, true);
  return context.ApplyOne(
      TileFunction(
          "X, LENGTHS", "Y",
          {absl::StrCat("L = ", ReshapeCall("LENGTHS", {1, x.dims()[1], 1})), "T = index(X, 0)",
           "I = T < L ? L - 1 - T : T", "Y = gather_elements(X, I, 0)"}),
      {x, context.input(4)});
}

absl::StatusOr<Tensor> InitialState(const NodeContext& context, const Layer& layer, int operand,
                                    int64_t direction) {
  if (context.HasInput(operand)) {
    return Pick(context, context.input(operand), layer.batch_first ? 1 : 0, direction);
  }
  return Zeros(context, context.input(0).type(), {layer.batch, layer.step.hidden});
}

// The operands of one direction. The weights are in the order of StepOperands.
absl::StatusOr<StepOperands> OperandsOf(NodeContext& context, const Layer& layer, int64_t direction,
                                        bool reversed) {
  StepOperands operands;
  TARTAN_ASSIGN_OR_RETURN(const Tensor w, Pick(context, context.input(1), 0, direction));
  TARTAN_ASSIGN_OR_RETURN(operands.weights.emplace_back(),
                          Pick(context, context.input(2), 0, direction));
  Tensor bias;
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(bias, Pick(context, context.input(3), 0, direction));
  } else {
    TARTAN_ASSIGN_OR_RETURN(bias, Zeros(context, context.input(0).type(),
                                        {2 * layer.step.gates() * layer.step.hidden}));
  }
  operands.weights.push_back(bias);
  if (layer.step.has_peepholes) {
    TARTAN_ASSIGN_OR_RETURN(operands.weights.emplace_back(),
                            Pick(context, context.input(7), 0, direction));
  }
  if (layer.step.has_lengths) operands.weights.push_back(context.input(4));
  Tensor x = context.input(0);
  if (layer.batch_first) {
    TARTAN_ASSIGN_OR_RETURN(x, Transpose(context, x, {1, 0, 2}));
  }
  TARTAN_ASSIGN_OR_RETURN(x, InOrder(context, x, reversed));
  const std::vector<int64_t> dims = {layer.steps, layer.batch, w.dims()[0]};
  TARTAN_ASSIGN_OR_RETURN(operands.projected,
                          context.ApplyOne(TileFunction("X, W", "Y",
                                                        {Write("Y", {"t", "b", "g"}, dims) +
                                                         " = +(X[t, b, i] * W[g, i])"}),
                                           {x, w}));
  for (int s = 0; s < layer.step.states(); ++s) {
    TARTAN_ASSIGN_OR_RETURN(operands.states.emplace_back(),
                            InitialState(context, layer, 5 + s, direction));
  }
  return operands;
}

// Stacks the directions in the requested layout: [T, D, B, H] or [B, T, D, H].
absl::StatusOr<Tensor> WithDirections(const NodeContext& context, const Layer& layer,
                                      const std::vector<Tensor>& parts) {
  std::vector<Tensor> placed;
  for (const Tensor& part : parts) {
    const bool has_steps = part.rank() == 3;
    std::vector<int64_t> dims = part.dims();
    if (!layer.batch_first) {
      dims.insert(dims.begin() + (has_steps ? 1 : 0), 1);
      TARTAN_ASSIGN_OR_RETURN(placed.emplace_back(), Reshape(context, part, dims));
      continue;
    }
    Tensor transposed = part;
    if (has_steps) {
      TARTAN_ASSIGN_OR_RETURN(transposed, Transpose(context, part, {1, 0, 2}));
      std::swap(dims[0], dims[1]);
    }
    dims.insert(dims.end() - 1, 1);
    TARTAN_ASSIGN_OR_RETURN(placed.emplace_back(), Reshape(context, transposed, dims));
  }
  if (placed.size() == 1) return placed[0];
  const int64_t axis = layer.batch_first ? placed[0].rank() - 2 : placed[0].rank() - 3;
  return ConcatOf(context, placed, axis);
}

Outputs RunLayer(NodeContext& context, Cell cell, bool quantizes_state = false) {
  TARTAN_ASSIGN_OR_RETURN(Layer layer, ReadLayer(context, cell));
  layer.step.quantizes_state = quantizes_state;
  const size_t count = layer.activations.size() / static_cast<size_t>(layer.directions);
  std::vector<std::vector<Tensor>> parts(1 + static_cast<size_t>(layer.step.states()));
  for (int64_t d = 0; d < layer.directions; ++d) {
    const bool reversed = d == 1 || layer.first_is_reverse;
    const auto first = layer.activations.begin() + d * static_cast<int64_t>(count);
    layer.step.activations.assign(first, first + static_cast<int64_t>(count));
    TARTAN_ASSIGN_OR_RETURN(const StepOperands operands, OperandsOf(context, layer, d, reversed));
    TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> results, RunSteps(context, layer.step, operands));
    TARTAN_ASSIGN_OR_RETURN(results[0], InOrder(context, results[0], reversed));
    for (size_t i = 0; i < parts.size(); ++i) parts[i].push_back(results[i]);
  }
  std::vector<Tensor> outputs;
  for (const std::vector<Tensor>& part : parts) {
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(), WithDirections(context, layer, part));
  }
  return outputs;
}

Outputs Rnn(NodeContext& context) { return RunLayer(context, Cell::kRnn); }
Outputs Gru(NodeContext& context) { return RunLayer(context, Cell::kGru); }
Outputs Lstm(NodeContext& context) { return RunLayer(context, Cell::kLstm); }

// Dequantizes 8-bit weights [directions, inputs, gates * hidden] and transposes them to LSTM's
// layout. Operands `scale` and `scale` + 1 are their scales and zero points.
absl::StatusOr<Tensor> RealWeights(const NodeContext& context, int weights, int scale) {
  const Tensor& w = context.input(weights);
  const std::vector<int64_t>& dims = w.dims();
  if (w.rank() != 3 || !context.HasInput(scale) || !context.HasInput(scale + 1)) {
    return Invalid("operand ", weights, " is ", w.shape().ToString(),
                   ", and needs a scale and a zero point");
  }
  for (int i : {scale, scale + 1}) {
    const int64_t count = context.input(i).shape().element_count();
    if (count == dims[0] || count == dims[0] * dims[2]) continue;
    return Invalid("operand ", i, " is ", context.input(i).shape().ToString(), " for ",
                   w.shape().ToString());
  }
  const auto placed = [&](const char* name, int i) {
    const int64_t each = context.input(i).shape().element_count() == dims[0] ? 1 : dims[2];
    return ReshapeCall(name, {dims[0], 1, each});
  };
  return context.ApplyOne(
      TileFunction("W, S, Z", "Y",
                   {absl::StrCat("N = ", Cast("W", DataType::kInt32), " - ",
                                 Cast(placed("Z", scale + 1), DataType::kInt32)),
                    absl::StrCat("R = ", Cast("N", DataType::kFloat32), " * ", placed("S", scale)),
                    Write("Y", {"d", "g", "i"}, {dims[0], dims[2], dims[1]}) + " = =(R[d, i, g])"}),
      {w, context.input(scale), context.input(scale + 1)});
}

// The operands are LSTM's, with transposed 8-bit weights, then scale and zero point of W and of R.
// The input and the states are quantized to 8 bits over the range of their values.
Outputs DynamicQuantizeLstm(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(Tensor w, RealWeights(context, 1, 8));
  TARTAN_ASSIGN_OR_RETURN(Tensor r, RealWeights(context, 2, 10));
  FunctionText text(context);
  const std::string given = text.Operand(0);
  std::string counted = given;
  if (context.HasInput(4)) {
    // Elements past the longest sequence do not count for the range.
    text.Add("LONGEST[]", ">(", text.Operand(4), "[b])");
    text.Add("COUNTED", "index(", given, ", 0) < LONGEST ? ", given, " : 0");
    counted = "COUNTED";
  }
  for (std::string& statement : DynamicQuantizationStatements(counted, context.input(0).rank())) {
    text.Add(std::move(statement));
  }
  text.Add("Y", "(", Cast("QUANTIZED", DataType::kFloat32), " - ", Cast("ZERO", DataType::kFloat32),
           ") * SCALE");
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> x, text.Apply("Y"));
  context.SetInput(0, Value(std::move(x[0])));
  context.SetInput(1, Value(std::move(w)));
  context.SetInput(2, Value(std::move(r)));
  return RunLayer(context, Cell::kLstm, true);
}

constexpr OperatorRow kOperators[] = {
    In("com.microsoft", {"DynamicQuantizeLSTM", 1, {3, 12}, DynamicQuantizeLstm}),
    {"GRU", 1, {3, 6}, Gru},
    {"LSTM", 1, {3, 8}, Lstm},
    {"RNN", 1, {3, 6}, Rnn},
};

}  // namespace

absl::Span<const OperatorRow> RecurrentOperators() { return kOperators; }

}  // namespace tartan::onnx
