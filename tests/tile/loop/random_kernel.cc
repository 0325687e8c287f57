// SPDX-License-Identifier: Apache-2.0
#include "random_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"

namespace tartan::loop {
namespace {

constexpr DataType kF32 = DataType::kFloat32;
constexpr DataType kI32 = DataType::kInt32;
constexpr int kInputs = 16;  // elements of each input
constexpr int kOutputs = 8;  // elements of each output per work-item
constexpr int kItems = 6;
const Type kInt{kI32, 1};
const Type kFloat{kF32, 1};

class Generator {
 public:
  Generator(uint64_t seed, Literals literals) : random_(seed), literals_(literals) {}

  Kernel Make() {
    Kernel kernel;
    kernel.name = "random";
    kernel.parameters = {{"y", kF32, true}, {"z", kI32, true}, {"x", kF32}, {"n", kI32}};
    kernel.global_size[0] = kItems / 2;
    kernel.global_size[1] = 2;
    kernel.local_size[1] = 2;
    kernel.body = MakeScope(4);
    return kernel;
  }

 private:
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  StmtPtr MakeScope(int depth) {
    const size_t variables = variables_.size();
    const size_t arrays = arrays_.size();
    std::vector<StmtPtr> statements;
    const int count = 1 + Pick(5);
    for (int i = 0; i < count; ++i) statements.push_back(MakeStatement(depth));
    variables_.resize(variables);
    arrays_.resize(arrays);
    return MakeBlock(std::move(statements));
  }

  StmtPtr MakeStatement(int depth) {
    switch (Pick(depth > 0 ? 9 : 6)) {
      case 0:
      case 1:
        return DeclareVariable();
      case 2:
        return AssignVariable();
      case 3:
        return MakeStore("y", kF32, OutputIndex(), Real(3));
      case 4:
        return MakeStore("z", kI32, OutputIndex(), Integer(3));
      case 5:
        return ArrayStatement();
      case 6:
      case 7: {
        const std::string name = FreshName("i");
        const ExprPtr begin = Pick(2) ? Int(Pick(3)) : Mod(Magnitude(), Int(3));
        const ExprPtr end = Add(begin, Int(Pick(4)));
        variables_.push_back({name, kInt, false});
        StmtPtr body = MakeScope(depth - 1);
        variables_.pop_back();
        return MakeFor(name, begin, end, std::move(body), 1 + Pick(2));
      }
      default: {
        StmtPtr then = MakeScope(depth - 1);
        return MakeIf(Condition(2), std::move(then), Pick(2) ? MakeScope(depth - 1) : nullptr);
      }
    }
  }

  StmtPtr DeclareVariable() {
    const bool is_mutable = Pick(3) == 0;
    const Type type = Pick(3) ? kInt : kFloat;
    const ExprPtr value = type == kInt ? Bounded(Integer(3)) : Real(3);
    const std::string name = FreshName("v");
    variables_.push_back({name, type, is_mutable});
    return MakeDeclare(type, name, value, is_mutable);
  }

  StmtPtr AssignVariable() {
    for (int attempt = 0; attempt < 4 && !variables_.empty(); ++attempt) {
      const Named& variable = variables_[Pick(static_cast<int>(variables_.size()))];
      if (!variable.is_mutable) continue;
      return MakeAssign(variable.name, variable.type == kInt ? Integer(3) : Real(3));
    }
    return MakeComment("no variable to assign");
  }

  StmtPtr ArrayStatement() {
    if (arrays_.empty() || Pick(3) == 0) {
      const std::string name = FreshName("a");
      std::vector<StmtPtr> statements = {MakeArray(kFloat, name, 4)};
      for (int i = 0; i < 4; ++i) statements.push_back(MakeStore(name, kF32, Int(i), Real(2)));
      arrays_.push_back(name);  // readable from here on
      return MakeBlock(std::move(statements));
    }
    return MakeStore(arrays_[Pick(static_cast<int>(arrays_.size()))], kF32, InRange(4), Real(3));
  }

  // Names are now and then used again in sibling scopes.
  std::string FreshName(const char* prefix) {
    for (int i = 0;; ++i) {
      const std::string name = absl::StrCat(prefix, i);
      bool taken = std::count(arrays_.begin(), arrays_.end(), name) > 0;
      for (const Named& variable : variables_) taken = taken || variable.name == name;
      if (!taken) return name;
    }
  }

  // Keeps names small where index arithmetic must not overflow.
  ExprPtr Bounded(ExprPtr value) {
    return literals_ == Literals::kAny ? value
                                       : ApplyOp(ScalarOp::kMod, {std::move(value), Int(9)});
  }

  ExprPtr InRange(int count) { return ApplyOp(ScalarOp::kMod, {Integer(2), Int(count)}); }

  // Every work-item writes its own elements.
  ExprPtr OutputIndex() {
    const ExprPtr item = Add(Mul(Work(WorkId::kGlobal, 0), Int(2)), Work(WorkId::kLocal, 1));
    return Add(Mul(item, Int(kOutputs)), InRange(kOutputs));
  }

  ExprPtr Magnitude() { return ApplyOp(ScalarOp::kMod, {Integer(2), Int(100)}); }

  ExprPtr Leaf(Type type) {
    for (int attempt = 0; attempt < 4 && !variables_.empty(); ++attempt) {
      const Named& variable = variables_[Pick(static_cast<int>(variables_.size()))];
      if (variable.type == type) return Var(variable.name, type);
    }
    if (type == kInt) {
      const int64_t literals[] = {0, 1, 2, 3, 8, -1, INT32_MIN, INT32_MAX};
      if (Pick(3) == 0) return Work(WorkId::kGlobal, Pick(2));
      return Int(literals[Pick(literals_ == Literals::kAny ? 8 : 6)]);
    }
    const double literals[] = {0, -0.0, 1, -2.5, NAN, 1e30, INFINITY};
    return Float(literals[Pick(literals_ == Literals::kAny ? 7 : 5)]);
  }

  ExprPtr Integer(int depth) {
    if (depth == 0) return Leaf(kInt);
    constexpr ScalarOp kOps[] = {ScalarOp::kAdd,       ScalarOp::kSub, ScalarOp::kMul,
                                 ScalarOp::kDiv,       ScalarOp::kMod, ScalarOp::kFmod,
                                 ScalarOp::kMin,       ScalarOp::kMax, ScalarOp::kBitAnd,
                                 ScalarOp::kShiftLeft, ScalarOp::kAdd, ScalarOp::kMul};
    switch (Pick(8)) {
      case 0:
        return Leaf(kInt);
      case 1:
        return LoadFrom("n", kI32, ApplyOp(ScalarOp::kMod, {Integer(depth - 1), Int(kInputs)}));
      case 2:
        return Select(Condition(depth - 1), Integer(depth - 1), Integer(depth - 1));
      case 3:
        return Cast(Pick(2) ? Real(depth - 1) : Condition(depth - 1), kI32);
      case 4: {
        const ExprPtr sum = Add(Mul(Integer(depth - 1), Int(4)), Integer(depth - 1));
        return Pick(2) ? Div(sum, Int(4)) : Mod(sum, Int(4));
      }
      default:
        return ApplyOp(kOps[Pick(12)], {Integer(depth - 1), Integer(depth - 1)});
    }
  }

  ExprPtr Real(int depth) {
    if (depth == 0) return Leaf(kFloat);
    constexpr ScalarOp kOps[] = {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,
                                 ScalarOp::kDiv, ScalarOp::kMin, ScalarOp::kMax};
    switch (Pick(9)) {
      case 0:
        return Leaf(kFloat);
      case 1:
        return LoadFrom("x", kF32, ApplyOp(ScalarOp::kMod, {Integer(depth - 1), Int(kInputs)}));
      case 2:
        return Select(Condition(depth - 1), Real(depth - 1), Real(depth - 1));
      case 3:
        return Cast(Integer(depth - 1), kF32);
      case 4:
        if (arrays_.empty()) return Leaf(kFloat);
        return LoadFrom(arrays_[Pick(static_cast<int>(arrays_.size()))], kF32, InRange(4));
      case 5:
        return LaneOf(Add(LoadFrom("x", kF32, Int(Pick(8)), 4), Real(depth - 1)), Pick(4));
      case 6: {
        const ExprPtr a = Add(LoadFrom("x", kF32, Int(Pick(8)), 4), Real(depth - 1));
        const ExprPtr b = LoadFrom("x", kF32, Int(Pick(8)), 4);
        return LaneOf(MakeShuffle(a, b, {Pick(8), Pick(8), Pick(8), Pick(8)}), Pick(4));
      }
      case 7:
        return MulAdd(Real(depth - 1), Real(depth - 1), Real(depth - 1));
      default:
        return ApplyOp(kOps[Pick(6)], {Real(depth - 1), Real(depth - 1)});
    }
  }

  ExprPtr Condition(int depth) {
    constexpr ScalarOp kOps[] = {ScalarOp::kEqual,   ScalarOp::kNotEqual,
                                 ScalarOp::kLess,    ScalarOp::kLessEqual,
                                 ScalarOp::kGreater, ScalarOp::kGreaterEqual};
    if (depth <= 0) return ApplyOp(kOps[Pick(6)], {Leaf(kInt), Leaf(kInt)});
    switch (Pick(5)) {
      case 0:
        return Not(Condition(depth - 1));
      case 1:
        return And(Condition(depth - 1), Condition(depth - 1));
      case 2:
        return Or(Condition(depth - 1), Condition(depth - 1));
      case 3:
        return ApplyOp(kOps[Pick(6)], {Real(depth - 1), Real(depth - 1)});
      default:
        return ApplyOp(kOps[Pick(6)], {Integer(depth - 1), Integer(depth - 1)});
    }
  }

  struct Named {
    std::string name;
    Type type;
    bool is_mutable;
  };

  std::mt19937_64 random_;
  const Literals literals_;
  std::vector<Named> variables_;  // in scope
  std::vector<std::string> arrays_;
};

}  // namespace

Kernel MakeRandomKernel(uint64_t seed, Literals literals) {
  return Generator(seed, literals).Make();
}

std::vector<std::vector<uint8_t>> MakeRandomKernelBuffers() {
  std::vector<std::vector<uint8_t>> buffers(4);
  buffers[0].resize(kItems * kOutputs * 4);
  buffers[1].resize(kItems * kOutputs * 4);
  const float reals[kInputs] = {0, -0.0f, 1, -1, 0.5, 3, NAN, INFINITY, -INFINITY, 7, 1e20f, 2};
  const int32_t integers[kInputs] = {0, 1, -1, 2, 3, 4, 5, INT32_MIN, INT32_MAX, 100, -7, 12};
  for (const void* values : {static_cast<const void*>(reals), static_cast<const void*>(integers)}) {
    auto& buffer = buffers[values == reals ? 2 : 3];
    buffer.resize(kInputs * 4);
    std::memcpy(buffer.data(), values, kInputs * 4);
  }
  return buffers;
}

}  // namespace tartan::loop
