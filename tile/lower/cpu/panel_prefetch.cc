// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/panel_prefetch.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/math/integer.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/machine.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

// Bytes of an operand that stay in the L2 cache without prefetching (empirical).
constexpr int64_t kCachedBytes = int64_t{1} << 20;

class PanelPrefetch : IndexBuilder {
 public:
  PanelPrefetch(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                const IndexEmitter& indices, const ExprPtr& chunk_begin)
      : IndexBuilder(indices.index_type()),
        flat_(flat),
        plan_(plan),
        indices_(indices),
        chunk_begin_(chunk_begin) {}

  std::vector<StmtPtr> Emit() const {
    const int v = plan_.vector_index;
    if (indices_.has_size_arguments() || v < 0 || v >= flat_.output_index_count) return {};
    for (const int r : plan_.reduction_order) {
      if (plan_.unroll[r] != 1) return {};
    }
    std::vector<StmtPtr> fetches;
    for (size_t a = 0; a < flat_.accesses.size(); ++a) {
      if (StmtPtr fetch = Fetch(static_cast<int>(a))) fetches.push_back(std::move(fetch));
    }
    return fetches;
  }

 private:
  // The index that the plan splits into K chunks, or -1.
  int ChunkIndex() const { return plan_.block ? plan_.block->chunk_index : -1; }
  int64_t StepsAlong(int r) const {
    return r == ChunkIndex() ? plan_.block->chunk_length : flat_.indices[r].range;
  }

  // The rows of a panel: one per step of the reduction.
  struct Rows {
    int64_t width = 0;  // elements per row, contiguous; 0: the rows are not contiguous
    int64_t steps = 1;  // rows per K chunk
    int64_t all = 1;    // rows per panel
  };

  Rows RowsOf(const std::vector<int64_t>& strides) const {
    Rows rows;
    int64_t greatest = 0;
    for (const int r : plan_.reduction_order) {
      if (strides[r] <= 0) return {};
      rows.width = rows.width == 0 ? strides[r] : std::min(rows.width, strides[r]);
      greatest = std::max(greatest, strides[r]);
      rows.steps *= StepsAlong(r);
      rows.all *= flat_.indices[r].range;
    }
    int64_t last = 0;
    for (const int r : plan_.reduction_order) {
      if (strides[r] % rows.width != 0) return {};
      last += strides[r] * (flat_.indices[r].range - 1);
    }
    const bool is_whole = last == (rows.all - 1) * rows.width;
    const bool goes_on = ChunkIndex() < 0 || strides[ChunkIndex()] == greatest;
    return is_whole && goes_on ? rows : Rows();
  }

  // The innermost loops of a task around a tile.
  struct Loops {
    // loop over consecutive panels, if tiles alternate between several; -1: one panel
    int panels = -1;
    int tiles = -1;  // loop over the tiles that use the same panels
  };

  Loops Find(const std::vector<int64_t>& strides, int64_t panel) const {
    Loops loops;
    for (size_t level = plan_.order.size(); level-- > 0 && loops.tiles < 0;) {
      const int i = plan_.order[level];
      if (i == plan_.vector_index || Length(i) <= plan_.unroll[i]) continue;
      if (strides[i] == 0) {
        loops.tiles = i;
      } else if (loops.panels < 0 && strides[i] == panel && plan_.unroll[i] == 1) {
        loops.panels = i;
      } else {
        break;
      }
    }
    return loops;
  }

  // The values of index i in a task.
  int64_t Length(int i) const { return std::min(plan_.task[i], flat_.indices[i].range); }

  bool IsStaged(int access) const {
    return plan_.block &&
           std::count(plan_.block->staged.begin(), plan_.block->staged.end(), access);
  }

  // Addresses of prefetches past the end of the tensor must still fit the index type.
  bool CanBePassed(const poly::Tensor& tensor, int64_t panel) const {
    return tensor.shape.element_count() <= (MaxInteger(indices_.index_type()) >> 1) - panel;
  }

  StmtPtr Fetch(int access) const {
    const poly::TensorAccess& read = flat_.accesses[access];
    const poly::Tensor& tensor = flat_.tensors[read.tensor];
    const int v = plan_.vector_index;
    const poly::FlatAccess at =
        poly::Flatten(read.coords, tensor.shape.dims, static_cast<int>(flat_.indices.size()));
    const Rows rows = RowsOf(at.strides);
    const int64_t width = rows.width;
    const bool is_panel = width > 0 && at.strides[v] == 1 && width == plan_.unroll[v] &&
                          width == flat_.indices[v].range && read.guard.empty();
    if (!is_panel || tensor.shape.byte_size() < kCachedBytes || IsStaged(access)) return nullptr;
    const int64_t steps = rows.steps;
    const Loops loops = Find(at.strides, ChunkIndex() >= 0 ? 0 : steps * width);
    if (loops.tiles < 0 || !CanBePassed(tensor, steps * width)) return nullptr;
    const int64_t tiles = math::CeilDiv(Length(loops.tiles), plan_.unroll[loops.tiles]);
    // Elements per step: the tiles together prefetch one panel, and each at most a cache line per
    // step.
    const int64_t line = plan::cpu::kLineBytes / ByteWidth(tensor.shape.type);
    const int64_t part = std::min(math::CeilDiv(width, tiles), line);
    ExprPtr tile = loop::Mod(
        loop::Div(loop::Add(indices_.value(loops.tiles), Number(plan_.unroll[loops.tiles] - 1)),
                  Number(plan_.unroll[loops.tiles])),
        Number(tiles));
    math::Affine place;
    const std::vector<int64_t> strides = RowMajorStrides(tensor.shape.dims);
    for (size_t d = 0; d < strides.size(); ++d) place = place + read.coords[d] * strides[d];
    ExprPtr index = indices_.Emit(place, {}, steps * width);
    if (loops.panels >= 0) {
      const int64_t panels = Length(loops.panels);
      const ExprPtr panel = loop::Mod(indices_.value(loops.panels), Number(panels));
      tile = loop::Add(loop::Mul(tile, Number(panels)), panel);
      index = loop::Sub(indices_.Emit(place, {}, panels * steps * width),
                        loop::Mul(panel, Number(steps * width)));
    }
    index = loop::Add(index, loop::Mul(tile, Number(steps * part)));
    for (const int r : plan_.reduction_order) {
      const ExprPtr value = indices_.value(r);
      const ExprPtr step = r == ChunkIndex() ? loop::Sub(value, chunk_begin_) : value;
      index = loop::Sub(index, loop::Mul(step, Number(at.strides[r] / width * (width - part))));
    }
    return loop::MakePrefetch(absl::StrCat("in", read.tensor), tensor.shape.type, index,
                              /*into_second_cache_only=*/true);
  }

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  const IndexEmitter& indices_;
  const ExprPtr& chunk_begin_;
};

}  // namespace

std::vector<StmtPtr> PrefetchNextPanel(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                                       const IndexEmitter& indices, const ExprPtr& chunk_begin) {
  return PanelPrefetch(flat, plan, indices, chunk_begin).Emit();
}

}  // namespace tartan::lower
