// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_stages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tile/loop/forward_stores.h"
#include "tile/loop/rename.h"
#include "tile/lower/emit/index_emitter.h"

namespace tartan::lower {
using ir::ValueId;
using loop::ExprPtr;
using loop::StmtPtr;

RowStages::RowStages(const std::vector<poly::RowKernel>& kernels,
                     const std::vector<poly::RowTensor>& tensors, DataType index_type,
                     std::vector<int> arrays)
    : IndexBuilder(index_type), kernels_(kernels), tensors_(tensors), arrays_(std::move(arrays)) {
  const auto add = [&](ValueId value, DataType type, bool is_output, const std::string& name) {
    if (!names_.emplace(value, name).second) return;
    parameters_.push_back({name, type, is_output});
    values_.push_back(value);
  };
  for (const poly::RowKernel& kernel : kernels_) {
    if (kernel.output >= 0) continue;
    for (const poly::Output& output : kernel.flat.outputs) {
      add(output.value, output.shape.type, true, absl::StrCat("out", names_.size()));
    }
  }
  const size_t outputs = names_.size();
  for (const poly::RowKernel& kernel : kernels_) {
    for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
      if (kernel.tensors[t] >= 0) continue;
      const poly::Tensor& tensor = kernel.flat.tensors[t];
      add(tensor.value, tensor.shape.type, false, absl::StrCat("in", names_.size() - outputs));
    }
  }
}

FusedRowKernel RowStages::Begin(const std::string& name, const std::string& plan) const {
  FusedRowKernel chain;
  loop::Kernel& kernel = chain.kernel;
  kernel.name = name;
  for (const poly::RowKernel& row_kernel : kernels_) {
    kernel.comments.insert(kernel.comments.end(), row_kernel.flat.comments.begin(),
                           row_kernel.flat.comments.end());
  }
  for (absl::string_view line : absl::StrSplit(plan, '\n')) kernel.comments.emplace_back(line);
  kernel.index_type = index_type_;
  kernel.parameters = parameters_;
  chain.parameters = values_;
  return chain;
}

std::string RowStages::KeptName(int tensor) const {
  return absl::StrCat("kept", arrays_.empty() ? tensor : arrays_[tensor]);
}

std::string RowStages::RowName(size_t axis) { return absl::StrCat("row", axis); }

std::vector<StmtPtr> RowStages::DeclareRows(const ExprPtr& number, const std::vector<int64_t>& rows,
                                            const std::vector<int64_t>& block) const {
  std::vector<StmtPtr> statements;
  int64_t all = 1;
  const auto count_of = [&](size_t a) { return (rows[a] + block[a] - 1) / block[a]; };
  for (size_t a = 0; a < rows.size(); ++a) all *= count_of(a);
  int64_t below = 1;
  for (size_t a = rows.size(); a-- > 0;) {
    const int64_t count = count_of(a);
    if (count == 1) continue;
    ExprPtr position = loop::Div(number, Number(below));
    if (below * count < all) position = loop::Mod(position, Number(count));
    ExprPtr begin = loop::Mul(position, Number(block[a]));
    if (rows[a] % block[a] != 0) begin = loop::Min(begin, Number(rows[a] - block[a]));
    statements.push_back(loop::MakeDeclare(IndexType(), RowName(a), std::move(begin)));
    below *= count;
  }
  return statements;
}

StmtPtr RowStages::DeclareKept(size_t stage, const std::vector<int64_t>& block,
                               loop::Space space) const {
  const poly::RowKernel& kernel = kernels_[stage];
  if (kernel.output < 0) return nullptr;
  if (!arrays_.empty() && arrays_[kernel.output] != kernel.output) return nullptr;
  const poly::RowTensor& tensor = tensors_[kernel.output];
  const TensorShape shape = tensor.Shape(kernel.flat.outputs[0].shape.type, block);
  return loop::MakeArray({shape.type, 1}, KeptName(kernel.output),
                         tensor.before + shape.element_count() + tensor.after, space);
}

std::vector<StmtPtr> RowStages::DeclareKept(const std::vector<int64_t>& block,
                                            loop::Space space) const {
  std::vector<StmtPtr> arrays;
  for (size_t s = 0; s < kernels_.size(); ++s) {
    if (StmtPtr array = DeclareKept(s, block, space)) arrays.push_back(std::move(array));
  }
  return arrays;
}

std::string RowStages::NameOf(size_t stage, size_t tensor) const {
  const poly::RowKernel& kernel = kernels_[stage];
  return kernel.tensors[tensor] >= 0 ? KeptName(kernel.tensors[tensor])
                                     : names_.at(kernel.flat.tensors[tensor].value);
}

loop::Renaming RowStages::Names(size_t stage, const std::set<std::string>& declared) const {
  const poly::RowKernel& kernel = kernels_[stage];
  loop::Renaming names;
  for (const std::string& name : declared) names[name] = absl::StrCat("s", stage, "_", name);
  for (size_t t = 0; t < kernel.flat.tensors.size(); ++t) {
    names[absl::StrCat("in", t)] = NameOf(stage, t);
  }
  for (size_t o = 0; o < kernel.flat.outputs.size(); ++o) {
    names[absl::StrCat("out", o)] =
        kernel.output >= 0 ? KeptName(kernel.output) : names_.at(kernel.flat.outputs[o].value);
  }
  return names;
}

StmtPtr RowStages::Named(size_t stage, const StmtPtr& statement) const {
  const loop::Renaming names = Names(stage, loop::DeclaredNames(statement));
  return loop::MakeBlock(
      {loop::MakeComment(kernels_[stage].flat.name), loop::Rename(statement, names)});
}

VectorLoop RowStages::Named(size_t stage, const VectorLoop& loop) const {
  const StmtPtr before = loop::MakeBlock(loop.before);
  const StmtPtr before_chunk = loop::MakeBlock(loop.before_chunk);
  const StmtPtr after_chunk = loop::MakeBlock(loop.after_chunk);
  const StmtPtr after = loop::MakeBlock(loop.after);
  const loop::Renaming names = Names(
      stage,
      loop::DeclaredNames(loop::MakeBlock({before, before_chunk, loop.body, after_chunk, after})));
  const StmtPtr comment = loop::MakeComment(kernels_[stage].flat.name);
  return {{loop::Rename(before, names)},
          loop.chunk_steps,
          {loop::Rename(before_chunk, names)},
          {loop::Rename(after_chunk, names)},
          loop::MakeBlock({comment, loop::Rename(loop.body, names)}),
          {loop::Rename(after, names)}};
}

std::vector<StmtPtr> RowStages::Named(size_t stage, std::vector<StmtPtr> statements) const {
  const loop::Renaming names = Names(stage, loop::DeclaredNames(loop::MakeBlock(statements)));
  const StmtPtr comment = loop::MakeComment(kernels_[stage].flat.name);
  for (StmtPtr& statement : statements) {
    statement = loop::MakeBlock({comment, loop::Rename(statement, names)});
  }
  return statements;
}

StmtPtr RowStages::WithoutReloads(const StmtPtr& statements) const {
  std::set<std::string> kept;
  for (const poly::RowKernel& kernel : kernels_) {
    if (kernel.output >= 0) kept.insert(KeptName(kernel.output));
  }
  return loop::ForwardStores(statements,
                             [&](const std::string& buffer) { return kept.count(buffer) > 0; });
}

bool RowStages::ReadsWhatIsWritten(size_t stage) const {
  return poly::ReadsFromMemory(kernels_[stage], poly::ResultsInMemory(kernels_));
}

bool RowStages::IsReadFromBuffers(size_t stage) const {
  if (kernels_[stage].output >= 0) return false;
  for (const poly::Output& output : kernels_[stage].flat.outputs) {
    for (size_t later = stage + 1; later < kernels_.size(); ++later) {
      for (const poly::Tensor& tensor : kernels_[later].flat.tensors) {
        if (tensor.value == output.value) return true;
      }
    }
  }
  return false;
}

DataType RowIndexType(const std::vector<poly::RowKernel>& kernels, const LowerOptions& options) {
  const bool is_wide =
      options.force_64bit_indices ||
      std::any_of(kernels.begin(), kernels.end(),
                  [](const poly::RowKernel& kernel) { return NeedsWideIndices(kernel.flat); });
  return is_wide ? DataType::kInt64 : DataType::kInt32;
}

}  // namespace tartan::lower
