// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/row_stream_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/plan/matrix_plan.h"

namespace tartan::plan {

std::string RowStreamCost::ToString() const {
  return absl::StrFormat("%.1f us: weights %.1f us, then %.1f us", microseconds, load_us,
                         compute_us);
}

int64_t RowStreamPlan::RowCount(const poly::FlatContraction& flat) const {
  return CountOf(flat, rows);
}

int64_t RowStreamPlan::KSize(const poly::FlatContraction& flat) const {
  return CountOf(flat, reduced);
}

int64_t RowStreamPlan::ColumnCount(const poly::FlatContraction& flat) const {
  return flat.indices[column].range;
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

}  // namespace tartan::plan
