// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/sequence/help_choice.h"

#include <algorithm>

namespace tartan::opencl {
namespace {

// To wake a thread takes about as long.
constexpr int64_t kTooShortForHelp = 30'000;
// And nothing beside this: no run is worth trying alone.
constexpr int64_t kLong = 2'000'000;
// Each way is tried so often before one is chosen, and the other one again from time to time.
constexpr uint32_t kTrials = 4;
constexpr uint32_t kTryAgain = 64;

}  // namespace

bool HelpChoice::WantsHelp() const {
  if (helped_.runs == 0) return true;  // it may be long
  if (helped_.usual >= kLong) return true;
  if (alone_.runs < kTrials) return false;
  if (alone_.usual < kTooShortForHelp) return false;
  if (helped_.runs < kTrials) return true;
  const bool is_better = helped_.usual < alone_.usual;
  return (alone_.runs + helped_.runs) % kTryAgain == 0 ? !is_better : is_better;
}

void HelpChoice::Way::Note(int64_t nanoseconds) {
  // The first run compiles, and takes memory; later a run that others have held up counts little.
  usual = runs == 0        ? nanoseconds
          : runs < kTrials ? std::min(usual, nanoseconds)
                           : usual + (std::min(nanoseconds, 2 * usual) - usual) / 8;
  ++runs;
}

void HelpChoice::Note(bool had_help, int64_t nanoseconds) {
  (had_help ? helped_ : alone_).Note(nanoseconds);
}

}  // namespace tartan::opencl
