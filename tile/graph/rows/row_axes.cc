// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/row_axes.h"

#include <algorithm>
#include <iterator>

#include "tile/graph/rows/row_layout.h"
#include "tile/poly/rewrite_kernel.h"
#include "tile/poly/unroll.h"

namespace tartan::graph {

using math::Affine;
using poly::FlatContraction;

namespace {

// Returns for each tensor that the body reads the row axes along which it varies.
std::vector<std::vector<int>> RowAxesOfReads(const FlatContraction& flat,
                                             const std::vector<int>& axes) {
  FlatContraction body = flat;
  body.outputs.clear();
  std::vector<std::vector<int>> all;
  poly::VisitExprs(body, [&](const poly::Expr& expr) {
    const auto* read = std::get_if<poly::Read>(&expr.node);
    if (read == nullptr) return;
    const std::vector<Affine>& coords = flat.accesses[read->access].coords;
    std::vector<int>& along = all.emplace_back();
    std::copy_if(axes.begin(), axes.end(), std::back_inserter(along), [&](int row) {
      return std::any_of(coords.begin(), coords.end(),
                         [&](const Affine& coord) { return !coord.coefficient(row).is_zero(); });
    });
  });
  return all;
}

}  // namespace

std::set<int> GatheredTensors(const FlatContraction& flat) {
  std::set<int> tensors;
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    if (const auto* read = std::get_if<poly::ReadAt>(&expr.node)) tensors.insert(read->tensor);
  });
  return tensors;
}

std::optional<std::vector<int>> WrittenAxes(const FlatContraction& flat,
                                            const std::vector<int>& axes) {
  std::vector<int> of_dims(flat.output_coords.size(), -1);
  for (size_t a = 0; a < axes.size(); ++a) {
    int found = 0;
    for (size_t d = 0; d < of_dims.size(); ++d) {
      if (flat.output_coords[d].coefficient(axes[a]).is_zero()) continue;
      if (!(flat.output_coords[d] == Affine::Variable(axes[a]))) return std::nullopt;
      of_dims[d] = static_cast<int>(a);
      ++found;
    }
    if (found != 1) return std::nullopt;
  }
  return of_dims;
}

std::vector<int> PlaneAxes(const FlatContraction& flat) {
  std::vector<int> planes;
  for (int i = 0; i < flat.output_index_count; ++i) {
    const bool slides = std::any_of(
        flat.accesses.begin(), flat.accesses.end(), [&](const poly::TensorAccess& access) {
          return std::any_of(access.coords.begin(), access.coords.end(), [&](const Affine& coord) {
            return !coord.coefficient(i).is_zero() && !(coord == Affine::Variable(i));
          });
        });
    if (slides) return planes;
    planes.push_back(i);
  }
  return {};
}

bool IsWindow(const FlatContraction& flat) {
  return poly::CanUnroll(flat) && !poly::MultipliesReads(flat);
}

bool IsBatchedMatmul(const FlatContraction& flat, const std::vector<int>& axes) {
  const auto* apply = std::get_if<poly::Apply>(&flat.body->node);
  if (flat.aggregation != Aggregation::kSum || !IsFloat(flat.accumulator_type) ||
      apply == nullptr || apply->op != ScalarOp::kMul || !GatheredTensors(flat).empty()) {
    return false;
  }
  bool has_columns = false;
  for (int i = 0; i < flat.output_index_count; ++i) {
    const bool is_row = std::find(axes.begin(), axes.end(), i) != axes.end();
    has_columns = has_columns || (!is_row && flat.indices[i].range > 1);
  }
  if (!has_columns) return false;
  const std::vector<std::vector<int>> operands = RowAxesOfReads(flat, axes);
  return std::none_of(operands.begin(), operands.end(),
                      [](const std::vector<int>& operand) { return operand.empty(); });
}

bool ShareRowAxis(const FlatContraction& flat, const std::vector<int>& axes) {
  const std::vector<std::vector<int>> operands = RowAxesOfReads(flat, axes);
  return std::any_of(axes.begin(), axes.end(), [&](int row) {
    return std::all_of(operands.begin(), operands.end(), [&](const std::vector<int>& operand) {
      return std::find(operand.begin(), operand.end(), row) != operand.end();
    });
  });
}

bool ReadsSingleElements(const FlatContraction& flat, const std::vector<int>& axes,
                         const std::function<bool(int tensor)>& is_one) {
  bool reads = false;
  for (const poly::TensorAccess& access : flat.accesses) {
    if (!is_one(access.tensor)) continue;
    reads = true;
    for (const Affine& coord : access.coords) {
      for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
        if (!IsRow(axes, i) && !coord.coefficient(i).is_zero()) return false;
      }
    }
  }
  return reads;
}

bool FindRowsRead(const FlatContraction& flat, const std::vector<Affine>& coords,
                  const std::vector<int>& dim_axes, const std::vector<int64_t>& rows,
                  std::vector<int>* axes) {
  for (size_t d = 0; d < coords.size(); ++d) {
    const int axis = dim_axes[d];
    if (axis < 0) continue;
    const int index = coords[d].single_variable();
    if (index < 0 || index >= flat.output_index_count || !(coords[d] == Affine::Variable(index)) ||
        flat.indices[index].range != rows[axis] || ((*axes)[axis] >= 0 && (*axes)[axis] != index)) {
      return false;
    }
    (*axes)[axis] = index;
  }
  return true;
}

bool FindRowsGiven(const FlatContraction& given, const std::vector<Affine>& coords,
                   const std::vector<int>& reader_axes, const std::vector<int64_t>& rows,
                   std::vector<int>* axes) {
  for (size_t a = 0; a < axes->size(); ++a) {
    int index = -1;
    for (size_t d = 0; d < coords.size(); ++d) {
      if (coords[d].coefficient(reader_axes[a]).is_zero()) continue;
      if (index >= 0 || !(coords[d] == Affine::Variable(reader_axes[a]))) return false;
      index = given.output_coords[d].single_variable();
    }
    if (index < 0 || given.indices[index].range != rows[a] ||
        ((*axes)[a] >= 0 && (*axes)[a] != index)) {
      return false;
    }
    (*axes)[a] = index;
  }
  return true;
}

bool Stores(const FlatContraction& flat, ir::ValueId value) {
  return std::any_of(flat.outputs.begin(), flat.outputs.end(),
                     [&](const poly::Output& output) { return output.value == value; });
}

void AddRowBytes(const FlatContraction& flat, const std::vector<int>& axes,
                 const std::vector<ir::ValueId>& storage, std::map<ir::ValueId, int64_t>* bytes) {
  const auto add = [&](ir::ValueId value, DataType type, const std::vector<Affine>& coords) {
    int64_t size = ByteWidth(type);
    for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
      const bool follows = std::any_of(coords.begin(), coords.end(), [&](const Affine& coord) {
        return !coord.coefficient(i).is_zero();
      });
      if (follows && !IsRow(axes, i)) size *= flat.indices[i].range;
    }
    int64_t& most = (*bytes)[value];
    most = std::max(most, size);
  };
  for (const poly::TensorAccess& access : flat.accesses) {
    const poly::Tensor& tensor = flat.tensors[access.tensor];
    add(storage[tensor.value], tensor.shape.type, access.coords);
  }
  for (const poly::Output& output : flat.outputs) {
    add(output.value, output.shape.type, flat.output_coords);
  }
}

int64_t Total(const std::map<ir::ValueId, int64_t>& bytes) {
  int64_t sum = 0;
  for (const auto& [value, size] : bytes) sum += size;
  return sum;
}

bool HasSeveralResults(const FlatContraction& flat, const std::vector<int>& axes) {
  if (!flat.is_reduction()) return false;
  for (int i = 0; i < flat.output_index_count; ++i) {
    if (!IsRow(axes, i) && flat.indices[i].range > 1) return true;
  }
  return false;
}

bool ReducesRows(const FlatContraction& flat, const std::vector<int>& axes, int64_t little_work) {
  if (axes.empty()) return flat.point_count() <= little_work;
  int64_t elements = 0;
  for (const poly::TensorAccess& access : flat.accesses) {
    const bool follows_rows = std::all_of(axes.begin(), axes.end(), [&](int row) {
      return std::any_of(access.coords.begin(), access.coords.end(),
                         [&](const Affine& coord) { return !coord.coefficient(row).is_zero(); });
    });
    const int64_t count = flat.tensors[access.tensor].shape.element_count();
    if (follows_rows) elements = std::max(elements, count);
  }
  return 2 * flat.point_count() <= 3 * elements;
}

bool IsRowWork(const FlatContraction& flat, const std::vector<int>& axes, bool has_planes,
               int64_t little_work) {
  if (!flat.is_reduction()) return true;
  return has_planes ? IsWindow(flat) : ReducesRows(flat, axes, little_work);
}

}  // namespace tartan::graph
