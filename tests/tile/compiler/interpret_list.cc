// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/interpret_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/interpret.h"

namespace tartan::compiler {
namespace {

using Memory = std::vector<std::vector<uint8_t>>;

absl::Status RunStep(const KernelList& list, const Step& step, Memory* memory) {
  return Match(
      step,
      [&](const LaunchStep& launch) {
        std::vector<std::vector<uint8_t>> buffers;
        for (int buffer : launch.buffers) buffers.push_back((*memory)[buffer]);
        loop::Kernel kernel = list.kernels[launch.kernel];
        for (size_t s = 0; s < launch.sizes.size(); ++s) kernel.sizes[s].value = launch.sizes[s];
        if (!launch.sizes.empty()) {
          std::copy(launch.global_size.begin(), launch.global_size.end(), kernel.global_size);
        }
        const absl::Status status = loop::Interpret(kernel, absl::MakeSpan(buffers));
        for (size_t p = 0; p < buffers.size(); ++p) {
          if (list.kernels[launch.kernel].parameters[p].is_output) {
            (*memory)[launch.buffers[p]] = buffers[p];
          }
        }
        return status;
      },
      [&](const FillStep& fill) {
        const TensorShape& shape = list.buffers[fill.buffer].shape;
        for (int64_t i = 0; i < shape.element_count(); ++i) {
          StoreElement(fill.type, fill.value, i, (*memory)[fill.buffer].data());
        }
        return absl::OkStatus();
      },
      [&](const CopyStep& copy) {
        (*memory)[copy.to] = (*memory)[copy.from];
        return absl::OkStatus();
      });
}

}  // namespace

absl::StatusOr<std::vector<HostTensor>> InterpretList(const KernelList& list,
                                                      absl::Span<const HostTensor> inputs) {
  Memory memory;
  for (const BufferInfo& buffer : list.buffers) {
    // Fills memory with garbage to expose elements that no kernel writes; empty tensors get 16
    // bytes.
    memory.emplace_back(std::max<int64_t>(buffer.bytes, 16), uint8_t{0x5b});
  }
  for (size_t i = 0; i < list.inputs.size(); ++i) {
    std::copy(inputs[i].bytes().begin(), inputs[i].bytes().end(), memory[list.inputs[i]].begin());
  }
  for (const auto* steps : {&list.setup, &list.steps}) {
    for (const Step& step : *steps) TARTAN_RETURN_IF_ERROR(RunStep(list, step, &memory));
  }
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < list.outputs.size(); ++o) {
    const TensorShape& shape = list.output_shapes[o];
    outputs.emplace_back(shape,
                         absl::MakeSpan(memory[list.outputs[o]]).subspan(0, shape.byte_size()));
  }
  return outputs;
}

void ExpectSameResults(const KernelList& list, const KernelList& other,
                       absl::Span<const HostTensor> inputs, double tolerance) {
  const auto actual = InterpretList(list, inputs);
  const auto expected = InterpretList(other, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], tolerance), "") << "output " << o;
  }
}

void ExpectNaiveResults(const TestProgram& program, const KernelList& list) {
  const std::vector<HostTensor> inputs = RandomInputs(program, 1);
  const auto expected = ir::EvaluateNaively(BindTestProgram(program), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto actual = InterpretList(list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  for (size_t o = 0; o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << "output " << o;
  }
}

void ExpectNaiveLaunches(const TestProgram& program, const CompileOptions& options,
                         absl::Span<const HostTensor> inputs, int launches, double half_tolerance) {
  const ir::Program bound = BindTestProgram(program);
  const auto expected = ir::EvaluateNaively(bound, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto list = Compile(bound, options);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(static_cast<int>(list->steps.size()), launches);
  const auto actual = InterpretList(*list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  const bool half = inputs[0].type() == DataType::kFloat16;
  for (size_t o = 0; o < actual->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], half ? half_tolerance : 1e-5), "")
        << "output " << o;
  }
}

}  // namespace tartan::compiler
