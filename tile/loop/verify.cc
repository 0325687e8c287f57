// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/verify.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/scalar_value.h"
#include "tile/base/status_macros.h"
#include "tile/loop/launch_batches.h"
#include "tile/loop/mma.h"
#include "tile/loop/traverse.h"

namespace tartan::loop {
namespace {

struct Name {
  enum class Kind { kVariable, kArray, kLocalArray, kInput, kOutput };
  Kind kind;
  Type type;
  bool is_mutable = false;
};

bool IsMask(const Type& type) { return type.element == DataType::kBool && type.lanes > 1; }

bool IsIndex(const Type& type) {
  return type.lanes == 1 && (type.element == DataType::kInt32 || type.element == DataType::kInt64);
}

bool IsValidLanes(int lanes) {
  return lanes == 1 || lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
}

bool IsHalf(DataType type) { return ComputeType(type) != type; }
bool IsComputed(DataType type) { return type != DataType::kInvalid && !IsHalf(type); }

// Bool equality is exclusive or, negated; so it is a logic operation.
bool IsLogic(ScalarOp op) {
  return op == ScalarOp::kLogicalNot || op == ScalarOp::kLogicalAnd || op == ScalarOp::kLogicalOr ||
         op == ScalarOp::kEqual || op == ScalarOp::kNotEqual;
}

class Verifier {
 public:
  absl::Status Check(const Kernel& kernel) {
    for (int i = 0; i < 3; ++i) {
      if (kernel.local_size[i] < 1 || kernel.global_size[i] < 1 ||
          kernel.global_size[i] % kernel.local_size[i] != 0) {
        return absl::InternalError(absl::StrCat("global size ", kernel.global_size[i],
                                                " is not a multiple of local size ",
                                                kernel.local_size[i], " in dimension ", i));
      }
    }
    for (const Parameter& parameter : kernel.parameters) {
      const auto kind = parameter.is_output ? Name::Kind::kOutput : Name::Kind::kInput;
      TARTAN_RETURN_IF_ERROR(DeclareName(parameter.name, {kind, Type{parameter.stored, 1}}));
    }
    for (const Size& size : kernel.sizes) {
      TARTAN_RETURN_IF_ERROR(
          DeclareName(size.name, {Name::Kind::kVariable, size.type(kernel.index_type)}));
    }
    const std::string wrong = ReasonInvalidBatch(kernel);
    return wrong.empty() ? CheckStmt(kernel.body) : absl::InternalError(wrong);
  }

 private:
  absl::Status DeclareName(const std::string& name, Name entry) {
    if (!names_.emplace(name, entry).second) {
      return absl::InternalError(absl::StrCat("'", name, "' is declared twice"));
    }
    declared_.push_back(name);
    return absl::OkStatus();
  }

  // Removes the names declared since there were `count`.
  void LeaveScope(size_t count) {
    for (; declared_.size() > count; declared_.pop_back()) names_.erase(declared_.back());
  }

  absl::Status CheckScope(const StmtPtr& stmt) {
    const size_t outer = declared_.size();
    ++depth_;
    absl::Status status = CheckStmt(stmt);
    --depth_;
    LeaveScope(outer);
    return status;
  }

  // Checks the children first. The children of For are checked in its scope.
  absl::Status CheckStmt(const StmtPtr& stmt) {
    if (stmt == nullptr) return absl::OkStatus();
    if (const auto* loop = std::get_if<For>(&stmt->node)) return CheckFor(*loop);
    const bool is_scope = !std::holds_alternative<Block>(stmt->node);
    TARTAN_RETURN_IF_ERROR(
        CheckChildren(*stmt, Overloaded{[&](const ExprPtr& child) { return CheckRoot(child); },
                                        [&](const StmtPtr& child) {
                                          return is_scope ? CheckScope(child) : CheckStmt(child);
                                        }}));
    return Match(
        stmt->node, [&](const Declare& declare) { return CheckDeclare(declare); },
        [&](const DeclareArray& array) { return CheckArray(array); },
        [&](const Assign& assign) { return CheckAssign(assign); },
        [&](const Store& store) {
          return CheckStore(store.buffer, store.stored, store.index, store.value);
        },
        [&](const If& branch) {
          return branch.condition->type == Type{DataType::kBool, 1}
                     ? absl::OkStatus()
                     : Wrong("the condition is not a scalar bool", branch.condition);
        },
        [&](const AtomicUpdate& update) { return CheckAtomicUpdate(update); },
        [&](const Prefetch& prefetch) { return CheckPrefetch(prefetch); },
        [&](const CopyVector& copy) { return CheckTiles(copy, copy.to); },
        [&](const MultiplyTiles& product) { return CheckTiles(product, product.accumulators); },
        [&](const traverse::OneOf<Block, For, Barrier, EndCopies, AwaitCopies, AwaitTiles, Early,
                                  Once, Fetch, Comment> auto&) { return absl::OkStatus(); });
  }

  // The first error of `check` over all children.
  template <class Tree, class Check>
  absl::Status CheckChildren(const Tree& tree, Check&& check) {
    absl::Status status;
    ForEachChild(tree, [&](const auto& child) { status.Update(check(child)); });
    return status;
  }

  absl::Status CheckDeclare(const Declare& declare) {
    if (declare.type.element == DataType::kInvalid || !IsValidLanes(declare.type.lanes) ||
        IsMask(declare.type)) {
      return absl::InternalError(
          absl::StrCat("'", declare.name, "' cannot have type ", ToString(declare.type)));
    }
    if (declare.value != nullptr) {
      if (declare.value->type != declare.type) {
        return Wrong(absl::StrCat("'", declare.name, "' of type ", ToString(declare.type),
                                  " has a value of type ", ToString(declare.value->type)),
                     declare.value);
      }
    } else if (!declare.is_mutable) {
      return absl::InternalError(absl::StrCat("'", declare.name, "' never gets a value"));
    }
    return DeclareName(declare.name, {Name::Kind::kVariable, declare.type, declare.is_mutable});
  }

  absl::Status CheckArray(const DeclareArray& array) {
    const bool is_valid = array.type.element != DataType::kInvalid &&
                          IsValidLanes(array.type.lanes) && array.size > 0 &&
                          (array.type.lanes == 1 || (IsComputed(array.type.element) &&
                                                     array.type.element != DataType::kBool));
    if (!is_valid) {
      return absl::InternalError(absl::StrCat("array '", array.name, "' cannot have ", array.size,
                                              " elements of type ", ToString(array.type)));
    }
    const bool is_local = array.space == Space::kLocal;
    if (array.over.empty() ? is_local && depth_ > 0 : !IsLocal(array.over)) {
      return absl::InternalError(absl::StrCat("local array '", array.name,
                                              "' is in an inner scope, or overlaps no array"));
    }
    const auto kind = is_local ? Name::Kind::kLocalArray : Name::Kind::kArray;
    return DeclareName(array.name, {kind, array.type});
  }

  absl::Status CheckAssign(const Assign& assign) {
    const auto found = names_.find(assign.name);
    if (found == names_.end()) {
      return Wrong(absl::StrCat("'", assign.name, "' is not declared"), assign.value);
    }
    const Name& name = found->second;
    if (name.kind != Name::Kind::kVariable || !name.is_mutable) {
      return Wrong(absl::StrCat("'", assign.name, "' is not a mutable variable"), assign.value);
    }
    if (name.type != assign.value->type) {
      return Wrong(absl::StrCat("'", assign.name, "' of type ", ToString(name.type),
                                " is assigned type ", ToString(assign.value->type)),
                   assign.value);
    }
    return absl::OkStatus();
  }

  absl::Status CheckStore(const std::string& buffer, DataType stored, const ExprPtr& index,
                          const ExprPtr& value) {
    const auto found = names_.find(buffer);
    if (found != names_.end() && found->second.kind == Name::Kind::kInput) {
      return Wrong(absl::StrCat("store to the input '", buffer, "'"), value);
    }
    return CheckPlace(buffer, stored, index, value);
  }

  absl::Status CheckAtomicUpdate(const AtomicUpdate& update) {
    if (update.op != ScalarOp::kAdd && update.op != ScalarOp::kMul && update.op != ScalarOp::kMin &&
        update.op != ScalarOp::kMax) {
      return Wrong("the operation has no atomic form", update.value);
    }
    if (update.value->type.lanes != 1) return Wrong("atomic update by a vector", update.value);
    return CheckStore(update.buffer, update.stored, update.index, update.value);
  }

  absl::Status CheckPrefetch(const Prefetch& prefetch) {
    const auto found = names_.find(prefetch.buffer);
    const bool is_buffer = found != names_.end() && (found->second.kind == Name::Kind::kInput ||
                                                     found->second.kind == Name::Kind::kOutput);
    if (!is_buffer || found->second.type.element != prefetch.stored ||
        !IsIndex(prefetch.index->type)) {
      return Wrong(absl::StrCat("no element of '", prefetch.buffer, "' to prefetch"),
                   prefetch.index);
    }
    return absl::OkStatus();
  }

  absl::Status CheckTiles(const auto& stmt, const ExprPtr& shown) {
    const std::string wrong = ReasonInvalid(stmt, [&](const auto& name) { return IsLocal(name); });
    return wrong.empty() ? absl::OkStatus() : Wrong(wrong, shown);
  }

  bool IsLocal(const std::string& array) const {
    const auto found = names_.find(array);
    return found != names_.end() && found->second.kind == Name::Kind::kLocalArray;
  }

  absl::Status CheckFor(const For& loop) {
    TARTAN_RETURN_IF_ERROR(CheckRoot(loop.begin));
    TARTAN_RETURN_IF_ERROR(CheckRoot(loop.end));
    if (!IsIndex(loop.end->type) || loop.begin->type != loop.end->type || loop.step < 1) {
      return Wrong(absl::StrCat("loop over '", loop.name, "' by ", loop.step,
                                " is not a loop over a range of int32 or int64"),
                   loop.end);
    }
    const size_t outer = declared_.size();
    TARTAN_RETURN_IF_ERROR(DeclareName(loop.name, {Name::Kind::kVariable, loop.end->type}));
    absl::Status status = CheckScope(loop.body);
    LeaveScope(outer);
    return status;
  }

  // `value` is the expression that is loaded or stored.
  absl::Status CheckPlace(const std::string& buffer, DataType stored, const ExprPtr& index,
                          const ExprPtr& value) {
    const auto found = names_.find(buffer);
    if (found == names_.end() || found->second.kind == Name::Kind::kVariable) {
      return Wrong(absl::StrCat("'", buffer, "' is not a buffer or array in scope"), value);
    }
    const Type& memory = found->second.type;
    if (memory.element != stored) {
      return Wrong(absl::StrCat("'", buffer, "' holds ", tartan::Name(memory.element), ", not ",
                                tartan::Name(stored)),
                   value);
    }
    if (!IsIndex(index->type)) return Wrong("the index is not int32 or int64", index);
    if (memory.lanes > 1 && memory != value->type) {
      return Wrong(absl::StrCat("'", buffer, "' is an array of ", ToString(memory)), value);
    }
    const bool is_bool = stored == DataType::kBool || value->type.element == DataType::kBool;
    if (value->type.lanes > 1 && is_bool) return Wrong("bool vector in memory", value);
    return absl::OkStatus();
  }

  // Checks an expression that belongs to a statement.
  absl::Status CheckRoot(const ExprPtr& expr) {
    checked_.clear();
    return CheckExpr(expr);
  }

  absl::Status CheckExpr(const ExprPtr& expr) {
    if (expr == nullptr) return absl::InternalError("an expression is missing");
    if (!checked_.insert(expr.get()).second) return absl::OkStatus();
    if (expr->type.element == DataType::kInvalid || !IsValidLanes(expr->type.lanes)) {
      return Wrong(absl::StrCat("no expression has type ", ToString(expr->type)), expr);
    }
    TARTAN_RETURN_IF_ERROR(
        CheckChildren(*expr, [&](const ExprPtr& child) { return CheckExpr(child); }));
    return Match(
        expr->node,
        [&](const IntLiteral&) {
          return IsFloat(expr->type.element) ? Wrong("integer literal of a float type", expr)
                                             : absl::OkStatus();
        },
        [&](const FloatLiteral&) {
          return IsFloat(expr->type.element) ? absl::OkStatus()
                                             : Wrong("float literal of an integer type", expr);
        },
        [&](const Variable& variable) -> absl::Status {
          const auto found = names_.find(variable.name);
          if (found == names_.end() || found->second.kind != Name::Kind::kVariable) {
            return Wrong(absl::StrCat("'", variable.name, "' is not a variable in scope"), expr);
          }
          return found->second.type == expr->type
                     ? absl::OkStatus()
                     : Wrong(absl::StrCat("'", variable.name, "' is of type ",
                                          ToString(found->second.type), ", used as ",
                                          ToString(expr->type)),
                             expr);
        },
        [&](const Load& load) { return CheckPlace(load.buffer, load.stored, load.index, expr); },
        [&](const Apply& apply) { return CheckApply(apply, expr); },
        [&](const MultiplyAdd& sum) {
          for (const ExprPtr* operand : {&sum.a, &sum.b, &sum.accumulator}) {
            if ((*operand)->type != expr->type) return Wrong("operands of two types", expr);
          }
          return expr->type.element == DataType::kBool ? Wrong("multiply-add of bool", expr)
                                                       : absl::OkStatus();
        },
        [&](const WorkIndex& work) {
          return work.dimension >= 0 && work.dimension < 3 && IsIndex(expr->type)
                     ? absl::OkStatus()
                     : Wrong("no such work index", expr);
        },
        [&](const Lane& lane) {
          const Type& vector = lane.vector->type;
          if (lane.lane >= 0 && lane.lane < vector.lanes && vector.lanes > 1 && !IsMask(vector) &&
              expr->type == Type{vector.element, 1}) {
            return absl::OkStatus();
          }
          return Wrong("no such lane", expr);
        },
        [&](const Shuffle& shuffle) { return CheckShuffle(shuffle, expr); });
  }

  absl::Status CheckShuffle(const Shuffle& shuffle, const ExprPtr& expr) {
    const Type& type = expr->type;
    const bool is_valid = type.lanes > 1 && !IsMask(type) && shuffle.a->type == type &&
                          shuffle.b->type == type &&
                          static_cast<int>(shuffle.lanes.size()) == type.lanes &&
                          std::all_of(shuffle.lanes.begin(), shuffle.lanes.end(),
                                      [&](int lane) { return lane >= 0 && lane < 2 * type.lanes; });
    return is_valid ? absl::OkStatus() : Wrong("no such shuffle", expr);
  }

  absl::Status CheckApply(const Apply& apply, const ExprPtr& expr) {
    if (static_cast<int>(apply.operands.size()) != OperandCount(apply.op)) {
      return absl::InternalError(
          absl::StrCat(tartan::Name(apply.op), " of ", apply.operands.size(), " operands"));
    }
    if (apply.op == ScalarOp::kCast) return CheckCast(apply.operands[0]->type, expr);
    const size_t first = apply.op == ScalarOp::kSelect ? 1 : 0;
    const Type& type = apply.operands[first]->type;
    for (size_t i = first; i < apply.operands.size(); ++i) {
      if (apply.operands[i]->type != type) {
        return Wrong(absl::StrCat("operands of types ", ToString(type), " and ",
                                  ToString(apply.operands[i]->type)),
                     expr);
      }
    }
    const Type result{ResultType(apply.op, type.element), type.lanes};
    if (expr->type != result) {
      return Wrong(
          absl::StrCat("result of type ", ToString(expr->type), " instead of ", ToString(result)),
          expr);
    }
    if (apply.op == ScalarOp::kSelect) {
      const Type& condition = apply.operands[0]->type;
      if (condition.element != DataType::kBool ||
          (condition.lanes != 1 && condition.lanes != type.lanes)) {
        return Wrong(absl::StrCat("a condition of type ", ToString(condition)), expr);
      }
    } else if (IsHalf(type.element) || !IsDefined(apply.op, type.element)) {
      return Wrong(
          absl::StrCat(tartan::Name(apply.op), " is not defined for ", tartan::Name(type.element)),
          expr);
    }
    if (IsMask(type) && !IsLogic(apply.op) && apply.op != ScalarOp::kSelect) {
      return Wrong("an operation on bool vectors that is not logical", expr);
    }
    return absl::OkStatus();
  }

  absl::Status CheckCast(const Type& from, const ExprPtr& expr) {
    if (from.lanes != 1 && from.lanes != expr->type.lanes) {
      return Wrong(absl::StrCat("cast of ", ToString(from)), expr);
    }
    if (IsMask(expr->type) && from.lanes == 1) return Wrong("splat to a bool vector", expr);
    const bool meets_half = IsHalf(from.element) || IsHalf(expr->type.element);
    const bool is_rounding = ComputeType(from.element) == ComputeType(expr->type.element);
    return meets_half && !is_rounding ? Wrong("a 16-bit float is not cast to float32", expr)
                                      : absl::OkStatus();
  }

  static absl::Status Wrong(absl::string_view what, const ExprPtr& expr) {
    std::string text = ToString(expr);
    if (text.size() > 200) text = absl::StrCat(text.substr(0, 200), " …");
    return absl::InternalError(absl::StrCat(what, ": ", text));
  }

  std::unordered_map<std::string, Name> names_;
  std::vector<std::string> declared_;  // the names in scope, innermost last
  std::unordered_set<const Expr*> checked_;
  int depth_ = 0;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) {
  const absl::Status status = Verifier().Check(kernel);
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat("kernel ", kernel.name, ": ", status.message()));
}

}  // namespace tartan::loop
