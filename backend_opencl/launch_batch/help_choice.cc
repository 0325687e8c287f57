// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/help_choice.h"

#include <algorithm>

namespace tartan::opencl {
namespace {

// Nanoseconds; about the time to wake a thread. Shorter executions never request help.
constexpr int64_t kMinHelpNanoseconds = 30'000;
// Nanoseconds; the wake-up time is negligible compared with such an execution, so it always
// requests help.
constexpr int64_t kAlwaysHelpNanoseconds = 2'000'000;
// Executions measured in each mode before one is chosen. Empirical.
constexpr uint32_t kTrials = 4;
// Once in this number of executions, the slower mode is measured again. Empirical.
constexpr uint32_t kRetryInterval = 64;

}  // namespace

bool HelpChoice::WantsHelp() const {
  if (helped_.runs == 0) return true;  // the duration is unknown and may be long
  if (helped_.usual >= kAlwaysHelpNanoseconds) return true;
  if (alone_.runs < kTrials) return false;
  if (alone_.usual < kMinHelpNanoseconds) return false;
  if (helped_.runs < kTrials) return true;
  const bool is_better = helped_.usual < alone_.usual;
  return (alone_.runs + helped_.runs) % kRetryInterval == 0 ? !is_better : is_better;
}

void HelpChoice::Way::Note(int64_t nanoseconds) {
  // The first execution includes compilation and page faults. Later, an outlier counts at most
  // twice the average.
  usual = runs == 0        ? nanoseconds
          : runs < kTrials ? std::min(usual, nanoseconds)
                           : usual + (std::min(nanoseconds, 2 * usual) - usual) / 8;
  ++runs;
}

void HelpChoice::Note(bool had_help, int64_t nanoseconds) {
  (had_help ? helped_ : alone_).Note(nanoseconds);
}

}  // namespace tartan::opencl
