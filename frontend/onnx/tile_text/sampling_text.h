// SPDX-License-Identifier: Apache-2.0
// Tile text for reading tensors at positions that are computed: a coordinate along each axis
// becomes taps, the elements around it and how much each counts; taps become rows of one gather.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/tile_text/resize_taps.h"

namespace tartan::onnx {

// A Tile function in the making, and what it is applied to.
struct TileBuilder {
  std::string names;
  std::vector<api::Tensor> operands;
  std::vector<std::string> statements;

  void AddOperand(absl::string_view name, api::Tensor tensor);
  template <class... Parts>
  void Add(const Parts&... parts) {
    statements.push_back(absl::StrCat(parts...));
  }
  // For a function with the output Y.
  absl::StatusOr<std::vector<api::Tensor>> Apply(const NodeContext& context) const;
};

// What an element outside a tensor is.
enum class Outside { kZeros, kBorder, kReflection };

struct Sampling {
  int64_t batch = 0;
  int64_t channels = 0;
  std::vector<int64_t> sizes;  // spatial, each at least 1
  int64_t points = 0;          // in each batch
  Interpolation interpolation = Interpolation::kLinear;
  Outside outside = Outside::kZeros;
  // The mirrors, and where kBorder begins: at the first and last element (align_corners), or half
  // an element behind them.
  bool ends_at_centers = false;

  int64_t places() const;         // elements of one channel
  int64_t taps_per_axis() const;  // 1, 2 or 4
  int64_t taps() const;           // of a point
};

// "target[9*n + s, c : 19, 4] = =(source[n, c, s])": each place of a [batch, channels, places]
// tensor as a row of channels, and a row of zeros behind them.
std::string RowsStatement(absl::string_view target, absl::string_view source, int64_t batch,
                          int64_t channels, int64_t places);

// int32, or int64 where there are so many rows.
DataType PositionType(int64_t rows);

// From X [batch, channels, sizes …], of floats unless interpolation is kNearest, and coordinates
// V0, V1 … [batch * points, 1 for each axis], one for each axis, makes TAPS [batch, points, taps,
// channels] and, but for kNearest, WEIGHTS [batch, points, taps]. Coordinates count elements. Their
// gradients are those of the weights.
void AddSampling(const Sampling& sampling, TileBuilder* text);

}  // namespace tartan::onnx
