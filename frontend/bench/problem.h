// SPDX-License-Identifier: Apache-2.0
// A benchmark problem: one operator with its sizes, as in problems.txt or an argument of `tartan
// bench op`, for example "conv:n1c64h56w56k64r3s1p1:bwd_data". README.md has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tile/base/data_type.h"

namespace tartan::bench {

// C[b] = A[b] B[b]. B is a weight if batch is 1.
struct MatmulProblem {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  DataType type = DataType::kFloat32;  // type of all three matrices: float32 or a 16-bit float
};

// The algorithms that the compiler may use for a convolution. kChosen: the predicted fastest.
// kDirect: any except Winograd. kWinograd: Winograd wherever it applies.
enum class ConvolutionAlgorithm : uint8_t { kChosen, kDirect, kWinograd };

struct ConvolutionProblem {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t outputs = 0;  // output channels
  int64_t kernel = 0;   // the kernel is square
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t groups = 1;
  int64_t dilation = 1;
  // Layout of data and output; weights are always [outputs, channels, r, r].
  bool channels_last = false;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kChosen;

  int64_t output_height() const { return Positions(height); }
  int64_t output_width() const { return Positions(width); }

 private:
  int64_t Positions(int64_t size) const {
    return (size + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

enum class PoolKind : uint8_t { kMax, kAverage };

// Average pooling includes the padding in the count.
struct PoolProblem {
  PoolKind kind = PoolKind::kMax;
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t kernel = 0;
  int64_t stride = 1;
  int64_t padding = 0;

  int64_t output_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  int64_t output_width() const { return (width + 2 * padding - kernel) / stride + 1; }
};

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin };

struct ReduceProblem {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int64_t> dims;
  int axis = -1;  // -1: all axes
};

// Along the last axis.
struct SoftmaxProblem {
  std::vector<int64_t> dims;
};

// Along the last axis, with scale and bias.
struct LayerNormProblem {
  std::vector<int64_t> dims;
};

// Axis d of the output is axis order[d] of the input.
struct TransposeProblem {
  std::vector<int64_t> dims;
  std::vector<int> order;
};

// A function of kElementwiseFunctions (workload.cc) on one or two operands of these sizes.
struct ElementwiseProblem {
  std::string function;
  std::vector<int64_t> dims;
};

// Gathers `count` random positions along an axis.
struct GatherProblem {
  std::vector<int64_t> dims;
  int axis = 0;
  int64_t count = 0;
};

// Writes `count` rows to, or adds them to, random positions along the first axis.
struct ScatterProblem {
  bool add = false;
  std::vector<int64_t> dims;
  int64_t count = 0;
};

struct SortProblem {
  std::vector<int64_t> dims;
  int axis = 0;
};

using Operator = std::variant<MatmulProblem, ConvolutionProblem, PoolProblem, ReduceProblem,
                              SoftmaxProblem, LayerNormProblem, TransposeProblem,
                              ElementwiseProblem, GatherProblem, ScatterProblem, SortProblem>;

// `kBackwardData`: the gradient by the first input, given the output's gradient. kBackwardWeights:
// the gradient by the weight (matmul: B).
enum class Direction : uint8_t { kForward, kBackwardData, kBackwardWeights };

struct Problem {
  std::string spec;
  Operator op;
  Direction direction = Direction::kForward;
};

}  // namespace tartan::bench
