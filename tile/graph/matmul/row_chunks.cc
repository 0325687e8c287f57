// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/row_chunks.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

class Chunker {
 public:
  Chunker(const ir::Program& program, const RowRegion& region, int64_t chunks)
      : program_(program),
        region_(region),
        chunks_(chunks),
        numbers_(program.values.size(), ir::kNoValue) {}

  ir::Program Run() && {
    const auto size = static_cast<ValueId>(program_.values.size());
    std::vector<ValueId> later;
    std::vector<bool> depends(program_.values.size(), false);
    for (ValueId v = 0; v < size; ++v) {
      depends[v] = region_.members.count(v) > 0 && region_.recomputed.count(v) == 0;
      for (const ValueId operand : ir::Operands(program_.values[v].op))
        depends[v] = depends[v] || depends[operand];
      if (depends[v] || v > region_.last_operand) {
        if (!IsReplaced(v)) later.push_back(v);
      } else {
        Copy(v);
      }
    }
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) AppendChunk(chunk);
    for (const ValueId v : later) Copy(v);
    result_.name = program_.name;
    result_.output_names = program_.output_names;
    for (const ValueId input : program_.inputs) result_.inputs.push_back(numbers_[input]);
    for (const ValueId output : program_.outputs) result_.outputs.push_back(numbers_[output]);
    return ir::WithoutDeadValues(std::move(result_));
  }

 private:
  bool IsReplaced(ValueId v) const {
    return region_.members.count(v) > 0 && region_.recomputed.count(v) == 0;
  }

  ValueId Append(ir::Value value) {
    result_.values.push_back(std::move(value));
    return static_cast<ValueId>(result_.values.size()) - 1;
  }

  void Copy(ValueId v) {
    ir::Value value = program_.values[v];
    ir::RenumberOperands(value.op, numbers_);
    numbers_[v] = Append(std::move(value));
  }

  // Shifts index `axis` of an access or a result from the rows of a chunk to all rows.
  void Shift(int axis, int64_t chunk, int64_t rows, std::vector<Affine>* indices) const {
    (*indices)[axis] = (*indices)[axis] + Affine::Constant(chunk * rows);
  }

  void AppendChunk(int64_t chunk) {
    copies_.clear();
    slices_.clear();
    for (const auto& [v, member] : region_.members) copies_[v] = AppendCopy(v, member, chunk);
    for (const ValueId v : region_.rows) Place(v, chunk);
    for (const ValueId v : region_.sums) {
      const ir::Elementwise sum = {ScalarOp::kAdd, {numbers_[v], copies_[v]}};
      const ir::Value& value = program_.values[v];
      const std::string name =
          chunk + 1 == chunks_ ? value.name : absl::StrCat(value.name, "_to", chunk);
      numbers_[v] = chunk == 0 ? copies_[v] : Append({name, value.shape, sum});
    }
  }

  ValueId AppendCopy(ValueId v, const RowRegion::Member& member, int64_t chunk) {
    ir::Value value = program_.values[v];
    value.name = absl::StrCat(value.name, "_part", chunk);
    if (member.axis != RowRegion::kWhole) value.shape.dims[member.axis] /= chunks_;
    std::vector<ValueId> numbers = numbers_;
    const std::vector<ValueId> operands = ir::Operands(value.op);
    auto* contraction = std::get_if<ir::Contraction>(&value.op);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (const auto copy = copies_.find(operands[i]); copy != copies_.end()) {
        numbers[operands[i]] = copy->second;
        continue;
      }
      const int axis = region_.AxisOf(program_, v, i);
      if (axis == RowRegion::kWhole) continue;
      if (contraction != nullptr) {
        const int64_t rows = program_.values[operands[i]].shape.dims[axis] / chunks_;
        Shift(axis, chunk, rows, &contraction->inputs[i].indices);
      } else {
        numbers[operands[i]] = Slice(operands[i], axis, chunk);
      }
    }
    ir::RenumberOperands(value.op, numbers);
    return Append(std::move(value));
  }

  // The rows of a chunk of a value that is no member.
  ValueId Slice(ValueId v, int axis, int64_t chunk) {
    if (const auto found = slices_.find(v); found != slices_.end()) return found->second;
    TensorShape shape = program_.values[v].shape;
    shape.dims[axis] /= chunks_;
    ir::Contraction slice = IdentityCopy(numbers_[v], shape.dims.size());
    Shift(axis, chunk, shape.dims[axis], &slice.inputs.front().indices);
    return slices_[v] = Append({"", std::move(shape), std::move(slice)});
  }

  // Writes a chunk's rows into the concatenation.
  void Place(ValueId v, int64_t chunk) {
    const ir::Value& value = program_.values[v];
    const int axis = region_.members.at(v).axis;
    ir::Contraction piece = IdentityCopy(copies_[v], value.shape.dims.size());
    Shift(axis, chunk, value.shape.dims[axis] / chunks_, &piece.output.indices);
    piece.default_value = numbers_[v];
    const std::string name =
        chunk + 1 == chunks_ ? value.name : absl::StrCat(value.name, "_to", chunk);
    numbers_[v] = Append({name, value.shape, std::move(piece)});
  }

  const ir::Program& program_;
  const RowRegion& region_;
  const int64_t chunks_;
  ir::Program result_;
  // New numbers of values that are no members, and of results of the chunks so far.
  std::vector<ValueId> numbers_;
  std::map<ValueId, ValueId> copies_;  // members, for the current chunk
  std::map<ValueId, ValueId> slices_;  // other values, for the current chunk
};

}  // namespace

ir::Program ComputeInChunks(const ir::Program& program, const RowRegion& region, int64_t chunks) {
  return Chunker(program, region, chunks).Run();
}

}  // namespace tartan::graph
