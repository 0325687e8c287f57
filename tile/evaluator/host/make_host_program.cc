// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/make_host_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tile/base/status_macros.h"
#include "tile/evaluator/host/bind_program.h"
#include "tile/ir/in_float64.h"
#include "tile/ir/program.h"

namespace tartan::evaluator {
namespace {

using HostProgramPtr = std::shared_ptr<const HostProgram>;

// Limits on the elements of a host program; beyond them it is not considered, as it would be slow
// or need too much memory.
constexpr int64_t kMaxInputElements = int64_t{1} << 21;
constexpr double kMaxInputElementsPerMs = 1 << 13;  // 64 MB of float32 in 2 s
constexpr double kMaxElements = 1 << 27;
constexpr double kMaxElementsPerMs = 1 << 17;
constexpr double kMaxComputedPerMs = 1 << 18;  // also counts each iteration of a loop

bool HasSmallInputs(const proto::Program& program, double most_ms) {
  const auto most =
      std::max(kMaxInputElements, static_cast<int64_t>(kMaxInputElementsPerMs * most_ms));
  int64_t elements = 0;
  for (const proto::Program::Input& input : program.inputs()) {
    int64_t count = 1;
    for (const int64_t dim : input.shape().dims()) {
      if (dim > most) return false;
      count *= dim;
      if (count > most) return false;
    }
    elements += count;
    if (elements > most) return false;
  }
  return true;
}

// Returns whether a run in `most_ms` could compute the elements of all values.
bool HasFewElements(const HostParts& parts, double most_ms) {
  double stored = 0;
  double computed = 0;
  for (const HostPart& part : parts.parts) {
    const auto iterations = static_cast<double>(std::max<int64_t>(part.iterations, 1));
    for (const ir::Value& value : part.program.values) {
      const auto elements = static_cast<double>(value.shape.element_count());
      stored += elements;
      computed += iterations * elements;
      if (stored > kMaxElements || stored > kMaxElementsPerMs * most_ms) return false;
      if (computed > kMaxComputedPerMs * most_ms) return false;
    }
    for (const int64_t elements : part.row_elements) {
      stored += iterations * static_cast<double>(elements);
    }
  }
  return stored <= kMaxElements;
}

// The part without its program.
HostPart FormOf(const proto::Program::Part& part) {
  HostPart form;
  form.arguments.assign(part.arguments().begin(), part.arguments().end());
  form.iterations = part.iterations();
  form.states = part.states();
  form.slices = part.slices();
  form.reversed = part.reversed();
  form.row_elements.assign(part.row_elements().begin(), part.row_elements().end());
  return form;
}

absl::StatusOr<HostParts> BindParts(const proto::Program& program, bool in_float64) {
  HostParts bound;
  for (const proto::Program::Input& input : program.inputs()) {
    TensorShape shape;
    shape.type = static_cast<DataType>(input.shape().type());
    if (in_float64 && IsFloat(shape.type)) shape.type = DataType::kFloat64;
    shape.dims.assign(input.shape().dims().begin(), input.shape().dims().end());
    bound.inputs.push_back(
        {input.name(), std::move(shape), input.is_constant(), input.is_state(), input.next() - 1});
  }
  for (int p = 0; p < program.parts_size(); ++p) {
    HostPart& part = bound.parts.emplace_back(FormOf(program.parts(p)));
    TARTAN_ASSIGN_OR_RETURN(part.program, BindProgram(ProgramOfPart(program, p), nullptr));
    if (in_float64) {
      TARTAN_ASSIGN_OR_RETURN(part.program, ir::InFloat64(part.program));
    }
  }
  bound.outputs.assign(program.outputs().begin(), program.outputs().end());
  return bound;
}

absl::StatusOr<HostParts> BindWhole(const proto::Program& program, bool in_float64,
                                    const lang::Function* tree) {
  if (program.parts_size() > 0) return BindParts(program, in_float64);
  TARTAN_ASSIGN_OR_RETURN(ir::Program bound, BindProgram(program, tree));
  if (in_float64) {
    TARTAN_ASSIGN_OR_RETURN(bound, ir::InFloat64(bound));
  }
  return PartsOf(std::move(bound));
}

}  // namespace

absl::StatusOr<HostProgramPtr> MakeHostProgram(const proto::Program& program,
                                               const compiler::CompileOptions& options,
                                               double most_ms, int64_t times,
                                               const lang::Function* tree) {
  const bool is_bounded = !std::isinf(most_ms);
  if (is_bounded && !HasSmallInputs(program, most_ms)) return nullptr;
  TARTAN_ASSIGN_OR_RETURN(HostParts bound, BindWhole(program, options.in_float64, tree));
  if (is_bounded && !HasFewElements(bound, most_ms)) return nullptr;
  TARTAN_ASSIGN_OR_RETURN(HostProgramPtr host, HostProgram::Create(std::move(bound)));
  if (host == nullptr) return nullptr;
  if (is_bounded && !host->IsFasterThanKernels(most_ms, times)) return nullptr;
  return host;
}

}  // namespace tartan::evaluator
