// SPDX-License-Identifier: Apache-2.0
// The three encodings of tree ensembles in ai.onnx.ml.
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/ml/families.h"
#include "frontend/onnx/families/ml/ml_scores.h"
#include "frontend/onnx/families/ml/tree_ensemble.h"
#include "frontend/onnx/families/shared/low_precision.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr absl::string_view kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                             "PROBIT"};

// A list of integers that must have `count` elements.
absl::StatusOr<std::vector<int64_t>> IntsOf(const NodeContext& context, absl::string_view name,
                                            size_t count) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> values, context.Ints(name));
  if (values.size() == count) return values;
  return Invalid("attribute '", name, "' has ", values.size(), " elements, expected ", count);
}

// An optional list of integers; the default is all 0.
absl::StatusOr<std::vector<int64_t>> OptionalInts(const NodeContext& context,
                                                  absl::string_view name, size_t count) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<int64_t> values, context.Ints(name, {}));
  if (values.empty()) return std::vector<int64_t>(count);
  return IntsOf(context, name, count);
}

// Floats of an attribute, or doubles of the tensor NAME_as_tensor; empty without both.
absl::StatusOr<std::vector<double>> RealsOf(const NodeContext& context, absl::string_view name) {
  const std::string as_tensor = absl::StrCat(name, "_as_tensor");
  if (context.HasAttribute(as_tensor)) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor values, context.TensorValue(as_tensor));
    return values.ToDoubles();
  }
  if (!context.HasAttribute(name)) return std::vector<double>();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> values, context.Floats(name));
  return std::vector<double>(values.begin(), values.end());
}

// --- TreeEnsemble

// Reads the sets of membership nodes, each terminated by NaN, in the order of the nodes.
absl::Status ReadMembers(const NodeContext& context, size_t inner, TreeEnsemble* trees) {
  std::vector<double> values;
  if (context.HasAttribute("membership_values")) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor members, context.TensorValue("membership_values"));
    values = members.ToDoubles();
  }
  size_t at = 0;
  for (size_t i = 0; i < inner; ++i) {
    TreeNode& node = trees->nodes[i];
    if (node.branch != Branch::kMember) continue;
    if (at >= values.size()) return Invalid("attribute 'membership_values' is too short");
    for (; at < values.size() && !std::isnan(values[at]); ++at) node.members.push_back(values[at]);
    ++at;
  }
  return absl::OkStatus();
}

// Reads the inner nodes, then the leaves.
absl::StatusOr<TreeEnsemble> ReadTreeEnsemble(const NodeContext& context) {
  TreeEnsemble trees;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> features, context.Ints("nodes_featureids"));
  const size_t inner = features.size();
  TARTAN_ASSIGN_OR_RETURN(const HostTensor modes, context.TensorValue("nodes_modes"));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor splits, context.TensorValue("nodes_splits"));
  TARTAN_ASSIGN_OR_RETURN(const HostTensor weights, context.TensorValue("leaf_weights"));
  if (modes.element_count() != static_cast<int64_t>(inner) ||
      splits.element_count() != static_cast<int64_t>(inner)) {
    return Invalid(modes.element_count(), " modes and ", splits.element_count(), " splits for ",
                   inner, " nodes");
  }
  const size_t leaves = static_cast<size_t>(weights.element_count());
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> on_true,
                          IntsOf(context, "nodes_truenodeids", inner));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> on_false,
                          IntsOf(context, "nodes_falsenodeids", inner));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> true_leafs,
                          IntsOf(context, "nodes_trueleafs", inner));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> false_leafs,
                          IntsOf(context, "nodes_falseleafs", inner));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> missing,
                          OptionalInts(context, "nodes_missing_value_tracks_true", inner));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> targets,
                          IntsOf(context, "leaf_targetids", leaves));
  TARTAN_ASSIGN_OR_RETURN(trees.roots, context.Ints("tree_roots"));
  TARTAN_ASSIGN_OR_RETURN(trees.targets, context.Int("n_targets", 1));
  const auto place = [&](int64_t position, int64_t is_leaf) {
    const int64_t size = static_cast<int64_t>(is_leaf != 0 ? leaves : inner);
    if (position < 0 || position >= size) return int64_t{-1};
    return is_leaf != 0 ? position + static_cast<int64_t>(inner) : position;
  };
  for (size_t i = 0; i < inner; ++i) {
    const int64_t mode = modes.GetInt(static_cast<int64_t>(i));
    if (mode < 0 || mode > 6) return Invalid("attribute 'nodes_modes': ", mode);
    trees.nodes.push_back({static_cast<Branch>(mode),
                           features[i],
                           splits.GetDouble(static_cast<int64_t>(i)),
                           {},
                           missing[i] != 0,
                           place(on_true[i], true_leafs[i]),
                           place(on_false[i], false_leafs[i]),
                           {}});
  }
  for (size_t i = 0; i < leaves; ++i) {
    TreeNode leaf;
    leaf.on_true = leaf.on_false = static_cast<int64_t>(inner + i);
    leaf.votes = {{targets[i], weights.GetDouble(static_cast<int64_t>(i))}};
    trees.nodes.push_back(std::move(leaf));
  }
  TARTAN_RETURN_IF_ERROR(ReadMembers(context, inner, &trees));
  return trees;
}

Outputs TreeEnsembleOperator(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(TreeEnsemble trees, ReadTreeEnsemble(context));
  TARTAN_ASSIGN_OR_RETURN(const int64_t aggregate, context.Int("aggregate_function", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t transform, context.Int("post_transform", 0));
  if (aggregate < 0 || aggregate > 3) return Invalid("attribute 'aggregate_function': ", aggregate);
  if (transform < 0 || transform > 4) return Invalid("attribute 'post_transform': ", transform);
  trees.aggregate = static_cast<Aggregate>(aggregate);
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, RunTrees(context, trees));
  const DataType type = context.input(0).type();
  if (transform != 0 || scores.type() != type) {
    TARTAN_ASSIGN_OR_RETURN(
        scores, PostTransformed(context, scores, kTransforms[static_cast<size_t>(transform)]));
  }
  if (scores.type() == type) return std::vector<Tensor>{std::move(scores)};
  return context.Apply(
      absl::StrCat("function (S) -> (Y) { Y = as_float(S, ", 8 * ByteWidth(type), "); }"),
      {scores});
}

// --- TreeEnsembleRegressor and TreeEnsembleClassifier

absl::StatusOr<Branch> BranchOf(const std::string& mode) {
  constexpr absl::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                          "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};
  for (size_t i = 0; i < 6; ++i) {
    if (mode == kModes[i]) return static_cast<Branch>(i);
  }
  return Invalid("attribute 'nodes_modes': unknown mode ", mode);
}

using NodeKey = std::pair<int64_t, int64_t>;  // tree, node

// Reads nodes by their tree and id; the first node of a tree is its root.
absl::StatusOr<TreeEnsemble> ReadNodes(const NodeContext& context,
                                       std::map<NodeKey, int64_t>* places) {
  TreeEnsemble trees;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, context.Ints("nodes_nodeids"));
  const size_t count = ids.size();
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> tree_ids,
                          IntsOf(context, "nodes_treeids", count));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> features,
                          IntsOf(context, "nodes_featureids", count));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> on_true,
                          IntsOf(context, "nodes_truenodeids", count));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> on_false,
                          IntsOf(context, "nodes_falsenodeids", count));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> missing,
                          OptionalInts(context, "nodes_missing_value_tracks_true", count));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> modes, context.Strings("nodes_modes"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> splits, RealsOf(context, "nodes_values"));
  if (modes.size() != count || splits.size() != count) {
    return Invalid(modes.size(), " modes and ", splits.size(), " values for ", count, " nodes");
  }
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    const int64_t place = static_cast<int64_t>(i);
    if (!places->emplace(NodeKey{tree_ids[i], ids[i]}, place).second) {
      return Invalid("node ", ids[i], " of tree ", tree_ids[i], " is defined twice");
    }
    if (seen.insert(tree_ids[i]).second) trees.roots.push_back(place);
  }
  for (size_t i = 0; i < count; ++i) {
    TreeNode node;
    node.on_true = node.on_false = static_cast<int64_t>(i);
    if (modes[i] != "LEAF") {
      TARTAN_ASSIGN_OR_RETURN(node.branch, BranchOf(modes[i]));
      const auto yes = places->find({tree_ids[i], on_true[i]});
      const auto no = places->find({tree_ids[i], on_false[i]});
      node.on_true = yes == places->end() ? -1 : yes->second;
      node.on_false = no == places->end() ? -1 : no->second;
      node.feature = features[i];
      node.split = splits[i];
      node.missing_is_true = missing[i] != 0;
    }
    trees.nodes.push_back(std::move(node));
  }
  return trees;
}

// Reads the votes PREFIX_treeids, _nodeids, _ids and _weights.
absl::StatusOr<TreeEnsemble> ReadVotingTrees(const NodeContext& context, absl::string_view prefix) {
  std::map<NodeKey, int64_t> places;
  TARTAN_ASSIGN_OR_RETURN(TreeEnsemble trees, ReadNodes(context, &places));
  const auto name = [&](absl::string_view what) { return absl::StrCat(prefix, "_", what); };
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> weights, RealsOf(context, name("weights")));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> tree_ids,
                          IntsOf(context, name("treeids"), weights.size()));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> node_ids,
                          IntsOf(context, name("nodeids"), weights.size()));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> targets,
                          IntsOf(context, name("ids"), weights.size()));
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto found = places.find({tree_ids[i], node_ids[i]});
    if (found == places.end()) {
      return Invalid("a vote of node ", node_ids[i], " of tree ", tree_ids[i],
                     ", which does not exist");
    }
    trees.nodes[static_cast<size_t>(found->second)].votes.push_back({targets[i], weights[i]});
  }
  return trees;
}

absl::StatusOr<Tensor> WithBase(const NodeContext& context, const Tensor& scores,
                                const std::vector<double>& base) {
  if (base.empty()) return scores;
  const int64_t count = static_cast<int64_t>(base.size());
  if (count != 1 && count != scores.dims()[1]) {
    return Invalid("attribute 'base_values' has ", count, " elements for ",
                   scores.shape().ToString());
  }
  return context.ApplyOne("function (S, B) -> (Y) { Y = S + B; }",
                          {scores, ConstantOf(scores.type(), base, {count})});
}

Outputs TreeEnsembleRegressor(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(TreeEnsemble trees, ReadVotingTrees(context, "target"));
  TARTAN_ASSIGN_OR_RETURN(trees.targets, context.Int("n_targets", 1));
  TARTAN_ASSIGN_OR_RETURN(const std::string aggregate, context.String("aggregate_function", "SUM"));
  TARTAN_ASSIGN_OR_RETURN(const std::string transform, context.String("post_transform", "NONE"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> base, RealsOf(context, "base_values"));
  const std::map<std::string, Aggregate> aggregates = {{"AVERAGE", Aggregate::kAverage},
                                                       {"SUM", Aggregate::kSum},
                                                       {"MIN", Aggregate::kMin},
                                                       {"MAX", Aggregate::kMax}};
  const auto found = aggregates.find(aggregate);
  if (found == aggregates.end()) return Invalid("attribute 'aggregate_function': ", aggregate);
  trees.aggregate = found->second;
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, RunTrees(context, trees));
  TARTAN_ASSIGN_OR_RETURN(scores, WithBase(context, scores, base));
  return OneTensor(PostTransformed(context, scores, transform));
}

// The scores of two classes if the trees vote for only one of them. Its score S is compared with 1
// - S if all votes are positive, and with -S otherwise.
absl::StatusOr<Tensor> BothScores(const NodeContext& context, const Tensor& scores, int64_t voted,
                                  bool is_positive, bool is_odds) {
  const std::string other = is_positive && !is_odds ? "1.0 - S" : "-S";
  return context.ApplyOne(absl::StrCat("function (Z[N, K]) -> (Y) { S[n, z : N, 1] = +(Z[n, z + ",
                                       voted, "]); Y = index(Z, 1) == 1 ? S : ", other, "; }"),
                          {scores});
}

OutputValues TreeEnsembleClassifier(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(Tensor numbers, DecodeLowPrecision(context, context.value(0)));
  context.SetInput(0, Value(std::move(numbers)));
  TARTAN_ASSIGN_OR_RETURN(TreeEnsemble trees, ReadVotingTrees(context, "class"));
  TARTAN_ASSIGN_OR_RETURN(const api::HostValue labels,
                          ReadLabels(context, "classlabels_int64s", "classlabels_strings"));
  TARTAN_ASSIGN_OR_RETURN(const std::string transform, context.String("post_transform", "NONE"));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<double> base, RealsOf(context, "base_values"));
  trees.targets = labels.tensor().element_count();
  std::set<int64_t> voted;
  bool is_positive = true;
  for (const TreeNode& node : trees.nodes) {
    for (const Vote& vote : node.votes) {
      voted.insert(vote.target);
      is_positive = is_positive && vote.weight >= 0;
    }
  }
  TARTAN_ASSIGN_OR_RETURN(Tensor scores, RunTrees(context, trees));
  TARTAN_ASSIGN_OR_RETURN(scores, WithBase(context, scores, base));
  Tensor compared = scores;
  if (trees.targets == 2 && voted.size() == 1) {
    const bool is_odds = transform != "NONE" && transform != "PROBIT";
    TARTAN_ASSIGN_OR_RETURN(compared,
                            BothScores(context, scores, *voted.begin(), is_positive, false));
    TARTAN_ASSIGN_OR_RETURN(scores,
                            BothScores(context, scores, *voted.begin(), is_positive, is_odds));
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor greatest, ArgMaxOfRows(context, compared));
  TARTAN_ASSIGN_OR_RETURN(Value label, LabelsAt(context, labels, greatest));
  TARTAN_ASSIGN_OR_RETURN(scores, PostTransformed(context, scores, transform));
  return std::vector<Value>{std::move(label), Value(std::move(scores))};
}

constexpr OperatorRow kOperators[] = {
    In(kMlDomain, {"TreeEnsemble", 5, {1, 1}, TreeEnsembleOperator}),
    In(kMlDomain, ValueRow("TreeEnsembleClassifier", 1, {1, 1}, TreeEnsembleClassifier)),
    In(kMlDomain, {"TreeEnsembleRegressor", 1, {1, 1}, TreeEnsembleRegressor}),
};

}  // namespace

absl::Span<const OperatorRow> MlTreeOperators() { return kOperators; }

}  // namespace tartan::onnx
