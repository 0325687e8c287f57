// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/interpret.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/scalar_value.h"
#include "tile/base/status_macros.h"
#include "tile/loop/element.h"
#include "tile/loop/interpret_state.h"
#include "tile/loop/mma.h"
#include "tile/loop/traverse.h"
#include "tile/loop/verify.h"

namespace tartan::loop {
namespace {

using Value = LaneValues;
using Memory = InterpretedMemory;
using Items = std::vector<int>;  // the work-items of a group that execute a statement

// Executes one work-group.
class Group {
 public:
  Group(const Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers, const int64_t group[3])
      : kernel_(kernel) {
    for (int i = 0; i < 3; ++i) group_[i] = group[i];
    for (size_t i = 0; i < buffers.size(); ++i) {
      Memory& memory = memory_.Of(kernel.parameters[i].name);
      memory.stored = kernel.parameters[i].stored;
      memory.bytes = {absl::MakeSpan(buffers[i])};
    }
    const int64_t items = kernel.local_size[0] * kernel.local_size[1] * kernel.local_size[2];
    for (const Size& size : kernel.sizes) {
      Scalar value{size.value};
      if (size.is_float) value.real = std::bit_cast<float>(static_cast<int32_t>(size.value));
      variables_.Of(size.name).assign(items, Value{value});
    }
  }

  absl::Status Run() {
    Items items(kernel_.local_size[0] * kernel_.local_size[1] * kernel_.local_size[2]);
    std::iota(items.begin(), items.end(), 0);
    size_ = static_cast<int>(items.size());
    return Run(kernel_.body, items);
  }

 private:
  absl::Status Run(const StmtPtr& stmt, const Items& items) {
    if (stmt == nullptr || items.empty()) return absl::OkStatus();
    TARTAN_RETURN_IF_ERROR(Match(
        stmt->node,
        [&](const Block& block) -> absl::Status {
          for (const StmtPtr& child : block.statements) {
            TARTAN_RETURN_IF_ERROR(Run(child, items));
          }
          return absl::OkStatus();
        },
        [&](const Declare& declare) {
          std::vector<Value>& values = variables_.Of(declare.name);
          values.resize(size_);
          for (int item : items) {
            values[item] = declare.value != nullptr ? Evaluate(declare.value, item)
                                                    : Value(declare.type.lanes);
          }
          return absl::OkStatus();
        },
        [&](const DeclareArray& array) {
          AllocateArray(array);
          return absl::OkStatus();
        },
        [&](const Assign& assign) {
          std::vector<Value>& values = variables_.Of(assign.name);
          for (int item : items) values[item] = Evaluate(assign.value, item);
          return absl::OkStatus();
        },
        [&](const Store& store) {
          RunStore(store, items);
          return absl::OkStatus();
        },
        [&](const For& loop) { return RunFor(loop, items); },
        [&](const If& branch) -> absl::Status {
          Items taken, other;
          for (int item : items) {
            (EvaluateOne(branch.condition, item).integer != 0 ? taken : other).push_back(item);
          }
          TARTAN_RETURN_IF_ERROR(Run(branch.then, taken));
          return Run(branch.otherwise, other);
        },
        [&](const Barrier&) { return MeetAll(items); },
        [&](const AtomicUpdate& update) {
          RunAtomicUpdate(update, items);
          return absl::OkStatus();
        },
        [&](const traverse::OneOf<Prefetch, EndCopies, AwaitCopies, AwaitTiles> auto&) {
          return absl::OkStatus();
        },
        [&](const traverse::OneOf<CopyVector, MultiplyTiles> auto& work) {
          for (int item : items) RunOf(work, item);
          return absl::OkStatus();
        },
        [&](const traverse::OneOf<Early, Once, Fetch> auto& part) { return Run(part.body, items); },
        [&](const Comment&) { return absl::OkStatus(); }));
    return status_;
  }

  absl::Status MeetAll(const Items& items) const {
    if (static_cast<int>(items.size()) == size_) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("kernel ", kernel_.name, ": ", items.size(), " of ",
                                            size_, " work-items reach a barrier"));
  }

  void AllocateArray(const DeclareArray& array) {
    Memory& memory = memory_.Of(array.name);
    memory.stored = array.type.element;
    memory.lanes = array.type.lanes;
    memory.is_private = array.space == Space::kPrivate;
    const int64_t bytes = array.size * array.type.lanes * ByteWidth(array.type.element);
    const int copies = memory.is_private ? size_ : 1;
    // Uninitialized memory is not zero, so that kernels that rely on zeros fail.
    memory.storage.assign(bytes * copies, 0x5a);
    memory.bytes.clear();
    for (int i = 0; i < copies; ++i) {
      memory.bytes.push_back(absl::MakeSpan(memory.storage).subspan(i * bytes, bytes));
    }
  }

  absl::Status RunFor(const For& loop, const Items& items) {
    std::vector<int64_t> next(size_);
    for (int item : items) next[item] = EvaluateOne(loop.begin, item).integer;
    Items running = items;
    while (true) {
      // The end is evaluated in each iteration, as in C.
      Items inside;
      for (int item : running) {
        if (next[item] < EvaluateOne(loop.end, item).integer) inside.push_back(item);
      }
      TARTAN_RETURN_IF_ERROR(status_);
      if (inside.empty()) return absl::OkStatus();
      running = std::move(inside);
      std::vector<Value>& values = variables_.Of(loop.name);
      values.resize(size_);
      for (int item : running) values[item] = Value{Scalar{next[item], 0}};
      TARTAN_RETURN_IF_ERROR(Run(loop.body, running));
      for (int item : running) next[item] += loop.step;
    }
  }

  void RunStore(const Store& store, const Items& items) {
    for (int item : items) {
      const Type& type = store.value->type;
      const Value value = Evaluate(store.value, item);
      uint8_t* bytes = Locate(store.buffer, store.index, type.lanes, item, store.is_aligned);
      if (bytes == nullptr) return;
      const int64_t width = ByteWidth(store.stored);
      for (int lane = 0; lane < type.lanes; ++lane) {
        Scalar converted = ConvertScalar(value[lane], type.element, ComputeType(store.stored));
        if (store.rounds_to_tf32) converted.real = RoundToTf32(static_cast<float>(converted.real));
        WriteElement(store.stored, converted, bytes + lane * width);
      }
    }
  }

  void RunAtomicUpdate(const AtomicUpdate& update, const Items& items) {
    const DataType type = ComputeType(update.stored);
    for (int item : items) {
      const Value value = Evaluate(update.value, item);
      uint8_t* bytes = Locate(update.buffer, update.index, 1, item);
      if (bytes == nullptr) return;
      const Scalar operands[] = {ReadElement(update.stored, bytes),
                                 ConvertScalar(value[0], update.value->type.element, type)};
      WriteElement(update.stored, EvaluateScalar(update.op, type, operands), bytes);
    }
  }

  void RunOf(const CopyVector& copy, int item) {
    const auto& to = std::get<Load>(copy.to->node);
    const auto& from = std::get<Load>(copy.from->node);
    const int lanes = copy.to->type.lanes;
    const int64_t count = copy.count == nullptr ? lanes : EvaluateOne(copy.count, item).integer;
    uint8_t* target = Locate(to.buffer, to.index, lanes, item, to.is_aligned);
    if (target == nullptr) return;
    std::fill_n(target, lanes * ByteWidth(to.stored), uint8_t{0});
    if (count == 0) return;
    const bool is_whole = count == lanes;
    const uint8_t* source =
        Locate(from.buffer, from.index, static_cast<int>(count), item, is_whole && from.is_aligned);
    if (source != nullptr) std::copy_n(source, count * ByteWidth(to.stored), target);
  }

  void RunOf(const MultiplyTiles& product, int item) {
    const auto locate = [&](const ExprPtr& place, int64_t elements) {
      const auto& load = std::get<Load>(place->node);
      return Locate(load.buffer, load.index, static_cast<int>(elements), item);
    };
    const uint8_t* left = locate(product.left, LeftTile(product).size());
    const uint8_t* right = locate(product.right, RightTile(product).size());
    uint8_t* totals = locate(product.accumulators, product.columns / 2);
    if (left == nullptr || right == nullptr || totals == nullptr) return;
    AddTileMatmul(product, item, left, right, totals);
  }

  // The address of `lanes` elements. If they are out of bounds or not aligned as declared, sets
  // status_ and returns null.
  uint8_t* Locate(const std::string& buffer, const ExprPtr& index, int lanes, int item,
                  bool is_aligned = false) {
    const Memory& memory = memory_.Of(buffer);
    const absl::Span<uint8_t> bytes = memory.bytes[memory.is_private ? item : 0];
    const int64_t count = static_cast<int64_t>(bytes.size()) / ByteWidth(memory.stored);
    const int64_t unit = EvaluateOne(index, item).integer;
    if (!status_.ok()) return nullptr;
    if (unit < 0 || unit > count || unit * memory.lanes + lanes > count) {
      status_ = absl::OutOfRangeError(absl::StrCat(
          "kernel ", kernel_.name, ": index ", unit, " with ", lanes, " lanes is outside of '",
          buffer, "' of ", count / memory.lanes, " elements"));
      return nullptr;
    }
    if (is_aligned && unit % lanes != 0) {
      status_ =
          absl::OutOfRangeError(absl::StrCat("kernel ", kernel_.name, ": index ", unit, " of '",
                                             buffer, "' is not aligned for ", lanes, " lanes"));
      return nullptr;
    }
    return bytes.data() + unit * memory.lanes * ByteWidth(memory.stored);
  }

  // The value of an expression with one lane.
  Scalar EvaluateOne(const ExprPtr& expr, int item) {
    if (const auto* literal = std::get_if<IntLiteral>(&expr->node)) {
      return Scalar{literal->value, 0};
    }
    if (const auto* variable = std::get_if<Variable>(&expr->node)) {
      return variables_.Of(variable->name)[item][0];
    }
    if (const auto* work = std::get_if<WorkIndex>(&expr->node)) {
      return Scalar{EvaluateWorkIndex(*work, item), 0};
    }
    const auto* apply = std::get_if<Apply>(&expr->node);
    if (apply != nullptr && expr->type.lanes == 1) return ApplyToOne(*apply, expr->type, item);
    return Evaluate(expr, item)[0];
  }

  Value Evaluate(const ExprPtr& expr, int item) {
    const Type& type = expr->type;
    return Match(
        expr->node,
        [&](const IntLiteral& literal) {
          return Value(type.lanes, Scalar{literal.value, 0});
        },
        [&](const FloatLiteral& literal) {
          return Value(type.lanes, Scalar{0, literal.value});
        },
        [&](const Variable& variable) { return variables_.Of(variable.name)[item]; },
        [&](const Load& load) { return EvaluateLoad(load, type, item); },
        [&](const Apply& apply) { return EvaluateApply(apply, type, item); },
        [&](const MultiplyAdd& sum) { return EvaluateMultiplyAdd(sum, type, item); },
        [&](const WorkIndex& work) {
          return Value{Scalar{EvaluateWorkIndex(work, item), 0}};
        },
        [&](const Lane& lane) { return Value{Evaluate(lane.vector, item)[lane.lane]}; },
        [&](const Shuffle& shuffle) {
          Value both = Evaluate(shuffle.a, item);
          const Value b = Evaluate(shuffle.b, item);
          both.insert(both.end(), b.begin(), b.end());
          Value result;
          for (int lane : shuffle.lanes) result.push_back(both[lane]);
          return result;
        });
  }

  Value EvaluateLoad(const Load& load, const Type& type, int item) {
    Value result(type.lanes);
    const uint8_t* bytes = Locate(load.buffer, load.index, type.lanes, item, load.is_aligned);
    if (bytes == nullptr) return result;
    const int64_t width = ByteWidth(load.stored);
    for (int lane = 0; lane < type.lanes; ++lane) {
      const Scalar element = ReadElement(load.stored, bytes + lane * width);
      result[lane] = ConvertScalar(element, ComputeType(load.stored), type.element);
    }
    return result;
  }

  // For scalar conditions only the operands that C would evaluate are evaluated, because a
  // condition may guard a load.
  Scalar ApplyToOne(const Apply& apply, const Type& type, int item) {
    const Scalar first = EvaluateOne(apply.operands[0], item);
    if (apply.op == ScalarOp::kSelect) {
      return EvaluateOne(apply.operands[first.integer != 0 ? 1 : 2], item);
    }
    if (apply.op == ScalarOp::kLogicalAnd || apply.op == ScalarOp::kLogicalOr) {
      const bool is_decided = (first.integer != 0) == (apply.op == ScalarOp::kLogicalOr);
      return is_decided ? first : EvaluateOne(apply.operands[1], item);
    }
    const DataType from = apply.operands.back()->type.element;
    if (apply.op == ScalarOp::kCast) return ConvertScalar(first, from, type.element);
    Scalar values[3] = {first};
    for (size_t i = 1; i < apply.operands.size(); ++i) {
      values[i] = EvaluateOne(apply.operands[i], item);
    }
    return EvaluateScalar(apply.op, from, absl::MakeSpan(values, apply.operands.size()));
  }

  Value EvaluateApply(const Apply& apply, const Type& type, int item) {
    if (type.lanes == 1) return Value{ApplyToOne(apply, type, item)};
    if (apply.op == ScalarOp::kSelect && apply.operands[0]->type.lanes == 1) {
      const bool condition = EvaluateOne(apply.operands[0], item).integer != 0;
      return Evaluate(apply.operands[condition ? 1 : 2], item);
    }
    absl::InlinedVector<Value, 3> operands;
    for (const ExprPtr& operand : apply.operands) operands.push_back(Evaluate(operand, item));
    const DataType from = apply.operands.back()->type.element;
    Value result(type.lanes);
    Scalar values[3];
    for (int lane = 0; lane < type.lanes; ++lane) {
      for (size_t i = 0; i < operands.size(); ++i) {
        values[i] = operands[i][operands[i].size() == 1 ? 0 : lane];
      }
      result[lane] = apply.op == ScalarOp::kCast
                         ? ConvertScalar(values[0], from, type.element)
                         : EvaluateScalar(apply.op, from, absl::MakeSpan(values, operands.size()));
    }
    return result;
  }

  Value EvaluateMultiplyAdd(const MultiplyAdd& sum, const Type& type, int item) {
    const Value a = Evaluate(sum.a, item);
    const Value b = Evaluate(sum.b, item);
    Value result = Evaluate(sum.accumulator, item);
    for (int lane = 0; lane < type.lanes; ++lane) {
      Scalar& value = result[lane];
      if (type.element == DataType::kFloat32) {
        value.real = std::fma(static_cast<float>(a[lane].real), static_cast<float>(b[lane].real),
                              static_cast<float>(value.real));
      } else if (IsFloat(type.element)) {
        value.real = std::fma(a[lane].real, b[lane].real, value.real);
      } else {
        const Scalar product[] = {value,
                                  EvaluateScalar(ScalarOp::kMul, type.element, {a[lane], b[lane]})};
        value = EvaluateScalar(ScalarOp::kAdd, type.element, product);
      }
    }
    return result;
  }

  int64_t EvaluateWorkIndex(const WorkIndex& work, int item) const {
    const int64_t* size = kernel_.local_size;
    const int64_t local[] = {item % size[0], item / size[0] % size[1], item / size[0] / size[1]};
    const int dimension = work.dimension;
    switch (work.id) {
      case WorkId::kGlobal:
        return group_[dimension] * size[dimension] + local[dimension];
      case WorkId::kGroup:
        return group_[dimension];
      case WorkId::kLocal:
        return local[dimension];
    }
    return 0;
  }

  const Kernel& kernel_;
  int64_t group_[3];
  int size_ = 0;         // work-items in the group
  absl::Status status_;  // the first error in an expression
  ByName<std::vector<Value>> variables_;
  ByName<Memory> memory_;
};

}  // namespace

absl::Status Interpret(const Kernel& kernel, absl::Span<std::vector<uint8_t>> buffers) {
  TARTAN_RETURN_IF_ERROR(Verify(kernel));
  if (buffers.size() != kernel.parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.name, " has ", kernel.parameters.size(),
                     " parameters, but got ", buffers.size(), " buffers"));
  }
  int64_t groups[3];
  for (int i = 0; i < 3; ++i) groups[i] = kernel.global_size[i] / kernel.local_size[i];
  int64_t group[3];
  for (group[2] = 0; group[2] < groups[2]; ++group[2]) {
    for (group[1] = 0; group[1] < groups[1]; ++group[1]) {
      for (group[0] = 0; group[0] < groups[0]; ++group[0]) {
        TARTAN_RETURN_IF_ERROR(Group(kernel, buffers, group).Run());
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace tartan::loop
