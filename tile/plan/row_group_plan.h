// How a chain of kernels over the same rows is divided on devices whose work-items are lanes
// (GPUs): work-groups have a block of rows each, the work-items of a row walk it together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// One kernel of the chain for one block. The elements of a row are numbered by the kernel's other
// indices, reduced or not; work-item t of a row has `lanes` neighbours from t * lanes on, and so on
// in strides of all work-items of the row.
struct RowGroupStage {
  poly::RowBlock block;
  std::vector<int> inner;  // those indices, the last varies fastest
  int lanes = 1;           // along the last
  int64_t Elements() const;
};

struct RowGroupPlan {
  std::vector<int64_t> rows;   // range of each row axis
  std::vector<int64_t> block;  // values of each row axis in a block: several of the last at most
  int64_t row_threads = 1;     // work-items of a row, a power of two
  bool rows_first = false;     // neighbouring work-items are of neighbouring rows
  std::vector<RowGroupStage> stages;

  int64_t BlockRows() const { return block.empty() ? 1 : block.back(); }
  int64_t Threads() const { return row_threads * BlockRows(); }
  int64_t GroupCount() const;
  std::string ToString() const;  // one line for the blocks and one for each stage
};

// Nothing where some kernel of the chain is better off, or only possible, in a launch of its own.
// Blocks divide the last axis evenly.
std::optional<RowGroupPlan> PlanRowGroups(const std::vector<int64_t>& rows,
                                          const std::vector<poly::RowKernel>& kernels,
                                          const std::vector<poly::RowTensor>& tensors,
                                          const HardwareSettings& settings);

}  // namespace tartan::plan
