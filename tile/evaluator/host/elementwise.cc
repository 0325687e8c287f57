// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/elementwise.h"

#include <array>
#include <type_traits>
#include <vector>

#include "tile/base/scalar_value.h"
#include "tile/evaluator/host/loop_nest.h"
#include "tile/ir/type_rules.h"

namespace tartan::evaluator {
namespace {

using ir::NaiveTensor;

constexpr size_t kMaxOperands = 3;
using Operands = std::array<const NaiveTensor*, kMaxOperands>;

// Loops over the elements of a result and of its broadcast operands. Dimensions that are contiguous
// in every tensor are merged into one loop.
LoopNest ElementLoops(const TensorShape& result, const Operands& operands) {
  const size_t rank = result.dims.size();
  std::vector<HostLoop> dims;
  for (const int64_t range : result.dims) dims.push_back({range, {}});
  const auto add = [&](size_t place, const TensorShape& shape) {
    const std::vector<int64_t> strides = RowMajorStrides(shape.dims);
    const size_t first = rank - shape.dims.size();
    for (size_t d = 0; d < strides.size(); ++d) {
      if (shape.dims[d] != 1) dims[first + d].steps[place] = strides[d];
    }
  };
  add(0, result);
  for (size_t o = 0; o < operands.size(); ++o) {
    if (operands[o] != nullptr) add(o + 1, operands[o]->shape);
  }
  std::vector<HostLoop> loops;
  for (const HostLoop& dim : dims) {
    if (dim.range == 1) continue;
    bool goes_on = !loops.empty();
    for (size_t p = 0; p < dim.steps.size() && goes_on; ++p) {
      goes_on = loops.back().steps[p] == dim.steps[p] * dim.range;
    }
    if (goes_on) {
      loops.back() = {loops.back().range * dim.range, dim.steps};
    } else {
      loops.push_back(dim);
    }
  }
  return LoopNest({}, std::move(loops));
}

// result = function(a, b) for every element.
template <class From, class To, class Function>
void Map(const LoopNest& nest, const std::vector<From>& a, const std::vector<From>& b,
         std::vector<To>& result, const Function& function) {
  const Places steps = nest.steps();
  const auto map = [&](const auto& step_a, const auto& step_b) {
    nest.ForEachRun([&](const Places& at, int64_t count) {
      const From* const x = a.data() + at[1];
      const From* const y = b.data() + at[2];
      To* const to = result.data() + at[0];
      for (int64_t i = 0; i < count; ++i) to[i] = function(x[i * step_a], y[i * step_b]);
    });
  };
  // The compiler vectorizes loops with constant steps.
  constexpr std::integral_constant<int64_t, 0> kStay;
  constexpr std::integral_constant<int64_t, 1> kNext;
  if (steps[1] == 1 && steps[2] == 1) return map(kNext, kNext);
  if (steps[1] == 1 && steps[2] == 0) return map(kNext, kStay);
  if (steps[1] == 0 && steps[2] == 1) return map(kStay, kNext);
  map(steps[1], steps[2]);
}

// Inlines the most frequent functions; the others dispatch per element.
template <class Apply>
void WithFunction(ScalarOp op, const Apply& apply) {
  switch (op) {
    case ScalarOp::kIdentity:
      return apply([](double a, double) { return a; });
    case ScalarOp::kNeg:
      return apply([](double a, double) { return -a; });
    case ScalarOp::kRelu:
      return apply([](double a, double) { return a < 0 ? 0 : a; });
    case ScalarOp::kAdd:
      return apply([](double a, double b) { return a + b; });
    case ScalarOp::kSub:
      return apply([](double a, double b) { return a - b; });
    case ScalarOp::kMul:
      return apply([](double a, double b) { return a * b; });
    case ScalarOp::kDiv:
      return apply([](double a, double b) { return a / b; });
    case ScalarOp::kMax:
      return apply([](double a, double b) { return a > b || a != a ? a : b; });
    case ScalarOp::kMin:
      return apply([](double a, double b) { return a < b || a != a ? a : b; });
    default:
      return apply([op](double a, double b) { return ApplyReal(op, a, b); });
  }
}

// Comparisons in the ordering of type T.
template <class T, class Apply>
bool WithComparison(ScalarOp op, const Apply& apply) {
  switch (op) {
    case ScalarOp::kEqual:
      return apply([](T a, T b) { return a == b; });
    case ScalarOp::kNotEqual:
      return apply([](T a, T b) { return a != b; });
    case ScalarOp::kLess:
      return apply([](T a, T b) { return a < b; });
    case ScalarOp::kLessEqual:
      return apply([](T a, T b) { return a <= b; });
    case ScalarOp::kGreater:
      return apply([](T a, T b) { return a > b; });
    case ScalarOp::kGreaterEqual:
      return apply([](T a, T b) { return a >= b; });
    default:
      return false;
  }
}

// `type` is the operands' type.
void ApplyToIntegers(ScalarOp op, DataType type, const LoopNest& nest,
                     const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                     std::vector<int64_t>& result) {
  const auto map = [&](const auto& function) {
    Map(nest, a, b, result, function);
    return true;
  };
  if (!ReturnsBool(op)) {
    map([op, type](int64_t x, int64_t y) { return ApplyInteger(op, x, y, type); });
  } else if (type == DataType::kUInt64 || !WithComparison<int64_t>(op, map)) {
    map([op, type](int64_t x, int64_t y) { return TestInteger(op, x, y, type); });
  }
}

// `type` is the operands' type.
void Apply(ScalarOp op, DataType type, const LoopNest& nest, const Operands& operands,
           NaiveTensor& result) {
  const NaiveTensor& a = *operands[0];
  const NaiveTensor& b = *operands[operands[1] == nullptr ? 0 : 1];
  if (!IsFloat(type)) {
    return ApplyToIntegers(op, type, nest, a.integers, b.integers, result.integers);
  }
  if (ReturnsBool(op)) {
    const auto map = [&](const auto& test) {
      Map(nest, a.reals, b.reals, result.integers, test);
      return true;
    };
    if (!WithComparison<double>(op, map)) {
      map([op](double x, double y) { return TestReal(op, x, y); });
    }
    return;
  }
  const bool is_single = ComputeType(result.shape.type) == DataType::kFloat32;
  WithFunction(op, [&](const auto& function) {
    if (is_single) {
      const auto rounded = [&](double x, double y) {
        return double{static_cast<float>(function(x, y))};
      };
      Map(nest, a.reals, b.reals, result.reals, rounded);
    } else {
      Map(nest, a.reals, b.reals, result.reals, function);
    }
  });
}

template <class T>
void Select(const LoopNest& nest, const std::vector<int64_t>& condition, const std::vector<T>& a,
            const std::vector<T>& b, std::vector<T>& result) {
  const Places steps = nest.steps();
  nest.ForEachRun([&](const Places& at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      result[at[0] + i * steps[0]] =
          condition[at[1] + i * steps[1]] != 0 ? a[at[2] + i * steps[2]] : b[at[3] + i * steps[3]];
    }
  });
}

}  // namespace

NaiveTensor EvaluateOnHost(const ir::Program& program, ir::ValueId id,
                           absl::Span<const NaiveTensor* const> operands) {
  const TensorShape& shape = program.values[id].shape;
  const ScalarOp op = std::get<ir::Elementwise>(program.values[id].op).op;
  if (op == ScalarOp::kCast) return ir::Cast(*operands[0], shape.type);
  std::array<NaiveTensor, kMaxOperands> storage;
  Operands read = {};
  DataType type = DataType::kInvalid;
  for (size_t i = 0; i < operands.size(); ++i) {
    type = ir::OperandType(program, id, static_cast<int>(i));
    read[i] = &ir::ReadAs(*operands[i], type, storage[i]);
  }
  NaiveTensor result(shape);
  const LoopNest nest = ElementLoops(shape, read);
  if (op != ScalarOp::kSelect) {
    Apply(op, type, nest, read, result);
  } else if (result.is_real()) {
    Select(nest, read[0]->integers, read[1]->reals, read[2]->reals, result.reals);
    const DataType computed = ComputeType(shape.type);
    for (double& value : result.reals) value = RoundReal(value, computed);
  } else {
    Select(nest, read[0]->integers, read[1]->integers, read[2]->integers, result.integers);
  }
  return result;
}

double ElementwiseNanoseconds(const ir::Program& program, ir::ValueId id) {
  const auto& elementwise = std::get<ir::Elementwise>(program.values[id].op);
  double each = 3;
  if (IsFloatFunction(elementwise.op) || elementwise.op == ScalarOp::kPow) {
    each = 20;
  } else if (elementwise.op == ScalarOp::kCast ||
             !IsFloat(program.values[elementwise.operands.back()].shape.type)) {
    each = 8;
  }
  return each * static_cast<double>(program.values[id].shape.element_count());
}

}  // namespace tartan::evaluator
