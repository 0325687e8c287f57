// SPDX-License-Identifier: Apache-2.0
// Divides a program into kernels: which values each kernel computes, in which order kernels run,
// and their poly::FlatContraction tables, built once.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/compiler/algorithm.h"
#include "tile/fuse/judge.h"
#include "tile/fuse/row_chains.h"
#include "tile/graph/grouping/group.h"
#include "tile/poly/correlation.h"
#include "tile/poly/winograd.h"

namespace tartan::compiler {

struct SpecialKernel {
  ir::ValueId value = ir::kNoValue;  // an ir::Special
};
// The form of a kernel or of a chain of kernels. A flat contraction is one direct kernel.
using KernelForm = std::variant<poly::FlatContraction, poly::WinogradKernels, poly::PackedMatmul,
                                fuse::PlannedChain, SpecialKernel>;

struct PartitionedKernel {
  std::vector<ir::ValueId> outputs;  // for a row chain: outputs of its last kernel
  // The kernel writes only a part of its output, so the output is filled first: with the elements
  // of `prefill`, or with zeros.
  bool is_prefilled = false;
  ir::ValueId prefill = ir::kNoValue;  // kNoValue: zeros
  std::string description;             // the Tile statements that it computes
  KernelForm form;
};

struct Partition {
  ir::Grouping grouping;
  // Kernels in execution order; kernels without elements are left out.
  std::vector<PartitionedKernel> kernels;
  // Shapes in memory of values with padded rows (pad_rows.h).
  std::map<ir::ValueId, TensorShape> padded = {};
};

struct PartitionOptions {
  graph::GroupOptions grouping;
  bool fuse_rows = true;       // fuse kernels over the same rows into one launch
  bool fuse_attention = true;  // on GPUs, allow matmuls in such a chain
  bool pad_rows = false;       // on matrix units, align rows to whole vectors
  // Bytes of the largest intermediate tensor that separate launches may write to memory. A fused
  // attention chain that avoids a larger tensor is chosen even if separate launches are faster.
  int64_t max_intermediate_bytes = int64_t{1} << 30;
};

absl::StatusOr<Partition> PartitionProgram(const AnalyzedProgram& in, const Algorithms& algorithms,
                                           const PartitionOptions& options, fuse::Judge* judge);

}  // namespace tartan::compiler
