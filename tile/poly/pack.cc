// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/pack.h"

#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

bool Reads(const ExprPtr& expr, int access) {
  if (expr == nullptr) return false;
  if (const auto* read = std::get_if<Read>(&expr->node)) return read->access == access;
  if (const auto* apply = std::get_if<Apply>(&expr->node)) {
    for (const ExprPtr& operand : apply->operands) {
      if (Reads(operand, access)) return true;
    }
  }
  return false;
}

std::vector<int> IndicesOf(const FlatContraction& flat, const TensorAccess& access) {
  std::vector<int> used;
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    for (const Affine& coord : access.coords) {
      if (coord.coefficient(i).is_zero()) continue;
      used.push_back(i);
      break;
    }
  }
  return used;
}

}  // namespace

bool CanPack(const FlatContraction& flat, int access_number, int index) {
  const TensorAccess& access = flat.accesses[access_number];
  if (!access.guard.empty() || !Reads(flat.body, access_number)) return false;
  for (const Output& output : flat.outputs) {
    if (Reads(output.expr, access_number)) return false;
  }
  bool alone = true;  // no other access reads the tensor
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    if (static_cast<int>(a) != access_number) alone &= flat.accesses[a].tensor != access.tensor;
  }
  VisitExprs(flat, [&](const Expr& expr) {
    const auto* read = std::get_if<ReadAt>(&expr.node);
    if (read != nullptr) alone &= read->tensor != access.tensor;
  });
  bool along_index = false;
  bool is_reduced = false;
  int64_t elements = 1;
  for (int i : IndicesOf(flat, access)) {
    along_index |= i == index;
    is_reduced |= i >= flat.output_index_count;
    elements *= flat.indices[i].range;
  }
  return alone && along_index && is_reduced &&
         elements <= flat.tensors[access.tensor].shape.element_count();
}

PackedKernel PackRead(const FlatContraction& flat, int access_number, int index, int64_t block) {
  PackedKernel packed;
  packed.kernel = SplitIndex(flat, index, block);
  FlatContraction& kernel = packed.kernel;
  const int lane = kernel.output_index_count - 1;
  const TensorAccess original = kernel.accesses[access_number];
  // Order of dimensions: the lane last, the others in the order of the kernel's loops.
  std::vector<int> order;
  for (int i : IndicesOf(kernel, original)) {
    if (i != lane && i != index && i < kernel.output_index_count) order.push_back(i);
  }
  order.push_back(index);
  for (int i : IndicesOf(kernel, original)) {
    if (i >= kernel.output_index_count) order.push_back(i);
  }
  order.push_back(lane);

  FlatContraction& copy = packed.copy;
  const Tensor source = kernel.tensors[original.tensor];
  copy.name = absl::StrCat(flat.name, "_packed");
  copy.tensors = {source};
  std::vector<Affine> position(kernel.indices.size());
  TensorShape shape{source.shape.type, {}};
  TensorAccess read;
  for (size_t d = 0; d < order.size(); ++d) {
    copy.indices.push_back(kernel.indices[order[d]]);
    shape.dims.push_back(kernel.indices[order[d]].range);
    copy.output_coords.push_back(Affine::Variable(static_cast<int>(d)));
    position[order[d]] = copy.output_coords.back();
    read.coords.push_back(Affine::Variable(order[d]));
  }
  copy.output_index_count = static_cast<int>(order.size());
  copy.output_dims = shape.dims;
  TensorAccess from{0, {}, {}};
  for (const Affine& coord : original.coords) from.coords.push_back(coord.Substitute(position));
  const DataType type = ComputeType(shape.type);
  ExprPtr value = MakeExpr(type, Read{0});
  if (const int64_t range = flat.indices[index].range; range % block != 0) {
    from.guard = {{position[index] * block + position[lane], range}};
    const ExprPtr zero = MakeNumber(0, type);
    value = MakeApply(ScalarOp::kSelect, type,
                      {MakeExpr(DataType::kBool, InRange{from.guard}), value, zero});
  }
  copy.accesses = {from};
  copy.outputs = {{ir::kNoValue, shape, value}};

  read.tensor = packed.tensor = original.tensor;
  kernel.tensors[original.tensor] = {ir::kNoValue, shape};
  kernel.accesses[access_number] = std::move(read);
  std::vector<int> outputs(kernel.output_index_count);
  std::iota(outputs.begin(), outputs.end(), 0);
  kernel = MergeIndices(std::move(kernel), &outputs);
  return packed;
}

}  // namespace tartan::poly
