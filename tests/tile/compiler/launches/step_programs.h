// SPDX-License-Identifier: Apache-2.0
// Recurrent cells as programs that run repeatedly: each run reads the states that the run before
// computed.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "tests/tile/compiler/programs.h"

namespace tartan {

// Inputs are states, one row, and constants, in the order that evaluator/repetition_form.h
// requires.
struct StepProgram {
  TestProgram program;
  int row = 0;              // index of the input that changes in every run
  std::vector<int> states;  // indices of the state inputs; output i is the next value of states[i]
  std::vector<int> constants;  // indices of the constant inputs
};

// LSTM, GRU and a one-gate cell of the given size. StepPrograms() has sizes that fill a work-group,
// odd sizes, small sizes, and sizes that need local memory for a part of the weights.
StepProgram LstmStep(int64_t rows, int64_t states);
StepProgram GruStep(int64_t rows, int64_t states);
StepProgram RnnStep(int64_t rows, int64_t states);
const std::vector<StepProgram>& StepPrograms();

// An LSTM unrolled for `steps` steps, in one program. Inputs: the rows of all steps, hidden states,
// cell states, weights, peepholes. Outputs: the last hidden and cell states. With several weight
// matrices, the steps use them alternately; all weights are constants.
TestProgram UnrolledLstm(int64_t rows, int64_t states, int steps, int weights = 1);
ir::Program BindUnrolled(const TestProgram& program);

// Binds the step as a repeated program does: constants are marked, and state inputs are outputs as
// well.
ir::Program BindStep(const StepProgram& step);

struct StepInputs {
  std::vector<HostTensor> first;  // inputs of the first run
  std::vector<HostTensor> rows;   // row of each run
  size_t restart = 0;             // index of the run that starts from the first states again
};
// Draws inputs deterministically from a seed.
StepInputs RandomSteps(const StepProgram& step, int count, uint64_t seed);
void SetElement(HostTensor* tensor, int64_t element, float value);

// Fails the test unless the outputs of each run agree with the naive evaluator to 2e-5. The naive
// evaluator reads the states of `actual`, so errors do not accumulate.
void ExpectSteps(const StepProgram& step, const StepInputs& inputs,
                 const std::vector<std::vector<HostTensor>>& actual);

inline std::ostream& operator<<(std::ostream& out, const StepProgram& step) {
  return out << step.program.name;
}

}  // namespace tartan
