// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks as programs that are run again and again: each run's states are what
// the run before has made.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Inputs are states, the row, and constants, as evaluator/repetition_form.h has them.
struct StepProgram {
  TestProgram program;
  int row = 0;                 // the input that is another one in each run
  std::vector<int> states;     // inputs, of which the outputs are the next values, in order
  std::vector<int> constants;  // inputs
};

// LSTM and GRU of cell_programs.h, and one gate; of sizes that fill a work-group, odd ones, small
// ones, and those of which a part is in local memory.
StepProgram LstmStep(int64_t rows, int64_t states);
StepProgram GruStep(int64_t rows, int64_t states);
StepProgram RnnStep(int64_t rows, int64_t states);
const std::vector<StepProgram>& StepPrograms();

// So many steps of an LSTM as one program, from (rows of all steps, states, cells, weights,
// peepholes) to the states and cells behind the last step. With more than one matrix of weights
// they are used by turns; all are constants.
TestProgram UnrolledLstm(int64_t rows, int64_t states, int steps, int weights = 1);
ir::Program BindUnrolled(const TestProgram& program);

// As what repeats it makes it: the inputs that stay are results, too.
ir::Program BindStep(const StepProgram& step);

struct StepInputs {
  std::vector<HostTensor> first;  // of the program's first run
  std::vector<HostTensor> rows;   // of each run
  size_t restart = 0;             // the run that begins with the first states again
};
// Deterministic for a seed.
StepInputs RandomSteps(const StepProgram& step, int count, uint64_t seed);
void SetElement(HostTensor* tensor, int64_t element, float value);

// Fails the test unless the outputs of each run are those of the naive evaluator to 2e-5, which
// goes on with the states of `actual`.
void ExpectSteps(const StepProgram& step, const StepInputs& inputs,
                 const std::vector<std::vector<HostTensor>>& actual);

inline std::ostream& operator<<(std::ostream& out, const StepProgram& step) {
  return out << step.program.name;
}

}  // namespace tartan
