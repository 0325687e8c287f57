// SPDX-License-Identifier: Apache-2.0
// Short constructors for loop IR nodes. They apply integer identities (x + 0, x * 1, 2 + 3), so
// that lowered index arithmetic is readable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

ExprPtr Int(int64_t value, DataType type = DataType::kInt32);
ExprPtr Float(double value, DataType type = DataType::kFloat32);
ExprPtr Bool(bool value);
ExprPtr Var(std::string name, Type type);
// The result has the computation type of `stored`.
ExprPtr LoadFrom(std::string buffer, DataType stored, ExprPtr index, int lanes = 1,
                 bool is_aligned = false);
// The result has the operands' type, or bool with the operands' lanes for comparisons; for kSelect,
// the second operand's type. An integer constant is converted to the other operands' type, and a
// scalar is splatted to their lanes. Not for kCast.
ExprPtr ApplyOp(ScalarOp op, std::vector<ExprPtr> operands);
ExprPtr Add(ExprPtr a, ExprPtr b);
ExprPtr Sub(ExprPtr a, ExprPtr b);
ExprPtr Mul(ExprPtr a, ExprPtr b);
ExprPtr Div(ExprPtr a, ExprPtr b);  // integers: truncating; b is a non-zero constant
ExprPtr Mod(ExprPtr a, ExprPtr b);  // integers >= 0; b is a positive constant
ExprPtr Min(ExprPtr a, ExprPtr b);
ExprPtr Max(ExprPtr a, ExprPtr b);
ExprPtr And(ExprPtr a, ExprPtr b);  // logical
ExprPtr Or(ExprPtr a, ExprPtr b);   // logical
ExprPtr Not(ExprPtr a);             // logical
ExprPtr Less(ExprPtr a, ExprPtr b);
ExprPtr LessEqual(ExprPtr a, ExprPtr b);
ExprPtr Equals(ExprPtr a, ExprPtr b);
ExprPtr Select(ExprPtr condition, ExprPtr a, ExprPtr b);
// accumulator + a * b; scalars are splatted to the accumulator's lanes.
ExprPtr MulAdd(ExprPtr a, ExprPtr b, ExprPtr accumulator);
ExprPtr Cast(ExprPtr value, DataType type);  // keeps the lanes
ExprPtr Splat(ExprPtr scalar, int lanes);    // a vector of equal elements
ExprPtr LaneOf(ExprPtr vector, int lane);
ExprPtr MakeShuffle(ExprPtr a, ExprPtr b, std::vector<int> lanes);
ExprPtr Work(WorkId id, int dimension, DataType index_type = DataType::kInt32);

StmtPtr MakeBlock(std::vector<StmtPtr> statements);  // nested blocks are flattened
StmtPtr MakeDeclare(Type type, std::string name, ExprPtr value, bool is_mutable = false);
StmtPtr MakeArray(Type type, std::string name, int64_t size, Space space = Space::kPrivate,
                  std::string over = {}, int64_t alignment = 0);
StmtPtr MakeAssign(std::string name, ExprPtr value);
StmtPtr MakeStore(std::string buffer, DataType stored, ExprPtr index, ExprPtr value,
                  bool is_aligned = false, bool is_streamed = false);
StmtPtr MakeFor(std::string name, ExprPtr begin, ExprPtr end, StmtPtr body, int64_t step = 1,
                bool unroll = false);  // the variable has the type of `end`
StmtPtr MakeIf(ExprPtr condition, StmtPtr then, StmtPtr otherwise = nullptr);
StmtPtr MakeBarrier(bool is_global = false);
StmtPtr MakeAtomicUpdate(std::string buffer, DataType stored, ScalarOp op, ExprPtr index,
                         ExprPtr value);
StmtPtr MakePrefetch(std::string buffer, DataType stored, ExprPtr index,
                     bool into_second_cache_only = false);
StmtPtr MakeMmaBarrier();  // a Barrier with for_mma
// An aligned Store of float32 into an MMA tile, with rounds_to_tf32 if the format requires it.
StmtPtr MakeTileStore(std::string buffer, MatrixFormat format, ExprPtr index, ExprPtr value);
StmtPtr MakeCopyVector(ExprPtr to, ExprPtr from, ExprPtr count = nullptr);
StmtPtr MakeEndCopies();
StmtPtr MakeAwaitCopies(int pending);
StmtPtr MakeMultiplyTiles(MultiplyTiles product);
StmtPtr MakeAwaitTiles();
StmtPtr MakeEarly(StmtPtr body);
StmtPtr MakeOnce(StmtPtr body);
StmtPtr MakeFetch(ExprPtr input, ExprPtr output, StmtPtr body);
StmtPtr MakeComment(std::string text);

// The value of an integer or bool constant, also if it is splatted.
std::optional<int64_t> LiteralValue(const ExprPtr& expr);

}  // namespace tartan::loop
