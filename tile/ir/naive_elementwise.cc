// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/naive_elementwise.h"

#include <array>
#include <vector>

#include "tile/base/scalar_value.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

constexpr size_t kMaxOperands = 3;
using OperandOffsets = std::array<int64_t, kMaxOperands>;
using Operands3 = std::array<const NaiveTensor*, kMaxOperands>;

// The stride of an operand along each dimension of the result; 0 if it is broadcast.
std::vector<int64_t> BroadcastStrides(const TensorShape& operand, const TensorShape& result) {
  std::vector<int64_t> strides = RowMajorStrides(operand.dims);
  for (size_t d = 0; d < strides.size(); ++d) {
    if (operand.dims[d] == 1) strides[d] = 0;
  }
  strides.insert(strides.begin(), result.rank() - operand.rank(), 0);
  return strides;
}

// Calls visit(i, offsets) with the operands' offsets for element `i` of the result.
template <class Visit>
void ForEachElement(const TensorShape& shape, const Operands3& operands, const Visit& visit) {
  const int64_t count = shape.element_count();
  std::array<std::vector<int64_t>, kMaxOperands> strides;
  for (size_t o = 0; o < kMaxOperands; ++o) {
    if (operands[o] != nullptr)
      strides[o] = BroadcastStrides(operands[o]->shape, shape);
    else
      strides[o].resize(shape.rank());
  }
  const int64_t row = shape.dims.empty() ? 1 : shape.dims.back();
  const size_t outer = shape.dims.empty() ? 0 : shape.dims.size() - 1;
  Coordinates at(absl::MakeConstSpan(shape.dims).subspan(0, outer));
  for (int64_t i = 0; i < count; at.Next()) {
    OperandOffsets offsets{};
    OperandOffsets steps{};
    for (size_t o = 0; o < kMaxOperands; ++o) {
      for (size_t d = 0; d < outer; ++d) offsets[o] += at[d] * strides[o][d];
      steps[o] = shape.dims.empty() ? 0 : strides[o].back();
    }
    for (int64_t k = 0; k < row; ++k, ++i) {
      visit(i, offsets);
      for (size_t o = 0; o < kMaxOperands; ++o) offsets[o] += steps[o];
    }
  }
}

// For operands of a real type; `result` is real, or bool for a predicate.
void ApplyToReals(ScalarOp op, const Operands3& operands, NaiveTensor& result) {
  const DataType type = ComputeType(result.shape.type);
  const std::vector<double>& a = operands[0]->reals;
  const std::vector<double>& b = operands[operands[1] == nullptr ? 0 : 1]->reals;
  if (ReturnsBool(op)) {
    ForEachElement(result.shape, operands, [&](int64_t i, const OperandOffsets& at) {
      result.integers[i] = TestReal(op, a[at[0]], b[at[1]]);
    });
  } else {
    ForEachElement(result.shape, operands, [&](int64_t i, const OperandOffsets& at) {
      result.reals[i] = RoundReal(ApplyReal(op, a[at[0]], b[at[1]]), type);
    });
  }
}

// For operands of the integer type (or bool) `type`.
void ApplyToIntegers(ScalarOp op, DataType type, const Operands3& operands, NaiveTensor& result) {
  const std::vector<int64_t>& a = operands[0]->integers;
  const std::vector<int64_t>& b = operands[operands[1] == nullptr ? 0 : 1]->integers;
  const bool is_predicate = ReturnsBool(op);
  ForEachElement(result.shape, operands, [&](int64_t i, const OperandOffsets& at) {
    result.integers[i] = is_predicate ? TestInteger(op, a[at[0]], b[at[1]], type)
                                      : ApplyInteger(op, a[at[0]], b[at[1]], type);
  });
}

void Select(const Operands3& operands, NaiveTensor& result) {
  ForEachElement(result.shape, operands, [&](int64_t i, const OperandOffsets& at) {
    const size_t chosen = operands[0]->integers[at[0]] != 0 ? 1 : 2;
    result.Copy(i, *operands[chosen], at[chosen]);
  });
  for (double& value : result.reals) value = RoundReal(value, ComputeType(result.shape.type));
}

}  // namespace

NaiveTensor EvaluateConstant(const Constant& constant, const TensorShape& shape) {
  NaiveTensor result(shape);
  if (result.is_real()) {
    result.reals[0] = constant.AsDouble();
  } else {
    result.integers[0] = std::get<int64_t>(constant.value);
  }
  return result;
}

NaiveTensor EvaluateElementwise(const Program& program, ValueId value,
                                absl::Span<const NaiveTensor> values) {
  const TensorShape& shape = program.values[value].shape;
  const auto& elementwise = std::get<Elementwise>(program.values[value].op);
  const ScalarOp op = elementwise.op;
  if (op == ScalarOp::kCast) return Cast(values[elementwise.operands[0]], shape.type);
  std::array<NaiveTensor, kMaxOperands> storage;
  Operands3 operands{};
  DataType type = DataType::kInvalid;
  for (size_t i = 0; i < elementwise.operands.size(); ++i) {
    type = OperandType(program, value, static_cast<int>(i));
    operands[i] = &ReadAs(values[elementwise.operands[i]], type, storage[i]);
  }
  NaiveTensor result(shape);
  if (op == ScalarOp::kSelect) {
    Select(operands, result);
  } else if (IsFloat(type)) {
    ApplyToReals(op, operands, result);
  } else {
    ApplyToIntegers(op, type, operands, result);
  }
  return result;
}

}  // namespace tartan::ir
