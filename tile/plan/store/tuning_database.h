// SPDX-License-Identifier: Apache-2.0
// Autotuner cache: the measured plans of one device's kernels.
#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/launch_context.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

class TuningDatabase {
 public:
  TuningDatabase();
  ~TuningDatabase();
  TuningDatabase(TuningDatabase&&) noexcept;
  TuningDatabase& operator=(TuningDatabase&&) noexcept;

  // Parses the output of Serialize. Returns an empty database if the bytes are damaged or of
  // another version.
  static TuningDatabase Parse(absl::string_view bytes);
  std::string Serialize() const;

  size_t size() const;

  // Returns the stored plan of a kernel, with its measurements in `cost`; arguments as of
  // PlanKernel. Empty if there is none or it does not fit.
  std::optional<PlannedKernel> Find(const poly::FlatContraction& flat,
                                    const HardwareSettings& settings,
                                    const std::vector<bool>& is_constant) const;

  // Stores a plan, replacing any earlier one of this kernel. Drops the oldest entry beyond
  // kMaxEntries. Returns false and stores nothing if the plan cannot be serialized.
  bool Keep(const poly::FlatContraction& flat, const HardwareSettings& settings,
            const std::vector<bool>& is_constant, const PlannedKernel& planned, double ms,
            double model_ms);
  // Removes a kernel's entry, because the cost model's choice is the fastest.
  void Forget(const poly::FlatContraction& flat, const std::vector<bool>& is_constant);

  static constexpr size_t kMaxEntries = 5000;  // kernels

 private:
  struct Entry;
  std::list<Entry> entries_;  // oldest first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> by_form_;
};

// Returns the database's plan for the kernel, else the cost model's choice.
PlannedKernel PlanKernel(const poly::FlatContraction& flat, const HardwareSettings& settings,
                         const LaunchContext& launch, const TuningDatabase& database,
                         Precision precision = Precision::kFloat32);

}  // namespace tartan::plan
