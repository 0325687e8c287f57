// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/rows/chain_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/grouping/group_graph.h"
#include "tile/graph/rows/chain_effects.h"
#include "tile/graph/rows/growing_chain.h"
#include "tile/graph/rows/row_axes.h"
#include "tile/graph/rows/row_layout.h"
#include "tile/graph/rows/split_rows.h"
#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;
using poly::FlatContraction;

constexpr size_t kMaxKernels = 12;        // per chain; longer kernels take long to compile
constexpr int64_t kLittleWork = 1 << 15;  // index points that one core computes without help

class ChainFinder {
 public:
  ChainFinder(const ir::Program& program, const ir::Grouping& grouping, const GroupKernels& kernels,
              const ChainOptions& options)
      : program_(program),
        grouping_(grouping),
        kernels_(kernels),
        options_(options),
        graph_(program, grouping),
        in_chain_(kernels.size(), false) {
    for (ValueId output : program.outputs) outputs_.insert(grouping.storage[output]);
  }

  std::vector<RowChain> Run() {
    std::vector<RowChain> chains;
    for (int g = 0; g < graph_.group_count(); ++g) {
      if (in_chain_[g] || !kernels_[g] || !kernels_[g]->is_reduction()) continue;
      const std::optional<Growing> growing = Grow(g);
      std::optional<RowChain> chain;
      if (growing) chain = Finish(*growing);
      for (const bool may_be_long : {false, true}) {
        if (auto better = GrowWithMatmuls(g, chain, may_be_long)) chain = std::move(better);
      }
      if (!chain) chain = GrowColumns(g);
      if (!chain) continue;
      chains.push_back(*std::move(chain));
      for (int group : chains.back().groups) in_chain_[group] = true;
      chains_.push_back(chains.back().groups);
    }
    return chains;
  }

 private:
  const FlatContraction& kernel(int g) const { return *kernels_[g]; }
  // Returns the kernel as the chain uses it, perhaps with split indices.
  const FlatContraction& kernel(int g, const Growing& growing) const {
    const auto found = growing.split.find(g);
    return found == growing.split.end() ? kernel(g) : found->second;
  }
  ValueId StorageOf(const FlatContraction& flat, int tensor) const {
    return grouping_.storage[flat.tensors[tensor].value];
  }

  // Grows a chain from a reduction; returns nothing unless it has two kernels and is worth it.
  std::optional<Growing> Grow(int g) const {
    Growing growing;
    if (options_.planes) {
      std::vector<int> planes = PlaneAxes(kernel(g));
      growing.has_planes = true;
      if (!planes.empty() && GrowFrom(g, std::move(planes), &growing)) return growing;
      growing = {};
    }
    std::vector<int> all(kernel(g).output_index_count);
    std::iota(all.begin(), all.end(), 0);
    if (GrowFrom(g, std::move(all), &growing)) return growing;
    return std::nullopt;
  }

  // Grows a chain with matmuls; returns nothing unless it is better than `without`.
  std::optional<RowChain> GrowWithMatmuls(int g, const std::optional<RowChain>& without,
                                          bool may_be_long) const {
    if (!options_.accepts_matmuls) return std::nullopt;
    Growing growing = {.accepts_matmuls = true, .may_be_long = may_be_long};
    SplitLikeWritten(g, &growing);
    const bool is_chain = GrowFrom(g, OutputIndices(kernel(g, growing)), &growing);
    if (!is_chain || !HasMatmul(growing)) return std::nullopt;
    RowChain chain = Finish(growing);
    if (may_be_long && !chain.has_long_rows) return std::nullopt;
    if (!options_.accepts_matmuls(chain, without ? &*without : nullptr)) return std::nullopt;
    return chain;
  }

  // Grows a chain from a matmul whose epilogue reads other matmuls at the same element, such as a
  // gate. Blocks of columns serve as row axes.
  std::optional<RowChain> GrowColumns(int g) const {
    if (!options_.accepts_matmuls) return std::nullopt;
    std::optional<RowChain> best;
    for (int64_t size : {64, 32, 16, 8}) {
      Growing growing = {.accepts_matmuls = true, .has_column_blocks = true};
      auto split = SplitColumns(kernel(g), size);
      if (!split) continue;
      std::vector<int> axes = RowsOfColumns(*split);
      for (int axis : axes) growing.rows.push_back(split->indices[axis].range);
      growing.split[g] = *std::move(split);
      if (Add(g, std::move(axes), &growing) != nullptr) return std::nullopt;
      for (int p = g; p-- > 0;) {
        if (kernels_[p] != nullptr && kernel(p).is_reduction()) AddBefore(p, &growing);
      }
      if (growing.axes.size() < 2 || CreatesCycle(graph_, growing.Groups(), chains_)) break;
      RowChain chain = Finish(growing);
      if (chain.tensors.size() + 1 < chain.groups.size()) break;
      if (options_.accepts_matmuls(chain, best ? &*best : nullptr)) best = std::move(chain);
    }
    return best;
  }

  bool HasMatmul(const Growing& growing) const {
    return std::any_of(growing.axes.begin(), growing.axes.end(), [&](const auto& member) {
      return IsMatmul(member.first, member.second, growing);
    });
  }

  bool IsMatmul(int g, const std::vector<int>& axes, const Growing& growing) const {
    const FlatContraction& flat = kernel(g, growing);
    return growing.accepts_matmuls && flat.is_reduction() && IsBatchedMatmul(flat, axes) &&
           (growing.has_column_blocks || ShareRowAxis(flat, axes));
  }

  bool GrowFrom(int g, std::vector<int> axes, Growing* growing) const {
    const bool is_chain = GrowUnlogged(g, std::move(axes), growing);
    if (options_.log != nullptr) LogRefused(program_, grouping_, *growing, options_.log);
    return is_chain;
  }

  bool GrowUnlogged(int g, std::vector<int> axes, Growing* growing) const {
    for (int axis : axes) growing->rows.push_back(kernel(g, *growing).indices[axis].range);
    if (const char* misfit = Add(g, std::move(axes), growing)) {
      for (int consumer : graph_.consumers(g)) growing->refused[{g, consumer}] = misfit;
      return false;
    }
    for (int h = g + 1; h < graph_.group_count(); ++h) AddAfter(h, growing);
    for (int p = growing->axes.rbegin()->first; p-- > 0;) AddBefore(p, growing);
    // Without its last kernels, the rest of the chain may be worth it.
    while (growing->axes.size() >= 2) {
      const std::string reason = NotWorthIt(*growing);
      if (reason.empty()) break;
      const int last = growing->axes.rbegin()->first;
      growing->Refuse(graph_.producers(last), last, reason);
      growing->RemoveLast(kernel(last));
    }
    return growing->axes.size() >= 2;
  }

  // Returns why the group cannot be in the chain; null if it was added.
  const char* Add(int g, std::vector<int> axes, Growing* growing) const {
    const FlatContraction& flat = kernel(g, *growing);
    const bool is_product = IsMatmul(g, axes, *growing);
    if (!IsRowWork(flat, axes, growing->has_planes, kLittleWork) && !is_product) {
      return growing->accepts_matmuls ? kNoBatchedMatmul : kNoRowWork;
    }
    const auto is_result = [&](int t) { return growing->written.count(StorageOf(flat, t)) > 0; };
    if (is_product && ReadsSingleElements(flat, axes, is_result)) return kOtherFactors;
    if (options_.single_results && HasSeveralResults(flat, axes) && !is_product) {
      return kSeveralResults;
    }
    // Kernels that transpose their rows are not fused.
    const Layout layout = Join(growing->layout, LayoutOf(flat, axes));
    auto written = WrittenAxes(flat, axes);
    if (!written && growing->accepts_matmuls) {
      SplitOutputDims(&growing->split.try_emplace(g, flat).first->second);
      written = WrittenAxes(kernel(g, *growing), axes);
    }
    if (!written || layout == Layout::kMixed) return kOtherOrder;
    growing->layout = layout;
    for (const poly::Output& output : flat.outputs) {
      growing->written[output.value] = {output.value, kernel(g, *growing).output_dims, *written};
    }
    growing->axes[g] = std::move(axes);
    return nullptr;
  }

  // Adds a later group to the chain, or marks it as dependent on the chain.
  void AddAfter(int g, Growing* growing) const {
    const std::set<int>& producers = graph_.producers(g);
    const bool waits = growing->IsBefore(producers);
    const bool reads = growing->HasAnyOf(producers);
    if (!waits && !reads) return;
    const char* refusal = waits                    ? kRunsBetween
                          : in_chain_[g]           ? "the consumer is in another launch"
                          : kernels_[g] == nullptr ? "the consumer cannot share a launch"
                          : growing->axes.size() >= kMaxKernels ? "the launch has 12 kernels"
                                                                : nullptr;
    if (refusal == nullptr) {
      auto axes = RowsRead(g, growing);
      refusal = axes ? Add(g, *std::move(axes), growing) : kOtherRows;
      if (refusal == nullptr) return;
    }
    if (options_.log != nullptr) growing->Refuse(producers, g, refusal);
    growing->after.insert(g);
  }

  // Derives the kernel's row indices from its reads of the chain; nothing if it reads other rows.
  std::optional<std::vector<int>> RowsRead(int g, Growing* growing) const {
    for (int tensor : GatheredTensors(kernel(g))) {
      if (growing->written.count(StorageOf(kernel(g), tensor)) > 0) return std::nullopt;
    }
    if (growing->accepts_matmuls) SplitLikeWritten(g, growing);
    const FlatContraction& flat = kernel(g, *growing);
    std::vector<int> axes(growing->rows.size(), -1);
    for (const poly::TensorAccess& access : flat.accesses) {
      const auto found = growing->written.find(StorageOf(flat, access.tensor));
      if (found == growing->written.end()) continue;
      const poly::RowTensor& tensor = found->second;
      const auto coords = poly::ReshapeCoords(access.coords, flat.tensors[access.tensor].shape.dims,
                                              tensor.dims, flat.indices);
      if (!coords) return std::nullopt;
      if (!FindRowsRead(flat, *coords, tensor.axes, growing->rows, &axes)) return std::nullopt;
    }
    std::set<int> distinct(axes.begin(), axes.end());
    if (distinct.size() != axes.size() || distinct.count(-1) > 0) return std::nullopt;
    return axes;
  }

  // Splits the kernel's indices to match reshapes of the chain's results or preceding matmuls.
  void SplitLikeWritten(int g, Growing* growing) const {
    auto split = SplitForReshapes(kernel(g), [&](int tensor) -> const std::vector<int64_t>* {
      const ValueId value = StorageOf(kernel(g), tensor);
      const auto found = growing->written.find(value);
      if (found != growing->written.end()) return &found->second.dims;
      for (int p : graph_.producers(g)) {
        const bool is_product = kernels_[p] != nullptr && kernel(p).is_reduction();
        if (is_product && growing->axes.empty() && Stores(kernel(p), value)) {
          return &kernel(p).output_dims;
        }
      }
      return nullptr;
    });
    if (split) growing->split[g] = *std::move(split);
  }

  // Adds an elementwise kernel or a matmul before the chain, if the chain reads its rows.
  void AddBefore(int p, Growing* growing) const {
    if (growing->axes.count(p) > 0 || in_chain_[p] || !kernels_[p] ||
        (kernel(p).is_reduction() && !growing->accepts_matmuls) ||
        growing->axes.size() >= kMaxKernels || growing->after.count(p) > 0 ||
        growing->rows.empty() || !FeedsDirectly(graph_, p, growing->Groups())) {
      return;
    }
    auto axes = RowsGiven(p, *growing);
    if (!axes && growing->accepts_matmuls && SplitLikeReaders(p, growing)) {
      axes = RowsGiven(p, *growing);
    }
    if (!axes || !GatheredTensors(kernel(p)).empty()) return;
    if (kernel(p).is_reduction() && !IsMatmul(p, *axes, *growing)) return;
    Add(p, *std::move(axes), growing);
  }

  // Returns the kernel's own row indices, derived from the chain's reads of its results.
  std::optional<std::vector<int>> RowsGiven(int p, const Growing& growing) const {
    const FlatContraction& given = kernel(p, growing);
    std::vector<int> axes(growing.rows.size(), -1);
    for (const auto& [group, group_axes] : growing.axes) {
      const FlatContraction& flat = kernel(group, growing);
      for (int tensor : GatheredTensors(flat)) {
        if (Stores(given, StorageOf(flat, tensor))) return std::nullopt;
      }
      for (const poly::TensorAccess& access : flat.accesses) {
        if (!Stores(given, StorageOf(flat, access.tensor))) continue;
        const auto coords = poly::ReshapeCoords(
            access.coords, flat.tensors[access.tensor].shape.dims, given.output_dims, flat.indices);
        if (!coords) return std::nullopt;
        if (!FindRowsGiven(given, *coords, group_axes, growing.rows, &axes)) return std::nullopt;
      }
    }
    const bool reads_shape_alone = std::count(axes.begin(), axes.end(), -1) > 0;
    return reads_shape_alone ? std::nullopt : std::make_optional(std::move(axes));
  }

  // Splits the kernel's indices if the chain reads a row dimension with several indices.
  bool SplitLikeReaders(int p, Growing* growing) const {
    for (const auto& [group, axes] : growing->axes) {
      const FlatContraction& flat = kernel(group, *growing);
      auto split = SplitForReader(
          kernel(p), flat, [&](int tensor) { return Stores(kernel(p), StorageOf(flat, tensor)); });
      if (!split) continue;
      growing->split[p] = *std::move(split);
      return true;
    }
    return false;
  }

  // Returns why the chain is worse than separate launches; empty if it is not.
  std::string NotWorthIt(const Growing& growing) const {
    int64_t points = 0;
    int64_t count = 1;
    for (int64_t rows : growing.rows) count *= rows;
    for (const auto& [group, axes] : growing.axes) {
      points += std::max(kernel(group).point_count(), kernel(group).output_point_count());
    }
    // For chains with matmuls, `accepts_matmuls` judges idle cores.
    const bool is_little = points <= kLittleWork || points <= count * options_.row_points;
    const bool is_idle = (count == 1 || count < options_.cores) && !is_little;
    if (is_idle && !HasMatmul(growing)) {
      return absl::StrCat(count, " rows are too few for ", options_.cores, " cores");
    }
    const int64_t bytes = growing.may_be_long ? 0 : RowBytes(growing);
    if (bytes > options_.row_bytes) {
      return absl::StrCat("a row takes ", bytes, " bytes, more than ", options_.row_bytes);
    }
    return CreatesCycle(graph_, growing.Groups(), chains_) ? kRunsBetween : "";
  }

  // Bytes of all tensors that one row touches.
  int64_t RowBytes(const Growing& growing) const {
    std::map<ValueId, int64_t> bytes;
    for (const auto& [group, axes] : growing.axes) {
      AddRowBytes(kernel(group, growing), axes, grouping_.storage, &bytes);
    }
    return Total(bytes);
  }

  RowChain Finish(const Growing& growing) const {
    RowChain chain;
    chain.rows = growing.rows;
    chain.row_bytes = RowBytes(growing);
    chain.layout = growing.layout;
    chain.has_matmuls = growing.accepts_matmuls;
    chain.has_long_rows = growing.may_be_long && chain.row_bytes > options_.row_bytes;
    std::map<ValueId, int> kept;
    int64_t left = options_.local_bytes;
    std::map<int, int> kept_by;
    for (const auto& [group, axes] : growing.axes) {
      if (!IsReadWithin(group, growing)) continue;
      const poly::RowTensor& tensor = growing.written.at(kernel(group).outputs[0].value);
      const DataType type = kernel(group).outputs[0].shape.type;
      const int64_t bytes =
          tensor.Shape(type, std::vector<int64_t>(chain.rows.size(), 1)).byte_size();
      if (bytes > left && !growing.may_be_long) continue;
      chain.has_long_rows = chain.has_long_rows || bytes > left;
      left -= bytes;
      kept[tensor.value] = kept_by[group] = static_cast<int>(chain.tensors.size());
      chain.tensors.push_back(tensor);
    }
    for (const auto& [group, axes] : growing.axes) {
      poly::RowKernel row_kernel = {kernel(group, growing), axes, {}, -1};
      for (size_t t = 0; t < row_kernel.flat.tensors.size(); ++t) {
        const auto found = kept.find(StorageOf(row_kernel.flat, static_cast<int>(t)));
        row_kernel.tensors.push_back(found == kept.end() ? -1 : found->second);
        row_kernel.flat.tensors[t].value = StorageOf(row_kernel.flat, static_cast<int>(t));
      }
      const auto found = kept_by.find(group);
      if (found != kept_by.end()) row_kernel.output = found->second;
      chain.groups.push_back(group);
      chain.kernels.push_back(std::move(row_kernel));
    }
    if (growing.has_planes) poly::AddMargins(chain.kernels, &chain.tensors);
    return chain;
  }

  // Returns true if the group stores a single tensor, and only the chain reads it.
  bool IsReadWithin(int group, const Growing& growing) const {
    const std::vector<poly::Output>& outputs = kernel(group).outputs;
    const DataType type = outputs[0].shape.type;
    if (outputs.size() != 1 || outputs_.count(outputs[0].value) > 0) return false;
    // Stages fused in one loop pass unrounded values; stages with matmuls share no loop.
    const bool is_rounded = ComputeType(type) != type;
    if (type == DataType::kBool || (is_rounded && !growing.accepts_matmuls)) return false;
    const std::set<int>& consumers = graph_.consumers(group);
    return std::all_of(consumers.begin(), consumers.end(),
                       [&](int consumer) { return growing.axes.count(consumer) > 0; });
  }

  const ir::Program& program_;
  const ir::Grouping& grouping_;
  const GroupKernels& kernels_;
  const ChainOptions& options_;
  const GroupGraph graph_;
  std::vector<bool> in_chain_;
  std::vector<ChainGroups> chains_;
  std::set<ValueId> outputs_;
};

}  // namespace

std::vector<RowChain> FindRowChains(const ir::Program& program, const ir::Grouping& grouping,
                                    const GroupKernels& kernels, const ChainOptions& options) {
  return ChainFinder(program, grouping, kernels, options).Run();
}

}  // namespace tartan::graph
