// Short constructors for semantic trees. Integer identities with literals (x + 0, x * 1, 2 + 3)
// are applied on the way, so that lowered index arithmetic reads well.
#pragma once

#include <string>
#include <vector>

#include "tile/sem/sem.h"

namespace tartan::sem {

ExprPtr Int(int64_t value, DataType type = DataType::kInt32);
ExprPtr Float(double value, DataType type = DataType::kFloat32);
ExprPtr Bool(bool value);
ExprPtr Var(std::string name, Type type);
ExprPtr LoadFrom(std::string buffer, DataType stored, ExprPtr index, int lanes = 1);
// The result type is that of the operands, or bool (with the operands' lanes) where op says so;
// kSelect: that of the second operand.
ExprPtr ApplyOp(ScalarOp op, std::vector<ExprPtr> operands);
ExprPtr Add(ExprPtr a, ExprPtr b);
ExprPtr Sub(ExprPtr a, ExprPtr b);
ExprPtr Mul(ExprPtr a, ExprPtr b);
ExprPtr Div(ExprPtr a, ExprPtr b);  // integers: truncating, b a non-zero literal
ExprPtr Mod(ExprPtr a, ExprPtr b);  // integers >= 0, b a positive literal
ExprPtr And(ExprPtr a, ExprPtr b);  // logical
ExprPtr Less(ExprPtr a, ExprPtr b);
ExprPtr Select(ExprPtr condition, ExprPtr a, ExprPtr b);
ExprPtr Cast(ExprPtr value, DataType type);
ExprPtr Work(WorkId id, int dimension, DataType index_type);

StmtPtr MakeBlock(std::vector<StmtPtr> statements);
StmtPtr MakeDeclare(Type type, std::string name, ExprPtr value, bool is_mutable = false);
StmtPtr MakeArray(Type type, std::string name, int64_t size, Space space = Space::kPrivate);
StmtPtr MakeAssign(std::string name, ExprPtr value);
StmtPtr MakeStore(std::string buffer, DataType stored, ExprPtr index, ExprPtr value);
StmtPtr MakeFor(std::string name, ExprPtr begin, ExprPtr end, StmtPtr body, int64_t step = 1,
                bool unroll = false);
StmtPtr MakeIf(ExprPtr condition, StmtPtr then, StmtPtr otherwise = nullptr);
StmtPtr MakeBarrier();
StmtPtr MakeComment(std::string text);

}  // namespace tartan::sem
