// SPDX-License-Identifier: Apache-2.0
// Options of a compilation, the cache key made of them, and the hooks that observe it.
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
#include "tile/fuse/judge.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/select/select_winograd.h"
#include "tile/plan/store/tuning_database.h"

namespace tartan::compiler {

// Tier of kernels: specialised for one shape, or with sizes as arguments.
enum class Tier : uint8_t {
  kExact,  // shape-specialised: one set of kernels per shape, the fastest to run
  kReady,  // dynamic-shape: sizes are arguments, so one compiled kernel serves many shapes
};

// Plain data. Equal options and equal programs produce equal kernels.
struct CompileOptions {
  HardwareSettings settings;
  Tier tier = Tier::kExact;
  // Winograd's algorithm for 3x3 convolutions with unit stride, on CPU devices.
  plan::Winograd winograd = plan::Winograd::kSmallTiles;
  bool force_64bit_indices = false;
  // Computes the program after ir::InFloat64: float inputs and outputs become float64.
  bool in_float64 = false;
  // Limit in bytes for all device memory of a program, states included. Above it, values are
  // recomputed as far as that reduces the peak. 0: no limit.
  int64_t memory_budget = 0;
  // Number format that float matmuls may use on a matrix unit, or, for kBFloat16, on a CPU.
  Precision precision = Precision::kFloat32;
  // Names of optional passes to skip; Passes() in compiler/passes/passes.h lists them.
  std::set<std::string> disabled_passes = {};
  // Kernels check each access against the size of its memory (check_bounds.h).
  bool check_bounds = false;
  // Measured plans from tuning, preferred to the cost model's plans; null: none.
  std::shared_ptr<const plan::TuningDatabase> tuned = nullptr;

  bool Runs(absl::string_view pass) const {
    return disabled_passes.find(std::string(pass)) == disabled_passes.end();
  }
  // All options as one text, for the keys of caches of compiled programs.
  std::string Key() const;
};

class KnownKernels;  // known_kernels.h

// Observers and overrides of a compilation.
// With a planner, the result is no function of program and options, so it must not be cached.
struct CompileHooks {
  // Called with each stage (a pass of the program, or "flat", "plan", "loops", "simplified" for
  // each kernel, "fusion" for the program) and its readable result.
  std::function<void(absl::string_view stage, absl::string_view text)> dump;
  // Called with each pass and its duration in milliseconds.
  std::function<void(absl::string_view pass, double ms)> timing;
  // Plans a kernel instead of the cost model and the tuning database.
  plan::PlanFunction planner;
  // Simplified kernels of earlier compilations. It changes no result, and may be null.
  KnownKernels* known = nullptr;
  // Name of the last pass to run; the list then holds the results so far. Empty: all passes run.
  std::string stop_after;
  // Launches carry readable descriptions of their operations and plans (LaunchStep).
  bool describes_launches = false;
  // Verifies the state after each pass, and the memory accesses of all launches at the end
  // (verify_accesses.h). A failure is Internal and names the pass. If false, only the kernels are
  // verified, at the end.
  bool verify_passes = VerifiesPasses();

  // Default of `verify_passes`: true in debug builds and with TARTAN_VERIFY_PASSES=1 in the
  // environment, as in all tests.
  static bool VerifiesPasses();
  // Maximum statements executed per launch to verify its accesses (AccessLimits). No limit with
  // TARTAN_VERIFY_PASSES=all.
  static int64_t VerifiedSteps();

  void Dump(absl::string_view stage, const std::function<std::string()>& text) const {
    if (dump) dump(stage, text());
  }
  absl::Status Verify(absl::string_view stage, const std::function<absl::Status()>& check) const;
};

// Returns the options of a judge for this compilation. `options` must outlive the judge.
fuse::JudgeOptions JudgeOptionsOf(const CompileOptions& options, const CompileHooks& hooks);

}  // namespace tartan::compiler
