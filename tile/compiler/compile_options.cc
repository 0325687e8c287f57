// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/compile_options.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/environment.h"

namespace tartan::compiler {
namespace {

// The bindings name every member, so that a new member does not compile until it is added here.
std::string Key(const HardwareSettings& settings) {
  const auto& [threads, vector_width, has_local_memory, local_memory_bytes, l1_bytes, l2_bytes,
               cache_line_bytes, register_bytes, compute_units, max_work_group_size,
               max_work_item_sizes, has_float16, has_float64, packed_dot_width, packs_unsigned,
               multiplies_bfloat16, has_fma, batches_launches, prefers_one_stream, hides_l2_latency,
               matrix_local_bytes, matrix_rate, clock_mhz, gflops, gbps, launch_us] = settings;
  return absl::StrCat(absl::StrJoin({threads,
                                     vector_width,
                                     int64_t{has_local_memory},
                                     local_memory_bytes,
                                     l1_bytes,
                                     l2_bytes,
                                     cache_line_bytes,
                                     register_bytes,
                                     compute_units,
                                     max_work_group_size,
                                     max_work_item_sizes[0],
                                     max_work_item_sizes[1],
                                     max_work_item_sizes[2],
                                     int64_t{has_float16},
                                     int64_t{has_float64},
                                     packed_dot_width,
                                     int64_t{packs_unsigned},
                                     int64_t{multiplies_bfloat16},
                                     int64_t{has_fma},
                                     int64_t{batches_launches},
                                     int64_t{prefers_one_stream},
                                     int64_t{hides_l2_latency},
                                     matrix_local_bytes,
                                     matrix_rate,
                                     clock_mhz},
                                    ","),
                      ",", gflops, ",", gbps, ",", launch_us);
}

}  // namespace

std::string CompileOptions::Key() const {
  const auto& [settings_, tier_, winograd_, wide, float64, budget, precision_, disabled,
               checks_bounds, plans] = *this;
  const std::string kept = plans == nullptr ? "" : plans->Serialize();
  return absl::StrCat(compiler::Key(settings_), "\n", static_cast<int>(tier_), ",",
                      static_cast<int>(winograd_), wide, float64, ",", budget, ",",
                      static_cast<int>(precision_), checks_bounds ? ",bounds" : "", "\n",
                      absl::StrJoin(disabled, ","), "\n", kept.size(), ":", kept);
}

bool CompileHooks::VerifiesPasses() {
#ifdef TARTAN_DEBUG
  return true;
#else
  const absl::string_view value = EnvironmentValue("TARTAN_VERIFY_PASSES");
  return value == "1" || value == "all";
#endif
}

int64_t CompileHooks::VerifiedSteps() {
  constexpr int64_t kFew = 200'000;  // takes a few milliseconds
  return EnvironmentValue("TARTAN_VERIFY_PASSES") == "all" ? std::numeric_limits<int64_t>::max()
                                                           : kFew;
}

absl::Status CompileHooks::Verify(absl::string_view stage,
                                  const std::function<absl::Status()>& check) const {
  if (!verify_passes) return absl::OkStatus();
  const absl::Status status = check();
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat("wrong after '", stage, "': ", status.message()));
}

fuse::JudgeOptions JudgeOptionsOf(const CompileOptions& options, const CompileHooks& hooks) {
  return {.settings = options.settings,
          .precision = options.precision,
          .plans_ready = options.tier == Tier::kReady,
          .winograd = options.winograd,
          .tuned = options.tuned,
          .records = hooks.dump != nullptr || hooks.describes_launches,
          .planner = hooks.planner};
}

}  // namespace tartan::compiler
