// SPDX-License-Identifier: Apache-2.0
// Products for matrix units: programs whose factors are whole numbers that every format holds, so
// that all sums are exact.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/host_tensor.h"
#include "tile/base/precision.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"
#include "tile/ir/program.h"

namespace tartan {

struct MatrixProgram {
  std::string name;
  std::string code;
  std::vector<std::vector<int64_t>> inputs;
  std::vector<bool> is_constant = {};  // of the first inputs
  DataType type = DataType::kFloat32;
};

inline std::ostream& operator<<(std::ostream& out, const MatrixProgram& program) {
  return out << program.name;
}

const std::vector<MatrixProgram>& MatrixPrograms();

ir::Program Bind(const MatrixProgram& program);
std::vector<HostTensor> WholeNumbers(const MatrixProgram& program);

// A bound program, whole numbers and what the naive evaluator makes of them.
struct MatrixCase {
  ir::Program program;
  std::vector<HostTensor> inputs, expected;
};
MatrixCase CaseOf(const MatrixProgram& program);

// Products of few rows by constants.
const std::vector<MatrixProgram>& RowStreamPrograms();

// A GPU with a matrix unit.
HardwareSettings MatrixSettings();

// Factors that are packed before, where that is possible.
enum class PackedFactors { kConstants, kAll };

// Plans every product for the matrix unit, quick or not; adds what it planned to `plans`, one to a
// line. `slices` of the depth, where they fit a work-group; 0: as planned.
compiler::CompileHooks PlanForMatrixUnit(MatrixFormat format, int64_t slices, std::string* plans,
                                         PackedFactors packed = PackedFactors::kConstants);

// A bound program with every product planned so, constants packed; `left_out`: passes. Fails the
// test where it does not compile.
compiler::KernelList CompileForMatrixUnit(const ir::Program& program, MatrixFormat format,
                                          Precision precision,
                                          const std::set<std::string>& left_out);

// Plans every such product to stream its weights by blocks, on a device of so many compute units;
// counts them.
compiler::CompileHooks PlanRowStreams(int64_t compute_units, int* count);

}  // namespace tartan
