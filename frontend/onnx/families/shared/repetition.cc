// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/shared/repetition.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontend/api/loop.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Up to this number of iterations, their graphs are joined into one program.
constexpr int64_t kMaxJoinedIterations = 4;
// Limit of iterations imported one by one (empirical): a larger program takes too long to compile.
constexpr int64_t kMaxImportedIterations = 20000;

bool IsPlain(const Value& value) {
  return value.is_tensor() && value.element() == api::Element::kPlain;
}

// The iteration and the condition, as a body's inputs.
std::vector<Value> IterationInputs(const Repetition& repetition, Tensor iteration) {
  const TensorShape condition{DataType::kBool, repetition.condition_dims};
  return {Value(std::move(iteration)),
          Value(Tensor::Constant(HostTensor::FromVector(condition, std::vector<uint8_t>{1})))};
}

TensorShape RowShape(const Tensor& x) {
  TensorShape shape = x.shape();
  shape.dims.erase(shape.dims.begin());
  return shape;
}

absl::StatusOr<Tensor> RowOf(const NodeContext& context, const Tensor& x, int64_t row) {
  Window window = WholeOf(x);
  window.start[0] = row;
  window.sizes[0] = 1;
  TARTAN_ASSIGN_OR_RETURN(const Tensor slice, SliceOf(context, x, window));
  return Reshape(context, slice, RowShape(x).dims);
}

absl::StatusOr<Tensor> StackOf(const NodeContext& context, const std::vector<Tensor>& rows) {
  std::vector<Tensor> parts;
  for (const Tensor& row : rows) {
    if (row.shape() != rows[0].shape()) {
      return Invalid("iterations compute rows of different shapes: ", rows[0].shape().ToString(),
                     " and ", row.shape().ToString());
    }
    std::vector<int64_t> dims = row.dims();
    dims.insert(dims.begin(), 1);
    TARTAN_ASSIGN_OR_RETURN(parts.emplace_back(), Reshape(context, row, dims));
  }
  return ConcatOf(context, parts, 0);
}

// The body in terms of placeholders, with its own shapes for states and rows.
struct Trial {
  api::RepeatBody body;
  std::vector<Tensor> captured;
};

// Returns nothing if the body needs values, or its states change shape or are not tensors. Without
// iterations, the new states may have any shape.
absl::StatusOr<std::optional<Trial>> TryBody(NodeContext& context, const Repetition& repetition) {
  const bool is_for_shapes = repetition.iterations <= 0;
  Trial trial;
  api::RepeatBody& body = trial.body;
  std::vector<Value> inputs;
  if (repetition.has_iteration) {
    body.iteration = Tensor::Placeholder("iteration", TensorShape{DataType::kInt64, {}});
    inputs = IterationInputs(repetition, body.iteration);
  }
  for (const Value& state : repetition.states) {
    if (!IsPlain(state)) return std::optional<Trial>();
    body.states.push_back(Tensor::Placeholder("state", state.tensor().shape()));
    inputs.push_back(body.states.back());
  }
  for (const Tensor& scanned : repetition.scanned) {
    body.slices.push_back(Tensor::Placeholder("row", RowShape(scanned)));
    inputs.push_back(body.slices.back());
  }
  TARTAN_ASSIGN_OR_RETURN(std::optional<LoopBody> imported,
                          context.services().ImportLoopBody(*repetition.graph, inputs));
  if (!imported.has_value()) return std::optional<Trial>();
  body.invariants = imported->placeholders;
  trial.captured = std::move(imported->captured);
  size_t next = 0;
  if (repetition.has_iteration) {
    TARTAN_RETURN_IF_ERROR(CheckCondition("the body's condition", imported->outputs[next]));
    body.condition = imported->outputs[next++].tensor();
  }
  for (const Tensor& state : body.states) {
    const Value& made = imported->outputs[next++];
    if (is_for_shapes) continue;
    if (!IsPlain(made) || made.tensor().shape() != state.shape()) return std::optional<Trial>();
    body.next_states.push_back(made.tensor());
  }
  while (next < imported->outputs.size()) {
    const Value& made = imported->outputs[next++];
    if (!IsPlain(made)) return std::optional<Trial>();
    body.rows.push_back(made.tensor());
  }
  return std::optional<Trial>(std::move(trial));
}

// Removes a condition that is known. A false one limits the loop to one iteration.
void DropKnownCondition(api::RepeatBody* body) {
  if (!body->condition.defined() || body->condition.constant() == nullptr) return;
  if (body->condition.constant()->GetInt(0) == 0)
    body->iterations = std::min<int64_t>(body->iterations, 1);
  body->condition = Tensor();
}

absl::StatusOr<RepetitionResult> RunBody(NodeContext& context, const Repetition& repetition,
                                         Trial trial) {
  std::vector<Tensor> operands;
  for (const Value& state : repetition.states) operands.push_back(state.tensor());
  operands.insert(operands.end(), repetition.scanned.begin(), repetition.scanned.end());
  operands.insert(operands.end(), trial.captured.begin(), trial.captured.end());
  const size_t states = repetition.states.size();
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> results,
      context.Run(std::move(operands), std::make_shared<api::RepeatCall>(std::move(trial.body))));
  RepetitionResult result;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < states) {
      result.states.push_back(results[i]);
    } else {
      result.stacked.push_back(results[i]);
    }
  }
  return result;
}

// The condition after an iteration. Fails if its value is not known yet.
absl::StatusOr<bool> IsTrue(NodeContext& context, const Value& condition) {
  TARTAN_RETURN_IF_ERROR(CheckCondition("the body's condition", condition));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor value, context.services().HostValue(condition.tensor()));
  return value.GetInt(0) != 0;
}

absl::StatusOr<RepetitionResult> RunIterations(NodeContext& context, const Repetition& repetition,
                                               size_t rows_per_iteration) {
  // The states, and the rows of all iterations so far. Graph breaks of an iteration may replace
  // their tensors.
  std::vector<Value> states = repetition.states;
  std::vector<Value> rows;
  context.services().Hold(&states);
  context.services().Hold(&rows);
  const auto run = [&]() -> absl::Status {
    bool condition = repetition.iterations > 0;
    for (int64_t iteration = 0; condition && iteration < repetition.iterations; ++iteration) {
      if (iteration >= kMaxImportedIterations) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a loop whose iterations differ takes more than ", kMaxImportedIterations,
                         " iterations"));
      }
      std::vector<Value> inputs;
      if (repetition.has_iteration) inputs = IterationInputs(repetition, ConstantInt(iteration));
      inputs.insert(inputs.end(), states.begin(), states.end());
      for (const Tensor& scanned : repetition.scanned) {
        TARTAN_ASSIGN_OR_RETURN(inputs.emplace_back(), RowOf(context, scanned, iteration));
      }
      TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                              context.services().ImportSubgraph(*repetition.graph, inputs));
      const size_t first = repetition.has_iteration ? 1 : 0;
      for (size_t i = 0; i < states.size(); ++i) states[i] = outputs[first + i];
      for (size_t i = first + states.size(); i < outputs.size(); ++i) rows.push_back(outputs[i]);
      if (repetition.has_iteration && iteration + 1 < repetition.iterations) {
        TARTAN_ASSIGN_OR_RETURN(condition, IsTrue(context, outputs[0]));
      }
    }
    return absl::OkStatus();
  };
  const absl::Status status = run();
  context.services().Release();
  context.services().Release();
  TARTAN_RETURN_IF_ERROR(status);
  RepetitionResult result;
  result.states = std::move(states);
  for (size_t i = 0; i < rows_per_iteration; ++i) {
    std::vector<Tensor> column;
    for (size_t r = i; r < rows.size(); r += rows_per_iteration) {
      if (!IsPlain(rows[r])) return Unsupported("rows that are not tensors of numbers");
      column.push_back(rows[r].tensor());
    }
    TARTAN_ASSIGN_OR_RETURN(result.stacked.emplace_back(), StackOf(context, column));
  }
  return result;
}

// The shape that the file declares for a row, with 0 for an unspecified size.
absl::StatusOr<TensorShape> DeclaredRow(const ValueInfoProto& row) {
  const TypeProto::Tensor& type = row.type().tensor_type();
  const absl::StatusOr<ElementType> element = ElementFromOnnx(type.elem_type());
  if (!type.has_shape() || !element.ok() || element->element != api::Element::kPlain) {
    return Unsupported("a loop without iterations whose row '", row.name(), "' has no known shape");
  }
  TensorShape shape{element->type, {}};
  for (const auto& dim : type.shape().dim()) {
    shape.dims.push_back(dim.has_dim_value() ? dim.dim_value() : 0);
  }
  TARTAN_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

// The result of zero iterations. Rows have the shapes that one iteration would give them, or the
// declared shapes if values decide the shapes.
absl::StatusOr<RepetitionResult> RunNoIteration(NodeContext& context, const Repetition& repetition,
                                                size_t rows_per_iteration) {
  RepetitionResult result;
  result.states = repetition.states;
  if (rows_per_iteration == 0) return result;
  const absl::StatusOr<std::optional<Trial>> trial = TryBody(context, repetition);
  // The body needs values that Bind has yet to get.
  if (absl::IsFailedPrecondition(trial.status())) return trial.status();
  const GraphProto& graph = *repetition.graph;
  const int first = graph.output_size() - static_cast<int>(rows_per_iteration);
  for (size_t i = 0; i < rows_per_iteration; ++i) {
    TensorShape shape;
    if (trial.ok() && trial->has_value()) {
      shape = (*trial)->body.rows[i].shape();
    } else {
      TARTAN_ASSIGN_OR_RETURN(shape, DeclaredRow(graph.output(first + static_cast<int>(i))));
    }
    shape.dims.insert(shape.dims.begin(), 0);
    result.stacked.push_back(Tensor::Constant(HostTensor::Zeros(shape)));
  }
  return result;
}

absl::Status CheckBody(const Repetition& repetition) {
  const size_t inputs =
      (repetition.has_iteration ? 2 : 0) + repetition.states.size() + repetition.scanned.size();
  const size_t outputs = (repetition.has_iteration ? 1 : 0) + repetition.states.size();
  const GraphProto& graph = *repetition.graph;
  if (static_cast<size_t>(graph.input_size()) != inputs) {
    return Invalid("the body has ", graph.input_size(), " inputs, but ", inputs, " are given");
  }
  if (static_cast<size_t>(graph.output_size()) < outputs) {
    return Invalid("the body has ", graph.output_size(), " outputs, but at least ", outputs,
                   " are needed");
  }
  return absl::OkStatus();
}

// The dimensions of a tensor of `rank` with `axis` first.
std::vector<int64_t> AxisFirst(int64_t rank, int64_t axis) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}

absl::StatusOr<Tensor> Reversed(const NodeContext& context, const Tensor& x) {
  if (x.dims()[0] == 0) return x;
  Window window = WholeOf(x);
  window.start[0] = x.dims()[0] - 1;
  window.step[0] = -1;
  return SliceOf(context, x, window);
}

}  // namespace

absl::Status CheckCondition(absl::string_view what, const Value& condition) {
  if (!IsPlain(condition)) return Invalid(what, " is not a tensor of bool");
  const TensorShape& shape = condition.tensor().shape();
  if (shape.type == DataType::kBool && shape.element_count() == 1) return absl::OkStatus();
  return Invalid(what, " is ", shape.ToString(), ", not a single bool");
}

absl::StatusOr<RepetitionResult> Repeat(NodeContext& context, const Repetition& repetition) {
  TARTAN_RETURN_IF_ERROR(CheckBody(repetition));
  const size_t rows_per_iteration = static_cast<size_t>(repetition.graph->output_size()) -
                                    repetition.states.size() - (repetition.has_iteration ? 1 : 0);
  if (repetition.iterations > 0 && repetition.iterations <= kMaxJoinedIterations) {
    return RunIterations(context, repetition, rows_per_iteration);
  }
  if (repetition.iterations <= 0) return RunNoIteration(context, repetition, rows_per_iteration);
  TARTAN_ASSIGN_OR_RETURN(std::optional<Trial> trial, TryBody(context, repetition));
  if (!trial.has_value()) return RunIterations(context, repetition, rows_per_iteration);
  trial->body.iterations = repetition.iterations;
  DropKnownCondition(&trial->body);
  const TrainingMode* const training = context.services().training();
  if (training != nullptr &&
      (trial->body.condition.defined() || trial->body.iterations < api::kMinLoopIterations)) {
    return RunIterations(context, repetition, rows_per_iteration);
  }
  const bool is_endless = !trial->body.condition.defined() &&
                          trial->body.iterations == std::numeric_limits<int64_t>::max();
  if (is_endless) return Invalid("the loop never ends");
  return RunBody(context, repetition, *std::move(trial));
}

absl::StatusOr<Tensor> RowsFirst(const NodeContext& context, const Tensor& x, int64_t axis,
                                 bool reversed) {
  Tensor rows = x;
  if (axis != 0) {
    TARTAN_ASSIGN_OR_RETURN(rows, Transpose(context, x, AxisFirst(x.rank(), axis)));
  }
  return reversed ? Reversed(context, rows) : rows;
}

absl::StatusOr<Tensor> RowsBack(const NodeContext& context, const Tensor& x, int64_t axis,
                                bool reversed) {
  Tensor rows = x;
  if (reversed) {
    TARTAN_ASSIGN_OR_RETURN(rows, Reversed(context, x));
  }
  if (axis == 0) return rows;
  const std::vector<int64_t> order = AxisFirst(x.rank(), axis);
  std::vector<int64_t> inverse(order.size());
  for (size_t d = 0; d < order.size(); ++d) {
    inverse[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  return Transpose(context, rows, inverse);
}

}  // namespace tartan::onnx
