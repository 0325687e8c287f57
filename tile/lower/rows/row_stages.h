// SPDX-License-Identifier: Apache-2.0
// What the kernels of chains have in common, on any device: parameters, what is kept for a block of
// rows, and the names of it all.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/loop/loop_ir.h"
#include "tile/loop/rename.h"
#include "tile/lower/cpu/task_kernel.h"
#include "tile/lower/lower_options.h"
#include "tile/poly/row_block.h"

namespace tartan::lower {

struct RowChainKernel {
  loop::Kernel kernel;
  std::vector<ir::ValueId> parameters;  // the value that each parameter holds
};

class RowStages {
 public:
  // The chain's kernels in order. The arguments outlive the object. `arrays`: in whose array each
  // kept tensor lies; empty: each has its own.
  RowStages(const std::vector<poly::RowKernel>& kernels,
            const std::vector<poly::RowTensor>& tensors, DataType index_type,
            std::vector<int> arrays = {});

  // Comments, parameters (what is written first), index type and which values they are.
  RowChainKernel Begin(const std::string& name, const std::string& plan) const;

  // Declares where a block begins, as RowName(a) for every row axis with several blocks; the last
  // varies fastest. The last block is drawn back over its neighbour where blocks do not divide an
  // axis.
  std::vector<loop::StmtPtr> DeclareRows(const loop::ExprPtr& number,
                                         const std::vector<int64_t>& rows,
                                         const std::vector<int64_t>& block) const;
  // Declares the array that holds a block of a stage's result; null where that is in buffers, or in
  // an earlier stage's array.
  loop::StmtPtr DeclareKept(size_t stage, const std::vector<int64_t>& block,
                            loop::Space space) const;
  // Those of all stages.
  std::vector<loop::StmtPtr> DeclareKept(const std::vector<int64_t>& block,
                                         loop::Space space) const;

  // What a tensor that a stage reads is called.
  std::string NameOf(size_t stage, size_t tensor) const;
  // A kernel's statements, written with the names that LowerKernel gives parameters, in the names
  // of the chain.
  loop::StmtPtr Named(size_t stage, const loop::StmtPtr& statement) const;
  VectorLoop Named(size_t stage, const VectorLoop& loop) const;
  // Of statements in one scope.
  std::vector<loop::StmtPtr> Named(size_t stage, std::vector<loop::StmtPtr> statements) const;

  // The statements of several stages for one place of the row, in which what one has computed for
  // the chain is not loaded again by the next.
  loop::StmtPtr WithoutReloads(const loop::StmtPtr& statements) const;

  // The stage reads buffers that stages of the chain write: what lies beside its row there is
  // another work-group's.
  bool ReadsWhatIsWritten(size_t stage) const;
  // What the stage stores is in buffers, and a later stage reads it.
  bool IsReadFromBuffers(size_t stage) const;

  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  loop::Type IndexType() const { return {index_type_, 1}; }
  loop::ExprPtr Var(const std::string& name) const { return loop::Var(name, IndexType()); }
  static std::string RowName(size_t axis);

 private:
  std::string KeptName(int tensor) const;
  // The chain's names of a kernel's parameters and of what its statements declare.
  loop::Renaming Names(size_t stage, const std::set<std::string>& declared) const;

  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const DataType index_type_;
  const std::vector<int> arrays_;
  std::map<ir::ValueId, std::string> names_;  // of parameters
  std::vector<loop::Parameter> parameters_;
  std::vector<ir::ValueId> values_;  // of parameters
};

inline void Append(std::vector<loop::StmtPtr> from, std::vector<loop::StmtPtr>* to) {
  for (loop::StmtPtr& statement : from) to->push_back(std::move(statement));
}

// 64-bit where some kernel, or some block of one, needs it.
DataType RowIndexType(const std::vector<poly::RowKernel>& kernels, const LowerOptions& options);

}  // namespace tartan::lower
