// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/gpu/resident_weights.h"

#include "absl/strings/str_cat.h"
#include "tile/lower/emit/index_emitter.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr DataType kWeight = DataType::kFloat32;
constexpr int kWeightLanes = plan::PersistentPlan::kVector;
constexpr const char* kLocalWeights = "weights";

std::string Held(int64_t vector, int lane) { return absl::StrCat("held", vector, "_", lane); }

}  // namespace

ResidentWeights::ResidentWeights(const poly::FlatContraction& flat,
                                 const plan::PersistentPlan& plan, DataType index_type)
    : IndexBuilder(index_type),
      flat_(flat),
      plan_(plan),
      k_size_(plan.KSize(flat)),
      sums_(plan.OwnSums(flat)),
      joined_(flat.accumulators_per_element()) {}

int64_t ResidentWeights::VectorOf(int64_t k, int64_t sum) const { return k * sums_ + sum; }

// Vectors in local memory are spread evenly among those in registers, to hide their load latency.
int64_t ResidentWeights::LocalBefore(int64_t vector) const {
  return vector * plan_.LocalVectors(flat_) / plan_.Vectors(flat_);
}

bool ResidentWeights::IsLocal(int64_t vector) const {
  return LocalBefore(vector + 1) > LocalBefore(vector);
}

// Consecutive work-items have consecutive vectors, so that local memory banks do not conflict.
ExprPtr ResidentWeights::LocalPlace(int64_t vector) const {
  const ExprPtr place = loop::Add(Number(LocalBefore(vector) * plan_.threads()), Var("item"));
  return loop::Mul(place, Number(kWeightLanes));
}

void ResidentWeights::Declare(std::vector<StmtPtr>* body) const {
  if (plan_.LocalVectors(flat_) > 0) {
    body->push_back(loop::MakeArray({kWeight, 1}, kLocalWeights, plan_.WeightsSize(flat_),
                                    loop::Space::kLocal));
  }
  for (int64_t vector = 0; vector < plan_.Vectors(flat_); ++vector) {
    for (int lane = 0; lane < kWeightLanes && !IsLocal(vector); ++lane) {
      body->push_back(
          loop::MakeDeclare({kWeight, 1}, Held(vector, lane), nullptr, /*is_mutable=*/true));
    }
  }
}

void ResidentWeights::Read(std::vector<StmtPtr>* body) const {
  const int64_t columns = plan_.ColumnCount(flat_);
  const int64_t parts = plan_.Parts(flat_);
  for (int64_t own = 0; own < plan_.columns; ++own) {
    ExprPtr column = loop::Add(Var("part"), Number(own * parts));
    if (plan_.columns * parts > columns) column = loop::Min(column, Number(columns - 1));
    body->push_back(
        loop::MakeDeclare({index_type_, 1}, absl::StrCat("column", own), std::move(column)));
  }
  for (int64_t k = 0; k < plan_.OwnK(flat_) / kWeightLanes; ++k) {
    for (int64_t sum = 0; sum < sums_; ++sum) ReadVector(k, sum, body);
  }
}

void ResidentWeights::ReadVector(int64_t k, int64_t sum, std::vector<StmtPtr>* body) const {
  const int64_t vector = VectorOf(k, sum);
  const int64_t first = k * kWeightLanes;
  std::vector<ExprPtr> weights;
  if (!AreInVectors()) {
    for (int lane = 0; lane < kWeightLanes; ++lane) {
      weights.push_back(InMemory(first + lane, sum, 1));
    }
  } else if (IsLocal(vector)) {
    body->push_back(loop::MakeStore(kLocalWeights, kWeight, LocalPlace(vector),
                                    InMemory(first, sum, kWeightLanes), /*is_aligned=*/true));
    return;
  } else {
    const std::string name = absl::StrCat("lanes", vector);
    const loop::Type type = {kWeight, kWeightLanes};
    body->push_back(loop::MakeDeclare(type, name, InMemory(first, sum, kWeightLanes)));
    for (int lane = 0; lane < kWeightLanes; ++lane) {
      weights.push_back(loop::LaneOf(loop::Var(name, type), lane));
    }
  }
  for (int lane = 0; lane < kWeightLanes; ++lane) {
    const ExprPtr place = loop::Add(LocalPlace(vector), Number(lane));
    body->push_back(IsLocal(vector) ? loop::MakeStore(kLocalWeights, kWeight, place, weights[lane])
                                    : loop::MakeAssign(Held(vector, lane), weights[lane]));
  }
}

// Returns whether each vector along K is contiguous, aligned, and completely inside or completely
// past K.
bool ResidentWeights::AreInVectors() const {
  const poly::FlatAccess access = poly::Flatten(flat_, plan_.weights_access);
  bool are = access.strides[plan_.reduced.front()] == 1 && access.offset % kWeightLanes == 0 &&
             k_size_ % kWeightLanes == 0;
  for (int i = 0; i < flat_.output_index_count; ++i) are &= access.strides[i] % kWeightLanes == 0;
  return are;
}

ExprPtr ResidentWeights::InMemory(int64_t place, int64_t sum, int lanes) const {
  IndexEmitter indices(flat_, index_type_);
  for (int i = 0; i < static_cast<int>(flat_.indices.size()); ++i) indices.Set(i, Number(0));
  indices.Set(plan_.column, Var(absl::StrCat("column", sum / joined_)));
  if (flat_.accumulator_index >= 0) indices.Set(flat_.accumulator_index, Number(sum % joined_));
  const ExprPtr k = loop::Add(Var("first_k"), Number(place));
  const bool may_exceed_k = plan_.sharers * plan_.OwnK(flat_) > k_size_;
  indices.Set(plan_.reduced.front(), may_exceed_k ? loop::Min(k, Number(k_size_ - lanes)) : k);
  const math::Affine at = poly::AsAffine(poly::Flatten(flat_, plan_.weights_access));
  const ExprPtr value =
      loop::LoadFrom(absl::StrCat("in", flat_.accesses[plan_.weights_access].tensor), kWeight,
                     indices.Emit(at), lanes, /*is_aligned=*/lanes > 1);
  if (!may_exceed_k) return value;
  return loop::Select(loop::Less(k, Number(k_size_)), value, loop::Splat(loop::Float(0), lanes));
}

std::vector<ExprPtr> ResidentWeights::Lanes(int64_t k, int64_t sum,
                                            std::vector<StmtPtr>* body) const {
  const int64_t vector = VectorOf(k, sum);
  const std::string name = absl::StrCat("weight", vector);
  const loop::Type type = {kWeight, kWeightLanes};
  if (IsLocal(vector)) {
    body->push_back(loop::MakeDeclare(type, name,
                                      loop::LoadFrom(kLocalWeights, kWeight, LocalPlace(vector),
                                                     kWeightLanes, /*is_aligned=*/true)));
  }
  std::vector<ExprPtr> lanes;
  for (int lane = 0; lane < kWeightLanes; ++lane) {
    lanes.push_back(IsLocal(vector) ? loop::LaneOf(loop::Var(name, type), lane)
                                    : loop::Var(Held(vector, lane), {kWeight, 1}));
  }
  return lanes;
}

}  // namespace tartan::lower
