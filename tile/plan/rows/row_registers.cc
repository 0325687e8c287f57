// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_registers.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tile/plan/machine.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr int64_t kMaxIterations = 16;  // maximum iterations, which are unrolled
// Minimum work-items per compute unit that register use should permit.
constexpr int64_t kResidentItems = 768;
// Maximum vectors per value in a tensor core's accumulator layout.
constexpr int64_t kMaxFragmentVectors = 32;
constexpr int64_t kMaxFragmentWords = 140;  // maximum words per work-item in that layout

// Identity of a tensor: in local memory or not, and its number or value.
using Source = std::pair<bool, int64_t>;

// Position of an access in terms of a row's elements.
struct Place {
  int64_t offset = 0;
  std::vector<int64_t> rows;                          // strides of the row indices
  std::vector<std::pair<int64_t, int64_t>> elements;  // ranges and strides; the last varies fastest
  bool operator==(const Place&) const = default;

  bool IsUniform() const {
    return std::all_of(elements.begin(), elements.end(),
                       [](const auto& digit) { return digit.second == 0; });
  }
};

// The indices that number a result's elements: for a GEMM all except the reduced one.
std::vector<int> ResultIndices(const RowGroupStage& stage) {
  std::vector<int> indices = stage.inner;
  if (stage.product.has_value()) {
    std::erase_if(indices, [&](int i) { return i >= stage.block.flat.output_index_count; });
  }
  return indices;
}

Place PlaceOf(const RowGroupStage& stage, const std::vector<math::Affine>& coords,
              const std::vector<int64_t>& dims) {
  const poly::FlatAccess flat =
      poly::Flatten(coords, dims, static_cast<int>(stage.block.flat.indices.size()));
  Place place;
  place.offset = flat.offset;
  for (const std::vector<int>* indices : {&stage.block.origins, &stage.block.rows}) {
    for (int index : *indices) place.rows.push_back(index < 0 ? 0 : flat.strides[index]);
  }
  for (int index : ResultIndices(stage)) {
    const int64_t range = stage.block.flat.indices[index].range;
    const int64_t stride = flat.strides[index];
    if (range == 1) continue;
    if (!place.elements.empty() && place.elements.back().second == range * stride) {
      place.elements.back() = {place.elements.back().first * range, stride};
    } else {
      place.elements.emplace_back(range, stride);
    }
  }
  return place;
}

Place OutputPlace(const RowGroupStage& stage) {
  return PlaceOf(stage, stage.block.flat.output_coords, stage.block.flat.output_dims);
}

// A value that may be in registers: a stage's result, or a tensor read before the first stage.
struct Candidate {
  RegisterValue held;
  Source source;
  Place place;
  int64_t elements = 1;                    // per row
  int64_t item_rows = 1;                   // rows of a work-item
  std::vector<std::pair<int, int>> reads;  // stages and their accesses

  int64_t words() const {
    return std::max<int64_t>(held.iterations, 1) * held.lanes * item_rows *
           std::max<int64_t>(ByteWidth(held.type) / 4, 1);
  }
  // Returns whether the value is in registers between `stage` and the next one.
  bool IsLiveAfter(int stage) const {
    return (held.is_prefetched ? -1 : held.stage) <= stage && stage < reads.back().first;
  }
  // Memory accesses saved per word.
  double Gain() const {
    const int saved = static_cast<int>(reads.size()) + (held.is_prefetched ? -1 : 1);
    return static_cast<double>(saved) / static_cast<double>(words());
  }
};

class Holder {
 public:
  Holder(const std::vector<poly::RowKernel>& kernels, const HardwareSettings& settings,
         RowGroupPlan* plan)
      : kernels_(kernels), plan_(*plan) {
    allowed_ = settings.register_bytes / std::max(plan_.Threads(), kResidentItems) -
               gpu::kOverheadRegisters;
    if (plan_.item_rows > 1) {
      allowed_ = kMaxFragmentWords;
      most_iterations_ = kMaxFragmentVectors;
    }
  }

  void Run() {
    plan_.held.clear();
    for (size_t s = 0; s < plan_.stages.size(); ++s) {
      RowGroupStage& stage = plan_.stages[s];
      stage.register_reads.assign(stage.block.flat.accesses.size(), -1);
      stage.register_result = -1;
      if (stage.product.has_value()) {
        // A GEMM has its own tiles.
        const MatrixPlan* matrix = stage.ByTensorCores();
        if (matrix != nullptr && matrix->holds_results) AddProduct(static_cast<int>(s));
        continue;
      }
      if (stage.role == poly::OnlineRole::kNone) continue;
      AddReads(static_cast<int>(s));
      AddResult(static_cast<int>(s));
    }
    std::erase_if(candidates_, [&](const Candidate& candidate) {
      const bool is_worth =
          !candidate.held.is_prefetched || candidate.reads.size() > 1 ||
          (!MayBeWrittenOver(candidate) && IsBehindReduction(candidate.held.stage));
      return candidate.reads.empty() || !is_worth;
    });
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.Gain() > b.Gain(); });
    for (Candidate& candidate : candidates_) {
      if (candidate.held.iterations == 0 || Fits(candidate)) Hold(std::move(candidate));
    }
    for (size_t s = 0; s < plan_.stages.size(); ++s) SetStores(static_cast<int>(s));
  }

 private:
  Source SourceOf(int stage, int tensor) const {
    const poly::RowKernel& kernel = kernels_[stage];
    if (kernel.tensors[tensor] >= 0) return {true, kernel.tensors[tensor]};
    return {false, kernel.flat.tensors[tensor].value};
  }

  std::vector<Source> Results(int stage) const {
    const poly::RowKernel& kernel = kernels_[stage];
    if (kernel.output >= 0) return {{true, kernel.output}};
    std::vector<Source> results;
    for (const poly::Output& output : kernel.flat.outputs)
      results.emplace_back(false, output.value);
    return results;
  }

  int64_t Iterations(const RowGroupStage& stage) const {
    return stage.Iterations(plan_.row_threads);
  }

  // Returns whether a work-item meets every element of its part of a row and can read it as vectors
  // of stage.lanes.
  bool CanHoldElements(const RowGroupStage& stage, const Place& place) const {
    if (!stage.block.flat.constraints.empty() || place.elements.empty()) return false;
    if (stage.lanes > 1 && place.elements.back().second != 1) return false;
    return Iterations(stage) <= most_iterations_;
  }

  // Adds a tensor-core GEMM, whose results stay in the accumulators.
  void AddProduct(int s) {
    const RowGroupStage& stage = plan_.stages[s];
    Candidate candidate;
    candidate.item_rows = plan_.item_rows;
    candidate.source = Results(s)[0];
    candidate.place = OutputPlace(stage);
    candidate.held.stage = s;
    candidate.held.lanes = 2;
    candidate.held.iterations = stage.ByTensorCores()->ResultPairs(stage.block.flat);
    for (const auto& [range, stride] : candidate.place.elements) candidate.elements *= range;
    candidates_.push_back(std::move(candidate));
  }

  void AddResult(int s) {
    const RowGroupStage& stage = plan_.stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    const DataType type = flat.outputs[0].shape.type;
    if (flat.outputs.size() > 1 || type == DataType::kBool || ComputeType(type) != type) return;
    Candidate candidate;
    candidate.item_rows = plan_.item_rows;
    candidate.source = Results(s)[0];
    candidate.place = OutputPlace(stage);
    candidate.held.type = type;
    candidate.held.stage = s;
    if (!flat.is_reduction() && !stage.inner.empty()) {
      if (!CanHoldElements(stage, candidate.place)) return;
      candidate.held.lanes = stage.lanes;
      candidate.held.iterations = Iterations(stage);
      candidate.elements = stage.Elements();
    } else {
      candidate.place.elements.clear();
    }
    candidates_.push_back(std::move(candidate));
  }

  void AddReads(int s) {
    const RowGroupStage& stage = plan_.stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
      const poly::TensorAccess& access = flat.accesses[a];
      const poly::Tensor& tensor = flat.tensors[access.tensor];
      if (!access.guard.empty() || tensor.shape.type == DataType::kBool) continue;
      Candidate read;
      read.item_rows = plan_.item_rows;
      read.source = SourceOf(s, access.tensor);
      read.place = PlaceOf(stage, access.coords, tensor.shape.dims);
      if (!read.place.IsUniform()) {
        if (!CanHoldElements(stage, read.place)) continue;
        read.held.lanes = stage.lanes;
        read.held.iterations = Iterations(stage);
        read.elements = stage.Elements();
      } else {
        read.place.elements.clear();
      }
      AddRead(s, a, ComputeType(tensor.shape.type), std::move(read));
    }
  }

  void AddRead(int s, int access, DataType type, Candidate read) {
    for (Candidate& known : candidates_) {
      if (known.source != read.source || known.place != read.place ||
          known.held.lanes != read.held.lanes || known.held.iterations != read.held.iterations ||
          known.elements != read.elements || !plan_.RunInSameLoop(known.held.stage, s)) {
        continue;
      }
      known.reads.emplace_back(s, access);
      return;
    }
    // Intermediate results do not exist before the first stage, and single elements are cheap to
    // read.
    if (read.held.iterations == 0 || IsMade(read.source) || plan_.walk.has_value()) return;
    read.held.type = type;
    read.held.is_prefetched = true;
    read.held.stage = s;
    read.held.access = access;
    read.reads.emplace_back(s, access);
    candidates_.push_back(std::move(read));
  }

  // Returns whether a result may overwrite this input in place (update_in_place.h). The input must
  // then be read at its own position and time.
  bool MayBeWrittenOver(const Candidate& candidate) const {
    return candidate.place == OutputPlace(plan_.stages[candidate.held.stage]);
  }

  // Returns whether a reduction precedes the stage. Its memory reads then cause another stall,
  // unless they are moved before the first stage.
  bool IsBehindReduction(int stage) const {
    return plan_.row_threads > 1 && std::any_of(plan_.stages.begin(), plan_.stages.begin() + stage,
                                                [](const RowGroupStage& before) {
                                                  return before.block.flat.is_reduction() &&
                                                         !before.product.has_value();
                                                });
  }

  bool IsMade(const Source& source) const {
    for (int s = 0; s < static_cast<int>(plan_.stages.size()); ++s) {
      const std::vector<Source> results = Results(s);
      if (std::find(results.begin(), results.end(), source) != results.end()) return true;
    }
    return false;
  }

  bool Fits(const Candidate& candidate) const {
    for (int s = -1; s < static_cast<int>(plan_.stages.size()); ++s) {
      if (!candidate.IsLiveAfter(s)) continue;
      int64_t words = candidate.words();
      for (const Candidate& held : held_) words += held.IsLiveAfter(s) ? held.words() : 0;
      if (words > allowed_) return false;
    }
    return true;
  }

  void Hold(Candidate candidate) {
    const int number = static_cast<int>(plan_.held.size());
    if (!candidate.held.is_prefetched) plan_.stages[candidate.held.stage].register_result = number;
    for (const auto& [stage, access] : candidate.reads) {
      plan_.stages[stage].register_reads[access] = number;
    }
    plan_.held.push_back(candidate.held);
    held_.push_back(std::move(candidate));
  }

  // Determines whether later stages read the result from memory.
  void SetStores(int s) {
    RowGroupStage& stage = plan_.stages[s];
    stage.is_read_from_memory = false;
    for (const Source& result : Results(s)) {
      for (int later = s + 1; later < static_cast<int>(plan_.stages.size()); ++later) {
        stage.is_read_from_memory |= ReadsFromMemory(later, result);
      }
    }
    stage.stores = kernels_[s].output < 0 || stage.is_read_from_memory;
  }

  bool ReadsFromMemory(int s, const Source& source) const {
    const RowGroupStage& stage = plan_.stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    bool reads = false;
    for (size_t a = 0; a < flat.accesses.size(); ++a) {
      reads |= stage.register_reads[a] < 0 && SourceOf(s, flat.accesses[a].tensor) == source;
    }
    poly::VisitExprs(flat, [&](const poly::Expr& expr) {
      const auto* read = std::get_if<poly::ReadAt>(&expr.node);
      reads |= read != nullptr && SourceOf(s, read->tensor) == source;
    });
    return reads;
  }

  const std::vector<poly::RowKernel>& kernels_;
  RowGroupPlan& plan_;
  int64_t allowed_ = 0;
  int64_t most_iterations_ = kMaxIterations;
  std::vector<Candidate> candidates_;
  std::vector<Candidate> held_;
};

}  // namespace

void AllocateRowRegisters(const std::vector<poly::RowKernel>& kernels,
                          const HardwareSettings& settings, RowGroupPlan* plan) {
  Holder(kernels, settings, plan).Run();
}

}  // namespace tartan::plan
