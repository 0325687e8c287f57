// SPDX-License-Identifier: Apache-2.0
// Branches and loops over graphs.
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/families/shared/repetition.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Only the selected branch is imported.
OutputValues If(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckCondition("operand 0", context.value(0)));
  TARTAN_ASSIGN_OR_RETURN(const int64_t condition, context.HostInt(0));
  return context.ImportSubgraph(condition != 0 ? "then_branch" : "else_branch", {});
}

std::vector<Value> Joined(RepetitionResult result) {
  std::vector<Value> outputs = std::move(result.states);
  outputs.insert(outputs.end(), result.stacked.begin(), result.stacked.end());
  return outputs;
}

// Operands: maximum number of iterations, first condition, states.
OutputValues Loop(NodeContext& context) {
  Repetition repetition;
  repetition.has_iteration = true;
  TARTAN_ASSIGN_OR_RETURN(repetition.graph, context.Graph("body"));
  repetition.iterations = std::numeric_limits<int64_t>::max();
  if (context.HasInput(0)) {
    TARTAN_ASSIGN_OR_RETURN(repetition.iterations, context.HostInt(0));
  }
  if (context.HasInput(1)) {
    TARTAN_RETURN_IF_ERROR(CheckCondition("operand 1", context.value(1)));
    TARTAN_ASSIGN_OR_RETURN(const int64_t condition, context.HostInt(1));
    repetition.condition_dims = context.input(1).dims();
    if (condition == 0) repetition.iterations = 0;
  }
  for (int i = 2; i < context.input_count(); ++i) repetition.states.push_back(context.value(i));
  TARTAN_ASSIGN_OR_RETURN(RepetitionResult result, Repeat(context, repetition));
  return Joined(std::move(result));
}

// One number per tensor; 0 without the attribute.
absl::StatusOr<std::vector<int64_t>> PerTensor(const NodeContext& context, absl::string_view name,
                                               size_t count) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                          context.Ints(name, std::vector<int64_t>(count, 0)));
  if (values.size() == count) return values;
  return Invalid("attribute '", name, "' has ", values.size(), " numbers, expected ", count);
}

// Operands: states, then tensors that are each scanned along an axis.
OutputValues Scan(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t scanned, context.Int("num_scan_inputs"));
  if (scanned < 1 || scanned > context.input_count()) {
    return Invalid("num_scan_inputs is ", scanned, " of ", context.input_count(), " operands");
  }
  const size_t count = static_cast<size_t>(scanned);
  TARTAN_ASSIGN_OR_RETURN(const auto axes, PerTensor(context, "scan_input_axes", count));
  TARTAN_ASSIGN_OR_RETURN(const auto backwards, PerTensor(context, "scan_input_directions", count));
  Repetition repetition;
  TARTAN_ASSIGN_OR_RETURN(repetition.graph, context.Graph("body"));
  const int states = context.input_count() - static_cast<int>(scanned);
  for (int i = 0; i < states; ++i) repetition.states.push_back(context.value(i));
  for (size_t i = 0; i < count; ++i) {
    const Tensor& x = context.input(states + static_cast<int>(i));
    if (!x.defined() || x.rank() == 0) return Invalid("scanned operand ", i, " has no axis");
    TARTAN_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(axes[i], x.rank()));
    TARTAN_ASSIGN_OR_RETURN(repetition.scanned.emplace_back(),
                            RowsFirst(context, x, axis, backwards[i] != 0));
    if (repetition.scanned.back().dims()[0] != repetition.scanned[0].dims()[0]) {
      return Invalid("scanned operand ", i, " has ", repetition.scanned.back().dims()[0],
                     " rows, the first ", repetition.scanned[0].dims()[0]);
    }
  }
  repetition.iterations = repetition.scanned[0].dims()[0];
  TARTAN_ASSIGN_OR_RETURN(RepetitionResult result, Repeat(context, repetition));
  const size_t stacked = result.stacked.size();
  TARTAN_ASSIGN_OR_RETURN(const auto out_axes, PerTensor(context, "scan_output_axes", stacked));
  TARTAN_ASSIGN_OR_RETURN(const auto out_backwards,
                          PerTensor(context, "scan_output_directions", stacked));
  for (size_t i = 0; i < stacked; ++i) {
    Tensor& rows = result.stacked[i];
    TARTAN_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(out_axes[i], rows.rank()));
    TARTAN_ASSIGN_OR_RETURN(rows, RowsBack(context, rows, axis, out_backwards[i] != 0));
  }
  return Joined(std::move(result));
}

// Element `b` along the first dimension, which is dropped.
absl::StatusOr<Tensor> OfBatch(const NodeContext& context, const Tensor& x, int64_t b) {
  Window window = WholeOf(x);
  window.start[0] = b;
  window.sizes[0] = 1;
  TARTAN_ASSIGN_OR_RETURN(const Tensor slice, SliceOf(context, x, window));
  return Reshape(context, slice, {x.dims().begin() + 1, x.dims().end()});
}

// Scan of operator set 8. Operands: lengths of the sequences, then states and scanned tensors, with
// the batch as first dimension.
OutputValues Scan8(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t scanned, context.Int("num_scan_inputs"));
  if (scanned < 1 || scanned >= context.input_count()) {
    return Invalid("num_scan_inputs is ", scanned, " of ", context.input_count(), " operands");
  }
  const int states = context.input_count() - 1 - static_cast<int>(scanned);
  TARTAN_ASSIGN_OR_RETURN(const auto backwards,
                          PerTensor(context, "directions", static_cast<size_t>(scanned)));
  for (int i = 1; i < context.input_count(); ++i) {
    const bool fits = context.value(i).is_tensor() &&
                      context.input(i).rank() >= (i > states ? 2 : 1) &&
                      context.input(i).dims()[0] == context.input(1).dims()[0];
    if (!fits) return Invalid("operand ", i, " has no batch dimension, or one of another size");
  }
  const int64_t batch = context.input(1).dims()[0];
  if (batch == 0) return Unsupported("an empty batch");
  std::vector<int64_t> lengths(static_cast<size_t>(batch), context.input(1 + states).dims()[1]);
  if (context.HasInput(0)) {
    TARTAN_ASSIGN_OR_RETURN(lengths, context.HostInts(0));
    if (static_cast<int64_t>(lengths.size()) != batch)
      return Invalid("expected one length per sequence");
  }
  std::vector<std::vector<Tensor>> outputs;  // per output, per batch element
  for (int64_t b = 0; b < batch; ++b) {
    Repetition repetition;
    TARTAN_ASSIGN_OR_RETURN(repetition.graph, context.Graph("body"));
    for (int i = 1; i < context.input_count(); ++i) {
      TARTAN_ASSIGN_OR_RETURN(const Tensor x, OfBatch(context, context.input(i), b));
      if (i <= states) {
        repetition.states.push_back(x);
      } else {
        TARTAN_ASSIGN_OR_RETURN(
            repetition.scanned.emplace_back(),
            RowsFirst(context, x, 0, backwards[static_cast<size_t>(i - 1 - states)] != 0));
      }
    }
    repetition.iterations = lengths[static_cast<size_t>(b)];
    if (repetition.iterations < 0 || repetition.iterations > repetition.scanned[0].dims()[0]) {
      return Invalid("a sequence of length ", repetition.iterations);
    }
    TARTAN_ASSIGN_OR_RETURN(RepetitionResult result, Repeat(context, repetition));
    const std::vector<Value> joined = Joined(std::move(result));
    outputs.resize(joined.size());
    for (size_t i = 0; i < joined.size(); ++i) {
      if (!joined[i].is_tensor()) return Invalid("output ", i, " of the body is not a tensor");
      std::vector<int64_t> dims = joined[i].tensor().dims();
      dims.insert(dims.begin(), 1);
      TARTAN_ASSIGN_OR_RETURN(outputs[i].emplace_back(),
                              Reshape(context, joined[i].tensor(), dims));
    }
  }
  std::vector<Value> values;
  for (const std::vector<Tensor>& parts : outputs) {
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), ConcatOf(context, parts, 0));
  }
  return values;
}

constexpr OperatorRow kOperators[] = {
    ValueRow("If", 1, {1, 1}, If, HostOperands(0)),
    ValueRow("Loop", 1, {0, kAnyNumber}, Loop, HostOperands(0, 1)),
    ValueRow("Scan", 8, {2, kAnyNumber}, Scan8, HostOperands(0)),
    ValueRow("Scan", 9, {1, kAnyNumber}, Scan),
};

}  // namespace

absl::Span<const OperatorRow> ControlFlowOperators() { return kOperators; }

}  // namespace tartan::onnx
