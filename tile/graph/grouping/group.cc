// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/grouping/group.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tile/base/match.h"
#include "tile/graph/constants.h"
#include "tile/graph/grouping/constant_readers.h"
#include "tile/graph/grouping/epilogue_stores.h"
#include "tile/graph/grouping/group_reasons.h"
#include "tile/graph/grouping/joined_states.h"
#include "tile/graph/grouping/leave_to_reductions.h"
#include "tile/graph/grouping/small_weights.h"
#include "tile/graph/grouping/updates.h"
#include "tile/graph/moves/fuse_permutations.h"
#include "tile/graph/placements/pieces.h"
#include "tile/graph/rewriter.h"
#include "tile/graph/value_kind.h"
#include "tile/poly/coords.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

class Grouper {
 public:
  Grouper(const ir::Program& program, const poly::ProgramSpaces& spaces,
          const GroupOptions& options)
      : program_(program), spaces_(spaces), options_(options), size_(program.values.size()) {}

  ir::Grouping Run() {
    Classify();
    is_update_ = FindUpdates(program_);
    if (options_.fuse) {
      for (size_t v = 0; v < size_; ++v) {
        if (kind_[v] == Kind::kRoot && spaces_[v].has_value() && spaces_[v]->covers_output) {
          GrowRegion(static_cast<ValueId>(v));
        }
      }
      std::vector<bool> leaves(size_);  // whether the value leaves its region
      for (size_t v = 0; v < size_; ++v) {
        leaves[v] = region_[v] != ir::kNoValue && UsedOutsideRegion(static_cast<ValueId>(v));
      }
      FusePieces(program_, pieces_, leaves, constant_, &region_);
    }
    MarkNeeded();
    if (options_.fuse) FusePermutations(program_, spaces_, constant_, &region_, &in_memory_);
    if (options_.fuse) FuseUpdates(program_, FreeValues(), in_memory_, &joined_);
    // Round 1 stores shared values, round 2 also costly ones. A stored value changes other costs.
    for (const bool may_store : {false, true}) {
      MarkCostly(may_store);
      MarkRepeated();
    }
    if (options_.fuse) {
      FuseReadStates(program_, FreeValues(), in_memory_, sinks_, &joined_);
      const KernelOrder order = {LatestRoots(latest_root_, joined_), FreeValues()};
      FuseReadValues(program_, order, in_memory_, MayBeFusedIntoReader(order), sinks_, &joined_);
    }
    ir::Grouping grouping = MakeGrouping();
    if (options_.log != nullptr) LogGroups(program_, grouping, region_, reasons_, options_.log);
    return grouping;
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }

  // The first reason is kept.
  void Store(ValueId v, const char* reason) {
    in_memory_[v] = true;
    if (reasons_.stored[v] == nullptr) reasons_.stored[v] = reason;
  }

  void Classify() {
    users_ = UsersOf(program_);
    latest_root_.assign(size_, -1);
    region_.assign(size_, ir::kNoValue);
    in_memory_.assign(size_, false);
    reasons_.stored.assign(size_, nullptr);
    joined_.assign(size_, ir::kNoValue);
    inlined_.assign(size_, false);
    for (ValueId v : options_.inlined) inlined_[v] = true;
    constant_ = FindConstants(program_);
    is_output_.assign(size_, false);
    for (ValueId v : program_.outputs) is_output_[v] = true;
    pieces_ = FindPieceStorage(program_, spaces_);
    narrow_.assign(size_, ir::kNoValue);
    for (size_t v = 0; v < size_; ++v) {
      narrow_[v] = NarrowForm(program_, program_.values[v]);
      kind_.push_back(KindOf(program_.values[v], spaces_[v]));
      for (ValueId operand : ir::Operands(program_.values[v].op)) {
        latest_root_[v] = std::max(latest_root_[v], latest_root_[operand]);
      }
      if (kind_[v] == Kind::kRoot) latest_root_[v] = static_cast<ValueId>(v);
    }
    if (options_.fuse) FindWeights();
  }

  void FindWeights() {
    const SmallWeights weights =
        FindSmallWeights(program_, spaces_, kind_, constant_, options_.decodes_for_many_rows);
    for (size_t v = 0; v < size_; ++v) {
      if (weights.decoded[v]) inlined_[v] = true;
      if (weights.copied[v]) Store(static_cast<ValueId>(v), "the constant is reordered at load");
    }
  }

  // Collects the elementwise operations that can follow `root` in its kernel. They read the region
  // at their own element, and other values from kernels that run earlier.
  void GrowRegion(ValueId root) {
    region_[root] = root;
    std::vector<ValueId> members = {root};
    std::set<ValueId> candidates(users_[root].begin(), users_[root].end());
    int operations = 0;
    while (!candidates.empty() && operations < options_.max_epilogue_operations) {
      const ValueId candidate = *candidates.begin();
      candidates.erase(candidates.begin());
      const char* misfit = Misfit(root, candidate);
      if (misfit != nullptr && options_.log) reasons_.misfit[{root, candidate}] = misfit;
      if (misfit != nullptr) continue;
      region_[candidate] = root;
      members.push_back(candidate);
      ++operations;
      candidates.insert(users_[candidate].begin(), users_[candidate].end());
    }
    for (const ValueId left :
         LeaveToReductions(program_, spaces_, kind_, users_, is_output_, &members, &region_)) {
      if (options_.log) reasons_.misfit[{root, left}] = "reductions alone read the consumer";
    }
    // A reshape at the region's end is a view of the stored value.
    for (size_t m = members.size(); m-- > 1;) {
      const ValueId member = members[m];
      const bool used_inside = std::any_of(users_[member].begin(), users_[member].end(),
                                           [&](ValueId user) { return region_[user] == root; });
      if (kind_[member] == Kind::kReshape && !used_inside) region_[member] = ir::kNoValue;
    }
  }

  // Returns why the candidate cannot be in the epilogue of `root`; null if it can.
  const char* Misfit(ValueId root, ValueId candidate) const {
    if (region_[candidate] != ir::kNoValue) return "another epilogue computes the consumer";
    const bool is_elementwise = std::holds_alternative<ir::Elementwise>(value(candidate).op);
    if (kind_[candidate] == Kind::kRoot) return kIsKernel;
    if (!is_elementwise && kind_[candidate] != Kind::kReshape) return "the consumer moves elements";
    if (inlined_[candidate]) return "the readers of the consumer compute it";
    // State updates access memory in order. If rows of the reduction's result are shorter than a
    // vector, its lanes are strided in memory (weights of convolutions).
    constexpr int64_t kShortRow = 16;
    const std::vector<int64_t>& dims = value(root).shape.dims;
    if (is_update_[candidate] && dims.size() > 2 && dims.back() < kShortRow) {
      return "the consumer updates a state whose rows are shorter than a vector";
    }
    const int64_t most = options_.max_update_terms;
    if (is_update_[candidate] && PointsOf(spaces_[root]) / most > value(root).shape.element_count())
      return "the consumer updates a state, and K of the matmul is long";
    // A reduction of constants runs once, at load; operations on values of a run must not join it.
    if (constant_[root] != constant_[candidate]) return kComputedAtLoad;
    const TensorShape& shape = value(candidate).shape;
    const int64_t count = value(root).shape.element_count();
    if (shape.element_count() != count || count == 0)
      return "the consumer has another number of elements";
    for (ValueId operand : ir::Operands(value(candidate).op)) {
      if (region_[operand] == root) {
        if (value(operand).shape.element_count() != count) return "the consumer reads a broadcast";
      } else if (latest_root_[operand] >= root) {
        return "the consumer also reads a value that is computed later";
      }
    }
    // Both directions are needed: outputs are written through the root's coordinates, and reshapes
    // inside the region are read through them.
    const poly::IndexSpace& space = *spaces_[root];
    const auto coords =
        poly::ReshapeCoords(space.output_coords, value(root).shape.dims, shape.dims, space.indices);
    const bool are_alike =
        coords.has_value() &&
        poly::ReshapeCoords(*coords, shape.dims, value(root).shape.dims, space.indices).has_value();
    return are_alike ? nullptr : "the consumer has dimensions that do not match the reduction";
  }

  // Marks values that some reader needs in memory.
  void MarkNeeded() {
    for (ValueId v : options_.held) Store(v, "another pass stores the producer");
    for (size_t v = 0; v < size_; ++v) {
      const ir::Value& user = program_.values[v];
      if (kind_[v] == Kind::kInput) in_memory_[v] = true;
      if (kind_[v] == Kind::kRoot && (region_[v] == ir::kNoValue || UsedOutsideRegion(v))) {
        Store(v, "reductions write their results to memory");
      }
      if (kind_[v] == Kind::kPointwise && !options_.fuse) Store(v, "the pass 'fuse' is left out");
      if (is_output_[v]) Need(static_cast<ValueId>(v), "the program returns the producer");
      const auto* special = std::get_if<ir::Special>(&user.op);
      if (special == nullptr || special->kind == ir::SpecialKind::kIndex) continue;
      if (IsGather(special->kind)) {
        Need(special->operands[0], "a gather reads the producer at computed positions");
      } else if (special->kind == ir::SpecialKind::kReshape) {
        const bool readable_anywhere =
            poly::ReshapeMergesOnly(user.shape.dims, value(special->operands[0]).shape.dims);
        if (!readable_anywhere && region_[v] == ir::kNoValue) {
          Need(special->operands[0], "a reshape divides the dimensions of the producer");
        }
      } else {
        for (ValueId operand : special->operands) Need(operand, kReadBySpecial);
      }
    }
    const EpilogueValues epilogues = {program_, spaces_, kind_,     users_,
                                      region_,  narrow_, in_memory_};
    for (const ValueId v : StoresOfEpilogues(epilogues, options_.max_inlined_operations)) {
      Store(v, "an operation outside the epilogue reads the producer");
    }
  }

  // Marks the value as stored, or the value that it is a reshape of.
  void Need(ValueId v, const char* reason) {
    while (kind_[v] == Kind::kReshape && region_[v] == ir::kNoValue) {
      v = std::get<ir::Special>(value(v).op).operands[0];
    }
    Store(v, reason);
  }

  bool UsedOutsideRegion(ValueId v) const {
    return is_output_[v] || users_[v].empty() ||
           std::any_of(users_[v].begin(), users_[v].end(),
                       [&](ValueId user) { return region_[user] != region_[v]; });
  }

  // Counts operations and reads needed to compute one element of each value inline. With
  // `may_store`, stores values that exceed the limits.
  void MarkCostly(bool may_store) {
    constexpr int kMany = 1 << 20;  // cap on the counts, against overflow
    operations_.assign(size_, 0);
    reads_.assign(size_, 0);
    for (size_t i = 0; i < size_; ++i) {
      const ValueId v = static_cast<ValueId>(i);
      if (kind_[v] == Kind::kConstant) continue;
      if (in_memory_[v] || kind_[v] == Kind::kRoot) {
        reads_[v] = 1;
        continue;
      }
      const bool is_free = options_.inlines_roundings &&
                           RoundsFloat32(program_, value(v), options_.rounded_in_memory);
      operations_[v] = is_free ? 0 : OperationsOf(value(v), spaces_[v]);
      for (ValueId operand : ir::Operands(value(v).op)) {
        operations_[v] = std::min(operations_[v] + operations_[operand], kMany);
        reads_[v] = std::min(reads_[v] + reads_[operand], kMany);
      }
      if (!may_store) continue;
      const bool costly = operations_[v] > options_.max_inlined_operations ||
                          reads_[v] > options_.max_inlined_reads || IsDoneAtLoad(v) ||
                          IsJoinedAtLoad(v);
      if (costly && kind_[v] == Kind::kPointwise && region_[v] == ir::kNoValue && !inlined_[v]) {
        const ValueId stored =
            narrow_[v] != ir::kNoValue && region_[narrow_[v]] == ir::kNoValue ? narrow_[v] : v;
        Store(stored, operations_[v] > options_.max_inlined_operations ? kManyOperations
                      : reads_[v] > options_.max_inlined_reads         ? kManyReads
                                                                       : kComputedAtLoad);
        operations_[stored] = 0;
        reads_[stored] = 1;
        operations_[v] = 0;
        reads_[v] = 1;
      }
    }
  }

  // Returns true for several operations on constants whose result runs read for many elements, such
  // as scale and shift of a normalisation.
  bool IsDoneAtLoad(ValueId v) const {
    constexpr int kWorthAKernel = 2;  // minimum operations per element; empirical
    if (!options_.fuse || !constant_[v] || reads_[v] == 0 || operations_[v] < kWorthAKernel) {
      return false;
    }
    return ConstantReaders(program_, users_, kind_, constant_).ReadRepeatedly(v);
  }

  // Returns true for a concatenation of constants that runs read. Inlined, it would select a part
  // for each element.
  bool IsJoinedAtLoad(ValueId v) const {
    return options_.fuse && constant_[v] && HasPieceBefore(value(v)) &&
           ConstantReaders(program_, users_, kind_, constant_).Read(v) &&
           std::none_of(users_[v].begin(), users_[v].end(),
                        [&](ValueId user) { return HasPieceBefore(value(user)); });
  }

  // Stores values that several kernels would compute, or that one kernel would compute repeatedly.
  void MarkRepeated() {
    constexpr size_t kManySinks = 4;     // maximum kernels that repeat a cheap value; empirical
    constexpr int kCheapOperations = 4;  // maximum operations of a cheap value; empirical
    constexpr int kCheapReads = 2;       // maximum reads of a cheap value; empirical
    sinks_.assign(size_, {});
    std::vector<bool> reused(size_, false);  // one of the sinks would recompute it too often
    for (size_t i = size_; i-- > 0;) {
      const ValueId v = static_cast<ValueId>(i);
      for (ValueId user : users_[v]) {
        if (region_[user] != ir::kNoValue) {
          sinks_[v].insert(region_[user]);
        } else if (in_memory_[user] || kind_[user] == Kind::kRoot) {
          sinks_[v].insert(joined_[user] == ir::kNoValue ? user : joined_[user]);
        } else {
          sinks_[v].insert(sinks_[user].begin(), sinks_[user].end());
          if (reused[user]) reused[v] = true;
        }
        if (kind_[user] == Kind::kRoot &&
            PointsOf(spaces_[user]) > options_.max_repeats * value(v).shape.element_count()) {
          reused[v] = true;
        }
      }
      if (kind_[v] != Kind::kPointwise || region_[v] != ir::kNoValue || in_memory_[v]) continue;
      if (inlined_[v] || narrow_[v] != ir::kNoValue) continue;
      if (RepeatsElements(program_, value(v), spaces_[v])) continue;  // its operand is stored
      const bool cheap = operations_[v] <= kCheapOperations && reads_[v] <= kCheapReads;
      if ((sinks_[v].size() > 1 && (!cheap || sinks_[v].size() > kManySinks)) ||
          (reused[v] && operations_[v] > 0)) {
        Store(v, sinks_[v].size() > 1 ? kSeveralKernels : kRepeatedly);
      }
    }
  }

  // Returns the values that belong to no reduction's kernel and can be computed element by element.
  std::vector<bool> FreeValues() const {
    std::vector<bool> is_free(size_, false);
    for (size_t v = 0; v < size_; ++v)
      is_free[v] = kind_[v] == Kind::kPointwise && region_[v] == ir::kNoValue;
    return is_free;
  }

  // Returns the values that the kernel of a reader may compute. Values that were stored to split
  // overlong computations are excluded.
  std::vector<bool> MayBeFusedIntoReader(const KernelOrder& order) const {
    std::vector<bool> may_be(size_, false);
    for (size_t v = 0; v < size_; ++v)
      may_be[v] = order.is_free[v] && in_memory_[v] && !constant_[v] &&
                  (is_output_[v] || sinks_[v].size() > 1);
    return may_be;
  }

  ir::Grouping MakeGrouping() {
    ir::Grouping grouping;
    // Sort key: latest root, roots first, position.
    std::vector<std::tuple<ValueId, int, ValueId>> order;
    std::vector<std::vector<ValueId>> region_outputs(size_);
    const std::vector<ValueId> latest_root = LatestRoots(latest_root_, joined_);
    for (size_t i = 0; i < size_; ++i) {
      const ValueId v = static_cast<ValueId>(i);
      const bool is_root = region_[v] == ir::kNoValue || region_[v] == v;
      if (kind_[v] == Kind::kRoot && is_root) order.emplace_back(v, 0, v);
      if (region_[v] != ir::kNoValue) {
        if (in_memory_[v]) region_outputs[region_[v]].push_back(v);
      } else if (joined_[v] != ir::kNoValue) {
        region_outputs[joined_[v]].push_back(v);
      } else if (in_memory_[v] && kind_[v] != Kind::kInput && kind_[v] != Kind::kRoot) {
        order.emplace_back(latest_root[v], 1, v);
      }
    }
    std::sort(order.begin(), order.end());
    for (const auto& [root, is_pointwise, v] : order) {
      if (is_pointwise == 1) {
        region_outputs[v].push_back(v);
        grouping.groups.push_back({ir::kNoValue, region_outputs[v]});
      } else {
        const bool is_alone = region_[v] == ir::kNoValue;
        grouping.groups.push_back({v, is_alone ? std::vector{v} : region_outputs[v]});
      }
    }
    grouping.in_memory = in_memory_;
    grouping.rounded_in_memory = options_.rounded_in_memory;
    FindStorage(program_, kind_, region_, pieces_, &grouping);
    return grouping;
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const GroupOptions& options_;
  const size_t size_;
  std::vector<Kind> kind_;
  std::vector<std::vector<ValueId>> users_;
  std::vector<bool> constant_;        // depends only on constants
  std::vector<ValueId> latest_root_;  // the last root that the value depends on; -1: none
  std::vector<ValueId> region_;       // the root whose kernel computes the value as an epilogue
  std::vector<bool> in_memory_;
  GroupReasons reasons_;
  std::vector<bool> inlined_;
  std::vector<ValueId> narrow_;  // the narrower value that it is cast from
  std::vector<bool> is_output_;
  std::vector<bool> is_update_;  // belongs to a state update
  std::vector<int> operations_;
  std::vector<int> reads_;
  std::vector<std::set<ValueId>> sinks_;  // the kernels that compute or read the value
  PieceStorage pieces_;
  std::vector<ValueId> joined_;  // the value whose kernel also computes this one
};

}  // namespace

ir::Grouping GroupIntoKernels(const ir::Program& program, const poly::ProgramSpaces& spaces,
                              const GroupOptions& options) {
  return Grouper(program, spaces, options).Run();
}

}  // namespace tartan::graph
