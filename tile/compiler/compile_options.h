// SPDX-License-Identifier: Apache-2.0
// What a compilation depends on besides its program, and what watches it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select_winograd.h"
#include "tile/plan/store/tuning_database.h"

namespace tartan::compiler {

// For what sizes kernels are made.
enum class Tier : uint8_t {
  kExact,  // for one shape each: the quickest to run
  kReady,  // sizes are arguments, so that one kernel serves many shapes: soon compiled
};

// Plain data. Equal options and equal programs make equal kernels.
struct CompileOptions {
  HardwareSettings settings;
  Tier tier = Tier::kExact;
  // Winograd's algorithm for 3x3 convolutions with unit stride, on CPU devices.
  plan::Winograd winograd = plan::Winograd::kSmallTiles;
  bool force_64bit_indices = false;
  // Computes what ir::InFloat64 makes of the program: floats go in and come out as float64.
  bool in_float64 = false;
  // Bytes of all that a program has on the device, its states among them, that the values of a run
  // are made again for where they would need more, as far as that helps; 0: any.
  int64_t memory_budget = 0;
  // What products of floats may be computed with where the device has a matrix unit for it, or
  // with kBFloat16 on a CPU.
  Precision precision = Precision::kFloat32;
  // Passes that are left out, by name: some of those in Passes() (compiler/passes.h).
  std::set<std::string> disabled_passes = {};
  // Kernels compare each access with the size of the memory it goes to (check_bounds.h).
  bool check_bounds = false;
  // Plans that tuning kept, which go before the cost model's; null: none.
  std::shared_ptr<const plan::TuningDatabase> tuned = nullptr;

  bool Runs(absl::string_view pass) const {
    return disabled_passes.find(std::string(pass)) == disabled_passes.end();
  }
  // Everything above in one text: what caches of compiled programs take for their keys.
  std::string Key() const;
};

class KnownKernels;  // launches/known_kernels.h

// What sees or steers a compilation from outside. What is made with a planner is no function of the
// program and its options: it must not be kept for others.
struct CompileHooks {
  // Called with the name of each stage (a pass of the program, or "flat", "plan", "loops",
  // "simplified" for each kernel) and its readable result.
  std::function<void(absl::string_view stage, absl::string_view text)> dump;
  // Called with each pass and the milliseconds it took.
  std::function<void(absl::string_view pass, double ms)> timing;
  // Plans a kernel instead of the cost model and of what tuning kept.
  std::function<plan::PlannedKernel(const poly::FlatContraction& flat,
                                    const std::vector<bool>& is_constant)>
      planner;
  // Earlier compilations keep their simplified kernels here. It changes no result, and may be null.
  KnownKernels* known = nullptr;
  // The compilation ends with this pass, its list holding what is there so far; empty: none.
  std::string stop_after;
  // Launches tell their operations and plans (LaunchStep).
  bool tells_launches = false;
  // What each pass leaves is verified, and at the end what the launches access (verify_accesses.h).
  // A failure is Internal and names the pass. Else only the kernels are verified, at the end.
  bool verify_passes = VerifiesPasses();

  // Whether passes are verified where nobody says: in debug builds, and with
  // TARTAN_VERIFY_PASSES=1 in the environment, as in all tests.
  static bool VerifiesPasses();
  // How many statements of a launch are executed to verify what it accesses (AccessLimits):
  // any number with TARTAN_VERIFY_PASSES=all.
  static int64_t VerifiedSteps();

  void Dump(absl::string_view stage, const std::function<std::string()>& text) const {
    if (dump) dump(stage, text());
  }
  absl::Status Verify(absl::string_view stage, const std::function<absl::Status()>& check) const;
};

}  // namespace tartan::compiler
