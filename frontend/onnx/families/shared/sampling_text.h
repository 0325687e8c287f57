// SPDX-License-Identifier: Apache-2.0
// Tile text for reading tensors at computed coordinates. A coordinate along each axis becomes taps,
// which are the adjacent elements and their weights. All taps are read by one gather of rows.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/tile_text/resize_taps.h"

namespace tartan::onnx {

// A Tile function under construction, and its operands.
struct TileBuilder {
  std::string names;
  std::vector<Tensor> operands;
  std::vector<std::string> statements;

  void AddOperand(absl::string_view name, Tensor tensor);
  template <class... Parts>
  void Add(const Parts&... parts) {
    statements.push_back(absl::StrCat(parts...));
  }
  // Applies the function, whose output is Y.
  Outputs Apply(const NodeContext& context) const;
};

// The value of an element outside a tensor.
enum class Outside { kZeros, kBorder, kReflection };

struct Sampling {
  int64_t batch = 0;
  int64_t channels = 0;
  std::vector<int64_t> sizes;  // spatial, each positive
  int64_t points = 0;          // per batch
  Interpolation interpolation = Interpolation::kLinear;
  Outside outside = Outside::kZeros;
  // The ends of an axis, for kReflection and kBorder. True: the centers of the first and last
  // element (align_corners). False: half an element outside them.
  bool ends_at_centers = false;

  int64_t places() const;         // elements of one channel
  int64_t taps_per_axis() const;  // 1, 2 or 4
  int64_t taps() const;           // taps per point
};

// "target[9*n + s, c : 19, 4] = =(source[n, c, s])": each position of a [batch, channels, places]
// tensor as a row of channels, followed by a row of zeros.
std::string RowsStatement(absl::string_view target, absl::string_view source, int64_t batch,
                          int64_t channels, int64_t places);

// int32, or int64 if int32 cannot index the rows.
DataType PositionType(int64_t rows);

// Adds the statements that sample a tensor. Inputs:
// - X [batch, channels, sizes …], of floats unless interpolation is kNearest.
// - V0, V1 …, one per axis, of shape [batch * points, 1, 1 …] with a 1 per axis: coordinates that
//   count elements.
//
// Results:
// - TAPS [batch, points, taps, channels].
// - WEIGHTS [batch, points, taps], except for kNearest.
//
// The gradient by a coordinate flows through the weights.
void AddSampling(const Sampling& sampling, TileBuilder* text);

}  // namespace tartan::onnx
