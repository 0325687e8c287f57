// SPDX-License-Identifier: Apache-2.0
#include "every_operation.h"

#include "absl/strings/str_cat.h"
#include "tile/base/scalar_value.h"
#include "tile/loop/build.h"

namespace tartan {

using namespace loop;  // NOLINT: builders

std::vector<ScalarOp> DefinedOps(DataType type) {
  std::vector<ScalarOp> ops;
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op != ScalarOp::kIdentity && op != ScalarOp::kCast && !IsOfKernels(op) &&
        IsDefined(op, type)) {
      ops.push_back(op);
    }
  }
  return ops;
}

Kernel MakeOpsKernel(DataType type, int lanes, int64_t count, absl::Span<const ScalarOp> ops,
                     const ExprPtr& second) {
  Kernel kernel;
  kernel.name = absl::StrCat("ops_", Name(type), "_", lanes, "_", Name(ops.front()));
  kernel.parameters = {
      {"a", type}, {"b", type}, {"values", type, true}, {"truths", DataType::kBool, true}};
  kernel.global_size[0] = count / lanes;
  const Type index{DataType::kInt32, 1};
  const ExprPtr i = Var("i", index);
  const ExprPtr a = Var("x", Type{type, lanes});
  const ExprPtr loaded = Var("z", Type{type, lanes});
  const ExprPtr b = second == nullptr ? loaded : second;
  std::vector<StmtPtr> body = {MakeDeclare(index, "i", Mul(Work(WorkId::kGlobal, 0), Int(lanes))),
                               MakeDeclare(a->type, "x", LoadFrom("a", type, i, lanes)),
                               MakeDeclare(loaded->type, "z", LoadFrom("b", type, i, lanes))};
  int64_t row = 0;
  for (ScalarOp op : ops) {
    std::vector<ExprPtr> operands = {a, b};
    if (OperandCount(op) == 1) operands.pop_back();
    if (op == ScalarOp::kSelect) operands.insert(operands.begin(), Less(a, b));
    const ExprPtr result = ApplyOp(op, std::move(operands));
    const ExprPtr place = Add(i, Int(row++ * count));
    if (!ReturnsBool(op)) {
      body.push_back(MakeStore("values", type, place, result));
    } else if (lanes == 1) {
      body.push_back(MakeStore("truths", DataType::kBool, place, result));
    } else {
      body.push_back(MakeStore("values", type, place, Cast(result, type)));
    }
  }
  kernel.body = MakeBlock(std::move(body));
  return kernel;
}

}  // namespace tartan
