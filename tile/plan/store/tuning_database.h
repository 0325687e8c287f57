// SPDX-License-Identifier: Apache-2.0
// The plans that tuning found for the kernels of one device.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

class TuningDatabase {
 public:
  TuningDatabase();
  ~TuningDatabase();
  TuningDatabase(TuningDatabase&&) noexcept;
  TuningDatabase& operator=(TuningDatabase&&) noexcept;

  // The database that Serialize wrote; an empty one of bytes that are damaged or of another
  // version.
  static TuningDatabase Parse(absl::string_view bytes);
  std::string Serialize() const;

  size_t size() const;

  // The plan kept for a kernel (as PlanKernel is given it), its measurements told in `cost`.
  // Nothing where there is none or it does not fit.
  std::optional<PlannedKernel> Find(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings,
                                    const std::vector<bool>& is_constant) const;

  // Keeps a plan for a kernel, instead of what was there; the oldest goes where there are more than
  // kMaxEntries. False, and nothing is kept, where the plan cannot be told by a stored one.
  bool Keep(const poly::FlatContraction& flat, const HardwareSettings& settings,
            const std::vector<bool>& is_constant, const PlannedKernel& planned, double ms,
            double model_ms);
  // The cost model's choice is right for the kernel.
  void Forget(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);

  static constexpr size_t kMaxEntries = 5000;

 private:
  struct Entry;
  std::list<Entry> entries_;  // the latest last
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_form_;
};

// What the database has for a kernel, else the cost model's choice.
PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const std::vector<bool>& is_constant, const TuningDatabase& database,
                         Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
