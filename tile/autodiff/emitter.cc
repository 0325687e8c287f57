// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/emitter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::autodiff {

void Emitter::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

ValueId Emitter::Keep(absl::StatusOr<ValueId> value) {
  if (value.ok()) return *value;
  Fail(value.status());
  return 0;
}

ValueId Emitter::Apply(ScalarOp op, absl::Span<const ValueId> operands) {
  return Keep(builder_.AddElementwise(op, operands));
}

ValueId Emitter::Cast(ValueId x, DataType wanted) {
  return type(x) == wanted ? x : Keep(builder_.AddCast(x, wanted));
}

ValueId Emitter::Contract(ir::Contraction contraction, std::vector<int64_t> dims) {
  return Keep(builder_.AddContraction(std::move(contraction), std::move(dims)));
}

ValueId Emitter::Special(ir::SpecialKind kind, absl::Span<const ValueId> operands,
                         absl::Span<const int64_t> params) {
  return Keep(builder_.AddSpecial(kind, operands, params));
}

ValueId Emitter::Reshape(ValueId x, absl::Span<const int64_t> dims) {
  if (absl::MakeConstSpan(shape(x).dims) == dims) return x;
  return Special(ir::SpecialKind::kReshape, {x}, dims);
}

std::vector<ValueId> Emitter::Program(const ir::Program& program,
                                      absl::Span<const ValueId> arguments) {
  absl::StatusOr<std::vector<ValueId>> results = builder_.AddProgram(program, arguments);
  if (results.ok()) return *std::move(results);
  Fail(results.status());
  return {};
}

ValueId Emitter::Fill(ValueId scalar, const std::vector<int64_t>& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  ir::Contraction fill;
  fill.aggregation = Aggregation::kAssign;
  fill.index_names = IndexNames(rank);
  fill.output.indices = Variables(rank);
  fill.inputs = {{scalar, {}}};
  return Contract(std::move(fill), dims);
}

ValueId Emitter::Transpose(ValueId x, absl::Span<const int64_t> order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  const std::vector<int64_t> from = shape(x).dims;
  ir::Contraction transpose;
  transpose.aggregation = Aggregation::kAssign;
  transpose.index_names = IndexNames(static_cast<int64_t>(from.size()));
  transpose.inputs = {{x, Variables(static_cast<int64_t>(from.size()))}};
  std::vector<int64_t> dims;
  for (const int64_t axis : order) {
    transpose.output.indices.push_back(math::Affine::Variable(static_cast<int>(axis)));
    dims.push_back(from[axis]);
  }
  return Contract(std::move(transpose), std::move(dims));
}

ValueId Emitter::LinearIndex(const std::vector<int64_t>& dims) {
  const ValueId zeros = Zeros({DataType::kInt64, dims});
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  ValueId sum = zeros;
  for (size_t d = 0; d < dims.size(); ++d) {
    const ValueId position = Special(ir::SpecialKind::kIndex, {zeros}, {static_cast<int64_t>(d)});
    sum = Add(sum, Mul(Cast(position, DataType::kInt64), Integer(strides[d])));
  }
  return sum;
}

ValueId Emitter::SumTo(ValueId x, const TensorShape& target) {
  const std::vector<int64_t> dims = shape(x).dims;
  if (dims != target.dims) {
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t added = rank - target.rank();
    ir::Contraction sum;
    sum.index_names = IndexNames(rank);
    sum.inputs = {{x, Variables(rank)}};
    for (int64_t d = 0; d < target.rank(); ++d) {
      const bool repeated = target.dims[d] == 1 && dims[added + d] != 1;
      sum.output.indices.push_back(repeated ? math::Affine::Constant(0)
                                            : math::Affine::Variable(static_cast<int>(added + d)));
    }
    x = Contract(std::move(sum), target.dims);
  }
  return Cast(x, target.type);
}

std::vector<math::Affine> Variables(int64_t count) {
  std::vector<math::Affine> variables;
  for (int64_t i = 0; i < count; ++i) {
    variables.push_back(math::Affine::Variable(static_cast<int>(i)));
  }
  return variables;
}

std::vector<std::string> IndexNames(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(absl::StrCat("i", i));
  return names;
}

}  // namespace tartan::autodiff
