// SPDX-License-Identifier: Apache-2.0
// Writes a model again with the weights of its products in 8 or 4 bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tartan::onnx {

struct QuantizeOptions {
  int64_t bits = 8;    // or 4
  int64_t block = 32;  // numbers that share a scale: a power of two, 16 to 256
};

struct QuantizedTensor {
  std::string name;
  int64_t bits = 0;
  double max_error = 0;  // of a number
  double rms_error = 0;  // root of the mean square, relative to that of the numbers
};

struct QuantizedModel {
  std::vector<QuantizedTensor> tensors;
  std::vector<std::string> kept;  // factors of products that stay as they are
  int64_t bytes_before = 0;       // of all initialisers
  int64_t bytes_after = 0;
};

// The model of the file `from` as the file `to`. A MatMul or Gemm whose second factor is an
// initialiser, float32 and with two dimensions, or the transpose of one, becomes a MatMulNBits of
// com.microsoft: rows of small numbers in blocks along the sum, each with a scale, and 0 in the
// middle of their range. That operator has 4 and 8 bits in whole bytes, whatever the operator set,
// and runtimes compute it without a float copy of the weights. Each scale is the one of several
// tried that leaves the least mean square error. Initialisers that nothing reads any more are left
// out; those that something else reads stay, too. Errors as from WriteModel.
absl::StatusOr<QuantizedModel> QuantizeWeights(const std::string& from, const std::string& to,
                                               const QuantizeOptions& options);

}  // namespace tartan::onnx
