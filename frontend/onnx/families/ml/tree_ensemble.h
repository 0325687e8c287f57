// SPDX-License-Identifier: Apache-2.0
// Ensembles of decision trees as tables, and their evaluation. A walk from the roots to the leaves
// has one Tile step per level; a contraction adds up the votes of the leaves reached.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

enum class Branch : uint8_t {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,  // of a set
};

struct Vote {
  int64_t target = 0;
  double weight = 0;
};

// Both branches of a leaf lead to the leaf.
struct TreeNode {
  Branch branch = Branch::kLessEqual;
  int64_t feature = 0;
  double split = 0;
  std::vector<double> members;
  bool missing_is_true = false;  // NaN takes the true branch
  int64_t on_true = 0;
  int64_t on_false = 0;
  std::vector<Vote> votes;
};

enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;
  int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
};

// Maps operand 0, [N, F], to the aggregated votes [N, targets], in float64 for a float64 operand,
// else in float32. Targets without votes get 0. InvalidArgument for undefined node positions and
// for graphs that are not trees.
absl::StatusOr<Tensor> RunTrees(NodeContext& context, const TreeEnsemble& trees);

}  // namespace tartan::onnx
