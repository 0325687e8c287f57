// SPDX-License-Identifier: Apache-2.0
// Writes a copy of a model with the weights of its matmuls in 8 or 4 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tartan::onnx {

struct QuantizeOptions {
  int64_t bits = 8;    // values that share a scale: a power of two, 16 to 256
  int64_t block = 32;  // numbers that share a scale: a power of two, 16 to 256
};

struct QuantizedTensor {
  std::string name;
  int64_t bits = 0;
  double max_error = 0;  // absolute, of one value
  double rms_error = 0;  // root mean square, relative to the root mean square of the values
};

struct QuantizedModel {
  std::vector<QuantizedTensor> tensors;
  std::vector<std::string> kept;  // weights of matmuls that stay unchanged
  int64_t bytes_before = 0;       // of all initialisers
  int64_t bytes_after = 0;
};

// Writes the model of the file `from` to the file `to` with quantized weights.
//
// A MatMul or Gemm becomes a MatMulNBits of com.microsoft if its second factor is a two-dimensional
// float32 initialiser or the transpose of one. The weights are in blocks along the reduced
// dimension, each with one scale, and the zero point is the middle of the range. MatMulNBits packs
// 4 and 8 bits in whole bytes in every operator set, and runtimes compute it without a float copy
// of the weights. Each scale has the minimum mean square error among several candidates.
//
// Initialisers that nothing reads any more are removed. Fails otherwise as WriteModel does.
absl::StatusOr<QuantizedModel> QuantizeWeights(const std::string& from, const std::string& to,
                                               const QuantizeOptions& options);

}  // namespace tartan::onnx
