// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/store/tuning_database.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "proto/plan.pb.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/stored_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Version of kernel forms and of the meaning of plans; other versions are ignored.
constexpr int kVersion = 1;

// Two forms with the same digest would share a plan. Since plans are checked against the kernel,
// that is merely slow.
std::string DigestOf(const poly::FlatContraction& merged, const std::vector<bool>& is_constant) {
  const std::string form = KernelForm(merged, is_constant);
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(form.data(), form.size()));
  return std::string(reinterpret_cast<const char*>(digest.digest), sizeof(digest.digest));
}

}  // namespace

struct TuningDatabase::Entry {
  proto::TuningDatabase::Entry stored;
};

TuningDatabase::TuningDatabase() = default;
TuningDatabase::~TuningDatabase() = default;
TuningDatabase::TuningDatabase(TuningDatabase&&) noexcept = default;
TuningDatabase& TuningDatabase::operator=(TuningDatabase&&) noexcept = default;

TuningDatabase TuningDatabase::Parse(absl::string_view bytes) {
  TuningDatabase database;
  proto::TuningDatabase stored;
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      stored.version() != kVersion) {
    return database;
  }
  for (proto::TuningDatabase::Entry& entry : *stored.mutable_entries()) {
    if (database.by_form_.count(entry.form()) > 0) continue;
    database.entries_.push_back({std::move(entry)});
    database.by_form_[database.entries_.back().stored.form()] = std::prev(database.entries_.end());
  }
  return database;
}

std::string TuningDatabase::Serialize() const {
  proto::TuningDatabase stored;
  stored.set_version(kVersion);
  for (const Entry& entry : entries_) *stored.add_entries() = entry.stored;
  return stored.SerializeAsString();
}

size_t TuningDatabase::size() const { return entries_.size(); }

std::optional<PlannedKernel> TuningDatabase::Find(const poly::FlatContraction& flat,
                                                  const HardwareSettings& settings,
                                                  const std::vector<bool>& is_constant) const {
  if (entries_.empty()) return std::nullopt;
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  const auto it = by_form_.find(DigestOf(merged, is_constant));
  if (it == by_form_.end()) return std::nullopt;
  const proto::TuningDatabase::Entry& entry = it->second->stored;
  std::optional<PlannedKernel> planned = FromProto(entry.plan(), merged, settings);
  if (planned.has_value()) {
    planned->cost = absl::StrFormat("tuned: %.4f ms, the cost model's choice %.4f ms", entry.ms(),
                                    entry.model_ms());
  }
  return planned;
}

bool TuningDatabase::Keep(const poly::FlatContraction& flat, const HardwareSettings& settings,
                          const std::vector<bool>& is_constant, const PlannedKernel& planned,
                          double ms, double model_ms) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  proto::TuningDatabase::Entry entry;
  entry.set_form(DigestOf(merged, is_constant));
  *entry.mutable_plan() = ToProto(planned);
  entry.set_ms(ms);
  entry.set_model_ms(model_ms);
  const std::optional<PlannedKernel> again = FromProto(entry.plan(), merged, settings);
  if (!again.has_value() || again->plan != planned.plan ||
      poly::ToString(again->flat) != poly::ToString(planned.flat)) {
    return false;
  }
  Forget(flat, is_constant);
  entries_.push_back({std::move(entry)});
  by_form_[entries_.back().stored.form()] = std::prev(entries_.end());
  if (entries_.size() > kMaxEntries) {
    by_form_.erase(entries_.front().stored.form());
    entries_.pop_front();
  }
  return true;
}

void TuningDatabase::Forget(const poly::FlatContraction& flat,
                            const std::vector<bool>& is_constant) {
  const auto it = by_form_.find(DigestOf(poly::MergeIndices(flat), is_constant));
  if (it == by_form_.end()) return;
  entries_.erase(it->second);
  by_form_.erase(it);
}

PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const LaunchContext& launch, const TuningDatabase& database,
                         Precision precision) {
  // Tuning measures plans of strict float32 only.
  std::optional<PlannedKernel> kept;
  if (precision == Precision::kFloat32) kept = database.Find(flat, settings, launch.is_constant);
  return kept.has_value() ? *std::move(kept) : PlanKernel(flat, settings, launch, precision);
}

}  // namespace tartan::plan
