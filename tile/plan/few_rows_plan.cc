// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/few_rows_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::plan {

std::string FewRowsCost::ToString() const {
  return absl::StrFormat("%.2f us per launch; weights %.1f us, GEMM %.2f us", microseconds, load_us,
                         gemm_us);
}

int64_t FewRowsPlan::RowCount(const poly::FlatContraction& flat) const {
  return CountOf(flat, rows);
}

int64_t FewRowsPlan::ColumnCount(const poly::FlatContraction& flat) const {
  return flat.indices[column].range;
}

int64_t FewRowsPlan::KSize(const poly::FlatContraction& flat) const {
  return CountOf(flat, reduced);
}

int64_t RowStreamPlan::Sharers(const poly::FlatContraction& flat) const {
  return kThreads / (ColumnCount(flat) / vector);
}

int64_t RowStreamPlan::WeightsSize(const poly::FlatContraction& flat) const {
  return KSize(flat) * ColumnCount(flat);
}

int64_t RowStreamPlan::RowsSize(const poly::FlatContraction& flat) const {
  return RowCount(flat) * KSize(flat);
}

int64_t RowStreamPlan::PartialsSize(const poly::FlatContraction& flat) const {
  return Sharers(flat) * RowCount(flat) * ColumnCount(flat);
}

int64_t RowStreamPlan::SlicesSize(const poly::FlatContraction& flat) const {
  return kSlices * RowCount(flat) * ColumnCount(flat);
}

int64_t RowStreamPlan::LocalBytes(const poly::FlatContraction& flat) const {
  return (WeightsSize(flat) + RowsSize(flat) + PartialsSize(flat) + SlicesSize(flat)) *
         ByteWidth(DataType::kFloat32);
}

int64_t RowStreamPlan::GroupCount(const poly::FlatContraction& flat) const {
  return flat.indices[block].range;
}

std::string RowStreamPlan::ToString(const poly::FlatContraction& flat) const {
  return absl::StrCat("streamed weights: ", GroupCount(flat), " blocks of ", ColumnCount(flat),
                      " columns, in", weights_access, " in vectors of ", vector,
                      ", each shared by ", Sharers(flat), " work-items; ", RowCount(flat),
                      " rows of ", KSize(flat), ", local ", LocalBytes(flat), " bytes");
}

int64_t PersistentPlan::Parts(const poly::FlatContraction& flat) const {
  return TilesOf(ColumnCount(flat), columns);
}

int64_t PersistentPlan::OwnK(const poly::FlatContraction& flat) const {
  return TilesOf(TilesOf(KSize(flat), sharers), kVector) * kVector;
}

int64_t PersistentPlan::OwnSums(const poly::FlatContraction& flat) const {
  return columns * flat.accumulators_per_element();
}

int64_t PersistentPlan::Vectors(const poly::FlatContraction& flat) const {
  return OwnSums(flat) * OwnK(flat) / kVector;
}

int64_t PersistentPlan::LocalVectors(const poly::FlatContraction& flat) const {
  return Vectors(flat) - held;
}

int64_t PersistentPlan::WeightsSize(const poly::FlatContraction& flat) const {
  return LocalVectors(flat) * kVector * kThreads;
}

int64_t PersistentPlan::RowsSize(const poly::FlatContraction& flat) const {
  return RowCount(flat) * sharers * OwnK(flat);
}

int64_t PersistentPlan::PartialsSize(const poly::FlatContraction& flat) const {
  return RowCount(flat) * sharers * OwnSums(flat) * Parts(flat);
}

int64_t PersistentPlan::LocalBytes(const poly::FlatContraction& flat) const {
  return (WeightsSize(flat) + RowsSize(flat) + PartialsSize(flat)) * ByteWidth(DataType::kFloat32);
}

std::string PersistentPlan::ToString(const poly::FlatContraction& flat) const {
  return absl::StrCat(
      "stationary weights in", weights_access, ": ", OwnSums(flat), " sums of ", OwnK(flat),
      " k per work-item, K of ", KSize(flat), " divided among ", sharers, "; ", held * kVector,
      " weights in registers, ", LocalVectors(flat) * kVector, " in local memory of ",
      LocalBytes(flat), " bytes; ", RowCount(flat), " rows",
      carried_output < 0 ? ""
                         : absl::StrCat(", carried to the next launch by out", carried_output));
}

}  // namespace tartan::plan
