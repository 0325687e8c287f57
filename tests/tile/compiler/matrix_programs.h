// SPDX-License-Identifier: Apache-2.0
// Matmul test programs for matrix units. All factors are small integers that every format
// represents, so all sums are exact.
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
  std::vector<bool> is_constant = {};  // for the first inputs; the others are variable
  DataType type = DataType::kFloat32;
};

inline std::ostream& operator<<(std::ostream& out, const MatrixProgram& program) {
  return out << program.name;
}

const std::vector<MatrixProgram>& MatrixPrograms();

ir::Program Bind(const MatrixProgram& program);
std::vector<HostTensor> WholeNumbers(const MatrixProgram& program);

// A bound program with integer inputs and the results of the naive evaluator.
struct MatrixCase {
  ir::Program program;
  std::vector<HostTensor> inputs, expected;
};
MatrixCase CaseOf(const MatrixProgram& program);

// Matmuls of few rows with constant weights.
const std::vector<MatrixProgram>& RowStreamPrograms();

// Settings of a GPU with a matrix unit.
HardwareSettings MatrixSettings();

// Selects which factors are packed before the matmul: constants only, or all if the planner can.
enum class PackedFactors { kConstants, kAll };

// Returns hooks that plan every matmul for the matrix unit, regardless of cost. Appends each plan
// to `plans`, one per line. `slices` sets the number of K slices per work-group, reduced to fit; 0:
// as planned.
compiler::CompileHooks PlanForMatrixUnit(MatrixFormat format, int64_t slices, std::string* plans,
                                         PackedFactors packed = PackedFactors::kConstants);

// Compiles a program with the plans of PlanForMatrixUnit and packed constants. `left_out` lists
// disabled passes. Fails the test if compilation fails.
compiler::KernelList CompileForMatrixUnit(const ir::Program& program, MatrixFormat format,
                                          Precision precision,
                                          const std::set<std::string>& left_out);

// Returns hooks that plan every eligible matmul with streamed weights for a device of
// `compute_units` compute units. Counts these plans in `count`.
compiler::CompileHooks PlanRowStreams(int64_t compute_units, int* count);

}  // namespace tartan
