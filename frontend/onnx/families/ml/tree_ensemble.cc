// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/ml/tree_ensemble.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Levels of a walk that are unrolled in one program; higher trees use a repeated body (empirical).
constexpr int64_t kMaxStepsInProgram = 12;
// Maximum elements of the tables of sets and votes, which have one row per node.
constexpr int64_t kMaxTable = int64_t{1} << 24;

bool IsLeaf(const TreeEnsemble& trees, int64_t i) {
  const TreeNode& node = trees.nodes[static_cast<size_t>(i)];
  return node.on_true == i && node.on_false == i;
}

absl::Status CheckNodes(const TreeEnsemble& trees, int64_t features) {
  const int64_t count = static_cast<int64_t>(trees.nodes.size());
  const auto exists = [&](int64_t node) { return node >= 0 && node < count; };
  for (const TreeNode& node : trees.nodes) {
    if (!exists(node.on_true) || !exists(node.on_false)) {
      return Invalid("a branch leads to node ", exists(node.on_true) ? node.on_false : node.on_true,
                     " of ", count);
    }
    if (node.feature < 0 || node.feature >= features) {
      return Invalid("feature ", node.feature, " of ", features);
    }
    for (const Vote& vote : node.votes) {
      if (vote.target < 0 || vote.target >= trees.targets) {
        return Invalid("a vote for target ", vote.target, " of ", trees.targets);
      }
    }
  }
  if (trees.roots.empty()) return Invalid("the ensemble has no trees");
  for (int64_t root : trees.roots) {
    if (!exists(root)) return Invalid("root ", root, " of ", count, " nodes");
  }
  return absl::OkStatus();
}

// The number of steps to the farthest leaf: the longest path through an acyclic graph.
// InvalidArgument for a cycle.
absl::StatusOr<int64_t> DepthOf(const TreeEnsemble& trees) {
  const int64_t count = static_cast<int64_t>(trees.nodes.size());
  std::vector<int64_t> parents(trees.nodes.size());  // parents not yet visited
  std::vector<int64_t> depths(trees.nodes.size());
  const auto children = [&](int64_t i) {
    const TreeNode& node = trees.nodes[static_cast<size_t>(i)];
    return IsLeaf(trees, i) ? std::vector<int64_t>()
                            : std::vector<int64_t>{node.on_true, node.on_false};
  };
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t child : children(i)) ++parents[static_cast<size_t>(child)];
  }
  std::vector<int64_t> waiting;
  for (int64_t i = 0; i < count; ++i) {
    if (parents[static_cast<size_t>(i)] == 0) waiting.push_back(i);
  }
  int64_t depth = 0;
  int64_t visited = 0;
  for (; !waiting.empty(); ++visited) {
    const int64_t i = waiting.back();
    waiting.pop_back();
    for (int64_t child : children(i)) {
      const size_t c = static_cast<size_t>(child);
      depths[c] = std::max(depths[c], depths[static_cast<size_t>(i)] + 1);
      depth = std::max(depth, depths[c]);
      if (--parents[c] == 0) waiting.push_back(child);
    }
  }
  if (visited < count) return Invalid("the branches of a tree form a cycle");
  return depth;
}

// One row or element per node, computed by `value`.
template <class Value>
Tensor IntTable(const TreeEnsemble& trees, Value value) {
  std::vector<int32_t> values;
  for (const TreeNode& node : trees.nodes) values.push_back(static_cast<int32_t>(value(node)));
  const TensorShape shape{DataType::kInt32, {static_cast<int64_t>(values.size())}};
  return Tensor::Constant(HostTensor::FromVector(shape, values));
}

// The step from nodes [N, T] to their children: text, and its tables. The text's operands are the
// nodes, the features and the tables.
struct Step {
  std::string text;
  std::vector<Tensor> tables;
};

// The sets of all nodes as a table, padded with NaN, which equals nothing.
absl::StatusOr<Tensor> SetTable(const TreeEnsemble& trees, DataType type) {
  size_t width = 1;
  for (const TreeNode& node : trees.nodes) width = std::max(width, node.members.size());
  if (static_cast<int64_t>(trees.nodes.size() * width) > kMaxTable) {
    return absl::ResourceExhaustedError("the sets of the trees are too large");
  }
  std::vector<double> values;
  for (const TreeNode& node : trees.nodes) {
    values.insert(values.end(), node.members.begin(), node.members.end());
    values.resize(values.size() + width - node.members.size(),
                  std::numeric_limits<double>::quiet_NaN());
  }
  return ConstantOf(type, values,
                    {static_cast<int64_t>(trees.nodes.size()), static_cast<int64_t>(width)});
}

absl::StatusOr<Step> MakeStep(const TreeEnsemble& trees, DataType type, int64_t rows) {
  constexpr const char* kConditions[] = {"V <= S", "V < S",  "V >= S",   "V > S",
                                         "V == S", "V != S", "ISIN != 0"};
  bool is_used[7] = {};
  bool has_missing = false;
  for (size_t i = 0; i < trees.nodes.size(); ++i) {
    if (IsLeaf(trees, static_cast<int64_t>(i))) continue;
    is_used[static_cast<size_t>(trees.nodes[i].branch)] = true;
    has_missing |= trees.nodes[i].missing_is_true;
  }
  Step step;
  std::string names = "NODE, X, FEATURE, SPLIT, YES, NO";
  std::vector<double> splits;
  for (const TreeNode& node : trees.nodes) splits.push_back(node.split);
  step.tables = {IntTable(trees, [](const TreeNode& node) { return node.feature; }),
                 ConstantOf(type, splits, {static_cast<int64_t>(splits.size())}),
                 IntTable(trees, [](const TreeNode& node) { return node.on_true; }),
                 IntTable(trees, [](const TreeNode& node) { return node.on_false; })};
  std::vector<std::string> lines = {"F = gather(FEATURE, NODE)", "V = gather_elements(X, F, 1)",
                                    "S = gather(SPLIT, NODE)"};
  if (is_used[6]) {
    TARTAN_ASSIGN_OR_RETURN(Tensor sets, SetTable(trees, type));
    step.tables.push_back(std::move(sets));
    absl::StrAppend(&names, ", SETS");
    const std::vector<int64_t> dims = {rows, static_cast<int64_t>(trees.roots.size())};
    lines.push_back("SET = gather(SETS, NODE)");
    lines.push_back(
        absl::StrCat("MEMBER = as_int(SET == ", ReshapeCall("V", {dims[0], dims[1], 1}), ", 32)"));
    lines.push_back(absl::StrCat(Write("ISIN", {"n", "t"}, dims), " = >(MEMBER[n, t, k])"));
  }
  std::string condition;
  const int used = static_cast<int>(std::count(is_used, is_used + 7, true));
  if (used > 1) {
    step.tables.push_back(
        IntTable(trees, [](const TreeNode& node) { return static_cast<int>(node.branch); }));
    absl::StrAppend(&names, ", MODE");
    lines.push_back("M = gather(MODE, NODE)");
  }
  int left = used;
  for (int branch = 0; branch < 7; ++branch) {
    if (!is_used[branch]) continue;
    --left;
    if (left > 0) absl::StrAppend(&condition, "M == ", branch, " ? ");
    absl::StrAppend(&condition, kConditions[branch], left > 0 ? " : " : "");
  }
  lines.push_back(absl::StrCat("C = ", condition.empty() ? "V <= S" : condition));
  std::string missing = "0 == 1";
  if (has_missing) {
    step.tables.push_back(
        IntTable(trees, [](const TreeNode& node) { return node.missing_is_true ? 1 : 0; }));
    absl::StrAppend(&names, ", MISSING");
    missing = "gather(MISSING, NODE) != 0";
  }
  lines.push_back(absl::StrCat("D = isnan(V) ? ", missing, " : C"));
  lines.push_back("NEXT = D ? gather(YES, NODE) : gather(NO, NODE)");
  step.text = TileFunction(names, "NEXT", lines);
  return step;
}

absl::StatusOr<Tensor> Apply(const NodeContext& context, const Step& step, const Tensor& nodes,
                             const Tensor& x) {
  std::vector<Tensor> operands = {nodes, x};
  operands.insert(operands.end(), step.tables.begin(), step.tables.end());
  return context.ApplyOne(step.text, operands);
}

// The leaves that the rows of `x` reach in each tree, [N, T].
absl::StatusOr<Tensor> Walk(NodeContext& context, const TreeEnsemble& trees, const Tensor& x) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t depth, DepthOf(trees));
  TARTAN_ASSIGN_OR_RETURN(const Step step, MakeStep(trees, x.type(), x.dims()[0]));
  const std::vector<int64_t> dims = {x.dims()[0], static_cast<int64_t>(trees.roots.size())};
  std::vector<int32_t> roots;
  for (int64_t root : trees.roots) roots.push_back(static_cast<int32_t>(root));
  const TensorShape shape{DataType::kInt32, {dims[1]}};
  TARTAN_ASSIGN_OR_RETURN(
      Tensor nodes,
      BroadcastTo(context, Tensor::Constant(HostTensor::FromVector(shape, roots)), dims));
  if (depth <= kMaxStepsInProgram) {
    for (int64_t level = 0; level < depth; ++level) {
      TARTAN_ASSIGN_OR_RETURN(nodes, Apply(context, step, nodes, x));
    }
    return nodes;
  }
  api::RepeatBody body;
  body.iterations = depth;
  body.states = {Tensor::Placeholder("nodes", TensorShape{DataType::kInt32, dims})};
  body.invariants = {Tensor::Placeholder("x", x.shape())};
  TARTAN_ASSIGN_OR_RETURN(const Tensor next,
                          Apply(context, step, body.states[0], body.invariants[0]));
  body.next_states = {next};
  TARTAN_ASSIGN_OR_RETURN(
      std::vector<Tensor> ends,
      context.Run({nodes, x}, std::make_shared<api::RepeatCall>(std::move(body))));
  return ends[0];
}

// The votes of all nodes as tables: targets (-1 for no vote) and weights.
Outputs VoteTables(const TreeEnsemble& trees, DataType type) {
  size_t width = 1;
  for (const TreeNode& node : trees.nodes) width = std::max(width, node.votes.size());
  if (static_cast<int64_t>(trees.nodes.size() * width) > kMaxTable) {
    return absl::ResourceExhaustedError("the trees have too many votes");
  }
  std::vector<int32_t> targets;
  std::vector<double> weights;
  for (const TreeNode& node : trees.nodes) {
    for (size_t v = 0; v < width; ++v) {
      const bool is_vote = v < node.votes.size();
      targets.push_back(is_vote ? static_cast<int32_t>(node.votes[v].target) : -1);
      weights.push_back(is_vote ? node.votes[v].weight : 0);
    }
  }
  const std::vector<int64_t> dims = {static_cast<int64_t>(trees.nodes.size()),
                                     static_cast<int64_t>(width)};
  const TensorShape shape{DataType::kInt32, dims};
  return std::vector<Tensor>{Tensor::Constant(HostTensor::FromVector(shape, targets)),
                             ConstantOf(type, weights, dims)};
}

std::string VoteText(const TreeEnsemble& trees, const std::vector<int64_t>& nodes, int64_t width) {
  const std::vector<int64_t> dims = {nodes[0], trees.targets};
  std::vector<std::string> lines = {"T = gather(TARGETS, NODE)", "W = gather(WEIGHTS, NODE)"};
  const std::string sum =
      absl::StrCat(Write("SUM", {"n", "k"}, dims), " = +(T[n, t, v] == IDS[k] ? W[n, t, v])");
  if (trees.aggregate == Aggregate::kSum) {
    lines.push_back(sum);
    lines.push_back("Y = SUM");
  } else if (trees.aggregate == Aggregate::kAverage) {
    lines.push_back(sum);
    lines.push_back(absl::StrCat("Y = SUM / ", trees.roots.size()));
  } else {
    const bool is_least = trees.aggregate == Aggregate::kMin;
    const std::string none = is_least ? "inf()" : "(-inf())";
    const std::vector<int64_t> wide = {nodes[0], nodes[1], width, 1};
    lines.push_back(absl::StrCat("ALL = ", ReshapeCall("T", wide), " == IDS ? ",
                                 ReshapeCall("W", wide), " : ", none));
    lines.push_back(absl::StrCat(Write("BEST", {"n", "k"}, dims), " = ", is_least ? "<" : ">",
                                 "(ALL[n, t, v, k])"));
    lines.push_back(absl::StrCat("Y = BEST == ", none, " ? 0.0 : BEST"));
  }
  return TileFunction("NODE, TARGETS, WEIGHTS, IDS", "Y", lines);
}

}  // namespace

absl::StatusOr<Tensor> RunTrees(NodeContext& context, const TreeEnsemble& trees) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor x, AsReal(context, context.input(0)));
  if (x.rank() != 2) return Invalid("operand 0 is ", x.shape().ToString(), ", expected [N, F]");
  if (trees.targets < 1 || trees.targets > kMaxTable) return Invalid(trees.targets, " targets");
  if (static_cast<int64_t>(trees.nodes.size()) > kMaxTable) return Invalid("too many nodes");
  TARTAN_RETURN_IF_ERROR(CheckNodes(trees, x.dims()[1]));
  TARTAN_ASSIGN_OR_RETURN(const Tensor ends, Walk(context, trees, x));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> tables, VoteTables(trees, x.type()));
  std::vector<int32_t> ids;
  for (int64_t k = 0; k < trees.targets; ++k) ids.push_back(static_cast<int32_t>(k));
  const TensorShape shape{DataType::kInt32, {trees.targets}};
  return context.ApplyOne(
      VoteText(trees, ends.dims(), tables[0].dims()[1]),
      {ends, tables[0], tables[1], Tensor::Constant(HostTensor::FromVector(shape, ids))});
}

}  // namespace tartan::onnx
