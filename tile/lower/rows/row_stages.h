// SPDX-License-Identifier: Apache-2.0
// The parameters, intermediate arrays and names that the stages of a row fusion share, on any
// device.
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
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/poly/row_block.h"

namespace tartan::lower {

struct FusedRowKernel {
  loop::Kernel kernel;
  std::vector<ir::ValueId> parameters;  // the value that each parameter holds
};

class RowStages : public IndexBuilder {
 public:
  // `kernels` are the fused kernels in order. The arguments outlive the object. `arrays`: the
  // tensor whose array each kept tensor shares; empty: each has its own.
  RowStages(const std::vector<poly::RowKernel>& kernels,
            const std::vector<poly::RowTensor>& tensors, DataType index_type,
            std::vector<int> arrays = {});

  // Creates the kernel: comments, parameters (outputs first) and index type, and the parameters'
  // values.
  FusedRowKernel Begin(const std::string& name, const std::string& plan) const;

  // Declares where a block begins, as RowName(a) for every row axis with several blocks; the last
  // varies fastest. If blocks do not divide an axis, the last block overlaps the one before it.
  std::vector<loop::StmtPtr> DeclareRows(const loop::ExprPtr& number,
                                         const std::vector<int64_t>& rows,
                                         const std::vector<int64_t>& block) const;
  // Declares the array for a block of a stage's result; null if the result is in buffers or in an
  // earlier stage's array.
  loop::StmtPtr DeclareKept(size_t stage, const std::vector<int64_t>& block,
                            loop::Space space) const;
  // Declares the arrays of all stages.
  std::vector<loop::StmtPtr> DeclareKept(const std::vector<int64_t>& block,
                                         loop::Space space) const;

  // The name of a tensor that a stage reads.
  std::string NameOf(size_t stage, size_t tensor) const;
  // Renames the parameters in a kernel's statements from LowerKernel's names to the fused kernel's
  // names.
  loop::StmtPtr Named(size_t stage, const loop::StmtPtr& statement) const;
  VectorLoop Named(size_t stage, const VectorLoop& loop) const;
  // The same for statements in one scope.
  std::vector<loop::StmtPtr> Named(size_t stage, std::vector<loop::StmtPtr> statements) const;

  // The statements of several stages at one position of the row, without loads of values that an
  // earlier stage has just computed.
  loop::StmtPtr WithoutReloads(const loop::StmtPtr& statements) const;

  // Returns whether the stage reads buffers that other stages write. Elements outside its rows
  // there belong to another work-group.
  bool ReadsWhatIsWritten(size_t stage) const;
  // Returns whether the stage stores to buffers that a later stage reads.
  bool IsReadFromBuffers(size_t stage) const;

  static std::string RowName(size_t axis);

 private:
  std::string KeptName(int tensor) const;
  // Renaming from a kernel's parameters and declarations to names of the fused kernel.
  loop::Renaming Names(size_t stage, const std::set<std::string>& declared) const;

  const std::vector<poly::RowKernel>& kernels_;
  const std::vector<poly::RowTensor>& tensors_;
  const std::vector<int> arrays_;
  std::map<ir::ValueId, std::string> names_;  // of parameters
  std::vector<loop::Parameter> parameters_;
  std::vector<ir::ValueId> values_;  // of parameters
};

inline void Append(std::vector<loop::StmtPtr> from, std::vector<loop::StmtPtr>* to) {
  for (loop::StmtPtr& statement : from) to->push_back(std::move(statement));
}

// 64-bit if some kernel, or some block of one, needs it.
DataType RowIndexType(const std::vector<poly::RowKernel>& kernels, const LowerOptions& options);

}  // namespace tartan::lower
