// SPDX-License-Identifier: Apache-2.0
// A program divided into kernels: which values each computes, in which order they run, and what
// each is as tables (poly::FlatContraction), built once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/compiler/chains/row_chains.h"
#include "tile/compiler/products/algorithm.h"
#include "tile/graph/group.h"
#include "tile/poly/correlation.h"
#include "tile/poly/winograd.h"

namespace tartan::compiler {

// How a kernel, or a chain of them, is computed.
struct DirectKernel {
  poly::FlatContraction flat;
};
struct WinogradProduct {
  poly::WinogradKernels kernels;
};
struct PackedKernels {
  poly::PackedProduct product;
  // The same as one kernel, where plans are to say which is quicker.
  std::optional<poly::FlatContraction> direct;
};
struct SpecialKernel {
  ir::ValueId value = ir::kNoValue;  // an ir::Special
};
using KernelForm =
    std::variant<DirectKernel, WinogradProduct, PackedKernels, PlannedChain, SpecialKernel>;

struct PartitionedKernel {
  std::vector<ir::ValueId> outputs;  // of the whole chain, where it is one: of its last kernel
  // What an output that the kernel writes only parts of holds before: another value's elements, or
  // zeros.
  bool is_prefilled = false;
  ir::ValueId prefill = ir::kNoValue;  // kNoValue: zeros
  std::string description;             // the Tile statements it computes
  KernelForm form;
};

struct Partition {
  ir::Grouping grouping;
  std::vector<PartitionedKernel> kernels;  // in the order in which they run; none without elements
  // Values whose rows in memory are longer than the program's (pad_rows.h).
  std::map<ir::ValueId, TensorShape> padded = {};
};

struct PartitionOptions {
  graph::GroupOptions grouping;
  bool chain_rows = true;      // one launch for kernels that follow each other on the same rows
  bool chain_products = true;  // GPUs: and for products of matrices among them
  bool pad_rows = false;       // with a matrix unit, rows that it reads begin at whole vectors
  Precision precision = Precision::kFloat32;
  // Larger tensors, of which a chain needs none in memory where it walks its rows, are left out
  // though launches apart may be quicker.
  int64_t most_handed_on_bytes = int64_t{1} << 30;
};

absl::StatusOr<Partition> PartitionProgram(const ir::Program& program,
                                           const poly::ProgramSpaces& spaces,
                                           const std::vector<bool>& is_constant,
                                           const Algorithms& algorithms,
                                           const PartitionOptions& options,
                                           const HardwareSettings& settings);

}  // namespace tartan::compiler
