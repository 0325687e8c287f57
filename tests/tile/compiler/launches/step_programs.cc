// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/launches/step_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/launches/cell_programs.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan {
namespace {

TensorShape FloatShape(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

// Moves the first input, the row, after the `states` state inputs.
TestProgram WithStatesFirst(TestProgram cell, size_t states) {
  const size_t first = cell.code.find('(') + 1;
  size_t end = cell.code.find("], ", first) + 3;  // end of the row's declaration
  const std::string row = cell.code.substr(first, end - first);
  cell.code.erase(first, end - first);
  end = first;
  for (size_t s = 0; s < states; ++s) end = cell.code.find("], ", end) + 3;
  cell.code.insert(end, row);
  std::rotate(cell.inputs.begin(), cell.inputs.begin() + 1,
              cell.inputs.begin() + 1 + static_cast<int64_t>(states));
  return cell;
}

}  // namespace

// The second output is the cell's next state.
StepProgram LstmStep(int64_t rows, int64_t states) {
  return {WithStatesFirst(LstmCell(rows, states), 2), 2, {0, 1}, {3, 4}};
}

StepProgram GruStep(int64_t rows, int64_t states) {
  return {WithStatesFirst(GruCell(rows, states), 1), 1, {0}, {2, 3}};
}

StepProgram RnnStep(int64_t rows, int64_t states) {
  return {{absl::StrCat("RnnCell", rows, "x", states),
           "function (S[B, H], X[B, H], W[H, K], V[H]) -> (Y) {\n"
           "Q[b, h : B, H] = +(S[b, k] * W[h, k]); Y = tanh(X + Q + V);\n}",
           {FloatShape({rows, states}), FloatShape({rows, states}), FloatShape({states, states}),
            FloatShape({states})}},
          1,
          {0},
          {2, 3}};
}

const std::vector<StepProgram>& StepPrograms() {
  static const auto& programs = *new std::vector<StepProgram>{
      LstmStep(1, 128), LstmStep(1, 5),  LstmStep(3, 34), LstmStep(1, 140), LstmStep(2, 100),
      LstmStep(4, 65),  GruStep(1, 128), GruStep(2, 37),  GruStep(4, 3),    RnnStep(1, 128),
      RnnStep(1, 200),  RnnStep(3, 97),  RnnStep(1, 2)};
  return programs;
}

TestProgram UnrolledLstm(int64_t rows, int64_t states, int steps, int weights) {
  TestProgram program;
  program.name = absl::StrCat("Lstm", steps, "of", rows, "x", states);
  program.inputs = {FloatShape({steps, rows, 4 * states}), FloatShape({rows, states}),
                    FloatShape({rows, states}), FloatShape({states})};
  std::string matrices;
  for (int w = 0; w < weights; ++w) {
    absl::StrAppend(&matrices, ", W", w, "[G, H]");
    program.inputs.push_back(FloatShape({4 * states, states}));
  }
  program.code = absl::StrCat("function (X[T, B, G], S0[B, H], C0[B, H], P[H]", matrices, ") -> (S",
                              steps, ", C", steps, ") {\n");
  for (int t = 0; t < steps; ++t) {
    const auto gate = [&](const char* name, int64_t number) {
      return absl::StrCat(name, t, "[b, h : B, H] = =(Z", t, "[b, h + ", number * states, "]);\n");
    };
    absl::StrAppend(&program.code, "Q", t, "[b, g : B, G] = +(S", t, "[b, k] * W", t % weights,
                    "[g, k]);\nX", t, "[b, g : B, G] = =(X[", t, ", b, g]);\nZ", t, " = X", t,
                    " + 0.1 * Q", t, ";\n", gate("I", 0), gate("O", 1), gate("F", 2), gate("U", 3));
    absl::StrAppend(&program.code, "C", t + 1, " = sigmoid(F", t, " + P * C", t, ") * C", t,
                    " + sigmoid(I", t, ") * tanh(U", t, ");\nS", t + 1, " = sigmoid(O", t,
                    ") * tanh(C", t + 1, ");\n");
  }
  program.code += "}";
  return program;
}

ir::Program BindUnrolled(const TestProgram& test) {
  ir::Program program = BindTestProgram(test);
  for (size_t input = 3; input < program.inputs.size(); ++input) {
    std::get<ir::Input>(program.values[program.inputs[input]].op).is_constant = true;
  }
  return program;
}

ir::Program BindStep(const StepProgram& step) {
  ir::Program program = BindTestProgram(step.program);
  for (int input : step.constants) {
    std::get<ir::Input>(program.values[program.inputs[input]].op).is_constant = true;
  }
  for (int state : step.states) {
    program.outputs.push_back(program.inputs[state]);
    program.output_names.push_back(absl::StrCat("stays", state));
  }
  return program;
}

StepInputs RandomSteps(const StepProgram& step, int count, uint64_t seed) {
  StepInputs inputs;
  inputs.restart = static_cast<size_t>(count) / 2;
  inputs.first = RandomInputs(step.program, seed);
  for (int n = 0; n < count; ++n) {
    inputs.rows.push_back(RandomInputs(step.program, seed + n)[step.row]);
  }
  return inputs;
}

void SetElement(HostTensor* tensor, int64_t element, float value) {
  std::vector<uint8_t> bytes(tensor->bytes().begin(), tensor->bytes().end());
  StoreElement(DataType::kFloat32, value, element, bytes.data());
  *tensor = HostTensor(tensor->shape(), bytes);
}

void ExpectSteps(const StepProgram& step, const StepInputs& inputs,
                 const std::vector<std::vector<HostTensor>>& actual) {
  ASSERT_EQ(actual.size(), inputs.rows.size());
  const ir::Program program = BindTestProgram(step.program);
  std::vector<HostTensor> now = inputs.first;
  for (size_t n = 0; n < actual.size(); ++n) {
    now[step.row] = inputs.rows[n];
    for (int state : step.states) {
      if (n == inputs.restart) now[state] = inputs.first[state];
    }
    const auto expected = ir::EvaluateNaively(program, now);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (size_t s = 0; s < step.states.size(); ++s) {
      EXPECT_EQ(FirstDifference(actual[n][s], (*expected)[s], 2e-5), "")
          << "output " << s << " of step " << n;
      now[step.states[s]] = actual[n][s];
    }
  }
}

}  // namespace tartan
