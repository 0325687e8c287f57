// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstddef>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {
namespace {

bool AllEqual(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Equal(a[i], b[i])) return false;
  }
  return true;
}

bool AllEqual(const std::vector<StmtPtr>& a, const std::vector<StmtPtr>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Equal(a[i], b[i])) return false;
  }
  return true;
}

bool Same(const IntLiteral& a, const IntLiteral& b) { return a.value == b.value; }

bool Same(const FloatLiteral& a, const FloatLiteral& b) {
  return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value);
}

bool Same(const Variable& a, const Variable& b) { return a.name == b.name; }

bool Same(const Load& a, const Load& b) {
  return a.buffer == b.buffer && a.stored == b.stored && a.is_aligned == b.is_aligned &&
         Equal(a.index, b.index);
}

bool Same(const Apply& a, const Apply& b) {
  return a.op == b.op && AllEqual(a.operands, b.operands);
}

bool Same(const MultiplyAdd& a, const MultiplyAdd& b) {
  return Equal(a.a, b.a) && Equal(a.b, b.b) && Equal(a.accumulator, b.accumulator);
}

bool Same(const WorkIndex& a, const WorkIndex& b) {
  return a.id == b.id && a.dimension == b.dimension;
}

bool Same(const Lane& a, const Lane& b) { return a.lane == b.lane && Equal(a.vector, b.vector); }
bool Same(const Shuffle& a, const Shuffle& b) {
  return a.lanes == b.lanes && Equal(a.a, b.a) && Equal(a.b, b.b);
}

bool Same(const Block& a, const Block& b) { return AllEqual(a.statements, b.statements); }

bool Same(const Declare& a, const Declare& b) {
  return a.type == b.type && a.name == b.name && a.is_mutable == b.is_mutable &&
         Equal(a.value, b.value);
}

bool Same(const DeclareArray& a, const DeclareArray& b) {
  return a.type == b.type && a.name == b.name && a.size == b.size && a.space == b.space &&
         a.over == b.over && a.alignment == b.alignment;
}

bool Same(const Assign& a, const Assign& b) { return a.name == b.name && Equal(a.value, b.value); }

bool Same(const Store& a, const Store& b) {
  return a.buffer == b.buffer && a.stored == b.stored && a.is_aligned == b.is_aligned &&
         a.is_streamed == b.is_streamed && a.rounds_to_tf32 == b.rounds_to_tf32 &&
         Equal(a.index, b.index) && Equal(a.value, b.value);
}

bool Same(const For& a, const For& b) {
  return a.name == b.name && a.step == b.step && a.unroll == b.unroll && Equal(a.begin, b.begin) &&
         Equal(a.end, b.end) && Equal(a.body, b.body);
}

bool Same(const If& a, const If& b) {
  return Equal(a.condition, b.condition) && Equal(a.then, b.then) &&
         Equal(a.otherwise, b.otherwise);
}

bool Same(const Barrier& a, const Barrier& b) {
  return a.is_global == b.is_global && a.for_mma == b.for_mma;
}

bool Same(const AtomicUpdate& a, const AtomicUpdate& b) {
  return a.buffer == b.buffer && a.stored == b.stored && a.op == b.op && Equal(a.index, b.index) &&
         Equal(a.value, b.value);
}

bool Same(const Prefetch& a, const Prefetch& b) {
  return a.buffer == b.buffer && a.stored == b.stored && Equal(a.index, b.index) &&
         a.into_second_cache_only == b.into_second_cache_only;
}

bool Same(const CopyVector& a, const CopyVector& b) {
  return Equal(a.to, b.to) && Equal(a.from, b.from) && Equal(a.count, b.count);
}

bool Same(const EndCopies&, const EndCopies&) { return true; }

bool Same(const AwaitCopies& a, const AwaitCopies& b) { return a.pending == b.pending; }

bool Same(const MultiplyTiles& a, const MultiplyTiles& b) {
  return Equal(a.accumulators, b.accumulators) && Equal(a.left, b.left) &&
         Equal(a.right, b.right) && a.format == b.format && a.columns == b.columns &&
         a.left_along_rows == b.left_along_rows && a.right_along_columns == b.right_along_columns;
}

bool Same(const AwaitTiles&, const AwaitTiles&) { return true; }

bool Same(const Early& a, const Early& b) { return Equal(a.body, b.body); }

bool Same(const Once& a, const Once& b) { return Equal(a.body, b.body); }

bool Same(const Fetch& a, const Fetch& b) {
  return Equal(a.input, b.input) && Equal(a.output, b.output) && Equal(a.body, b.body);
}

bool Same(const Comment& a, const Comment& b) { return a.text == b.text; }

template <class Variant>
bool SameNode(const Variant& a, const Variant& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& node) { return Same(node, std::get<std::decay_t<decltype(node)>>(b)); }, a);
}

}  // namespace

bool Equal(const ExprPtr& a, const ExprPtr& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && a->type == b->type && SameNode(a->node, b->node);
}

bool Equal(const StmtPtr& a, const StmtPtr& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && SameNode(a->node, b->node);
}

bool Equal(const Kernel& a, const Kernel& b) {
  if (a.name != b.name || a.comments != b.comments || a.index_type != b.index_type) return false;
  if (a.parameters != b.parameters || a.sizes != b.sizes) return false;
  if (a.in_launch_batch != b.in_launch_batch || a.checks_bounds != b.checks_bounds) return false;
  for (int i = 0; i < 3; ++i) {
    if (a.local_size[i] != b.local_size[i] || a.global_size[i] != b.global_size[i]) return false;
  }
  return Equal(a.body, b.body);
}

}  // namespace tartan::loop
