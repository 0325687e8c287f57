// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/form_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

namespace tartan::poly {
namespace {

using math::Affine;

// Returns a matmul with an epilogue.
FlatContraction Product() {
  FlatContraction flat;
  flat.name = "C";
  flat.comments = {"C[m, n] = +(A[m, k] * B[k, n])"};
  flat.indices = {{"m", 4}, {"n", 5}, {"k", 6}};
  flat.output_index_count = 2;
  flat.tensors = {{7, {DataType::kFloat32, {4, 6}}}, {8, {DataType::kFloat32, {6, 5}}}};
  flat.accesses = {{0, {Affine::Variable(0), Affine::Variable(2)}, {}},
                   {1, {Affine::Variable(2), Affine::Variable(1)}, {}}};
  flat.accumulator_type = DataType::kFloat32;
  flat.body =
      MakeApply(ScalarOp::kMul, DataType::kFloat32,
                {MakeExpr(DataType::kFloat32, Read{0}), MakeExpr(DataType::kFloat32, Read{1})});
  flat.output_coords = {Affine::Variable(0), Affine::Variable(1)};
  flat.output_dims = {4, 5};
  const ExprPtr sum = MakeExpr(DataType::kFloat32, Accumulator{});
  const ExprPtr expr = MakeApply(ScalarOp::kAdd, DataType::kFloat32,
                                 {sum, MakeExpr(DataType::kFloat32, Literal{0.0})});
  flat.outputs = {{9, {DataType::kFloat32, {4, 5}}, expr}};
  return flat;
}

TEST(FormKey, LeavesOutNamesAndValues) {
  FlatContraction other = Product();
  other.name = "D";
  other.comments.clear();
  other.indices[0].name = "i";
  other.tensors[1].value = 17;
  other.outputs[0].value = 18;
  EXPECT_EQ(FormKey(other), FormKey(Product()));
}

using Change = std::function<void(FlatContraction*)>;

std::vector<Change> ChangesOfTables() {
  return {
      [](FlatContraction* flat) { flat->indices[0].range = 3; },
      [](FlatContraction* flat) { flat->indices[0].is_lane = true; },
      [](FlatContraction* flat) { flat->output_index_count = 1; },
      [](FlatContraction* flat) { flat->tensors[0].shape.type = DataType::kFloat16; },
      [](FlatContraction* flat) {
        flat->tensors[0].shape.dims = {6, 4};
      },
      [](FlatContraction* flat) { flat->accesses[0].tensor = 1; },
      [](FlatContraction* flat) { flat->accesses[0].coords[0] = Affine::Variable(0, 2); },
      [](FlatContraction* flat) { flat->accesses[0].coords[0].constant = 1; },
      [](FlatContraction* flat) {
        flat->accesses[0].guard = {{Affine::Variable(0), 3}};
      },
      [](FlatContraction* flat) { flat->aggregation = Aggregation::kMax; },
      [](FlatContraction* flat) { flat->accumulator_type = DataType::kFloat64; },
      [](FlatContraction* flat) { flat->body = nullptr; },
      [](FlatContraction* flat) {
        flat->constraints = {{Affine::Variable(2), 3}};
      },
      [](FlatContraction* flat) {
        flat->constraints = {{Affine::Variable(2), 4}};
      },
      [](FlatContraction* flat) { flat->may_be_empty = true; },
      [](FlatContraction* flat) { flat->empty_value = MakeNumber(1, DataType::kFloat32); },
      [](FlatContraction* flat) { flat->output_coords[0] = Affine::Variable(1); },
      [](FlatContraction* flat) {
        flat->output_dims = {5, 4};
      },
      [](FlatContraction* flat) {
        flat->store_guard = {{Affine::Variable(0), 3}};
      },
      [](FlatContraction* flat) { flat->outputs[0].shape.type = DataType::kFloat64; },
      [](FlatContraction* flat) { flat->outputs.push_back(flat->outputs[0]); },
  };
}

std::vector<ExprPtr> Expressions() {
  const auto literal = [](std::variant<int64_t, double> value) {
    return MakeExpr(DataType::kFloat32, Literal{value});
  };
  const ExprPtr read = MakeExpr(DataType::kFloat32, Read{0});
  const ExprPtr again = MakeExpr(DataType::kFloat32, Read{0});
  return {
      literal(0.0),
      literal(-0.0),
      literal(int64_t{0}),
      literal(std::numeric_limits<double>::quiet_NaN()),
      MakeExpr(DataType::kFloat64, Literal{0.0}),
      MakeExpr(DataType::kInt32, Coordinate{Affine::Variable(0)}),
      MakeExpr(DataType::kInt32, Coordinate{Affine::Variable(1)}),
      MakeExpr(DataType::kBool, InRange{{{Affine::Variable(0), 2}}}),
      MakeExpr(DataType::kFloat32, ReadAt{0, {literal(int64_t{0})}, {}}),
      MakeExpr(DataType::kFloat32, ReadAt{1, {literal(int64_t{0})}, {}}),
      MakeExpr(DataType::kFloat32, Choice{Affine::Variable(0), {read}}),
      // The code shows whether two reads share a node.
      MakeApply(ScalarOp::kAdd, DataType::kFloat32, {read, read}),
      MakeApply(ScalarOp::kAdd, DataType::kFloat32, {read, again}),
      MakeApply(ScalarOp::kSub, DataType::kFloat32, {read, read}),
  };
}

TEST(FormKey, TellsEverythingElseApart) {
  std::vector<Change> changes = ChangesOfTables();
  for (const ExprPtr& expr : Expressions()) {
    changes.push_back([expr](FlatContraction* flat) { flat->outputs[0].expr = expr; });
  }
  std::vector<std::string> keys = {FormKey(Product())};
  for (size_t c = 0; c < changes.size(); ++c) {
    FlatContraction changed = Product();
    changes[c](&changed);
    const std::string key = FormKey(changed);
    for (size_t k = 0; k < keys.size(); ++k) EXPECT_NE(key, keys[k]) << "change " << c << ", " << k;
    keys.push_back(key);
  }
}

}  // namespace
}  // namespace tartan::poly
