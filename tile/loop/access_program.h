// SPDX-License-Identifier: Apache-2.0
// A kernel reduced to control flow and index arithmetic, with names resolved. Internal to
// trace_accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// An expression with resolved names. Children are positions in the list of all nodes.
struct AccessNode {
  enum class Kind : uint8_t { kLiteral, kVariable, kWork, kApply, kLoad, kOther };
  Kind kind = Kind::kOther;
  ScalarOp op = ScalarOp::kIdentity;
  DataType type = DataType::kInvalid;    // kApply: of the operands
  DataType result = DataType::kInvalid;  // kApply
  int64_t value = 0;                     // kLiteral
  int place = -1;  // kVariable: its slot; kWork: 3 * id + dimension; kLoad: the parameter
  int64_t lanes = 1;
  std::vector<int> children = {};  // kLoad: the index, and for a copy the element count
};

// A statement with resolved names.
struct AccessAction {
  enum class Kind : uint8_t { kEvaluate, kAssign, kStore, kLoop, kBranch };
  Kind kind = Kind::kEvaluate;
  int place = -1;  // kAssign, kLoop: a slot; kStore: a parameter
  int64_t lanes = 1;
  int64_t step = 1;
  int first = -1;   // a node: the value, the index, the begin or the condition
  int second = -1;  // a node: the end
  std::vector<AccessAction> body = {};
  std::vector<AccessAction> otherwise = {};
};

// The program that TraceAccesses executes, without statements that affect no reported access.
struct AccessProgram {
  std::vector<AccessNode> nodes;
  std::vector<AccessAction> actions;
  size_t slot_count = 0;  // variables; the first ones are the kernel's sizes, in order
};

// `reports_stores`: whether stores to parameters are reported. `reports_loads`: whether loads of
// each parameter are, by position; empty: none.
AccessProgram MakeAccessProgram(const Kernel& kernel, bool reports_stores,
                                const std::vector<bool>& reports_loads);

}  // namespace tartan::loop
