// SPDX-License-Identifier: Apache-2.0
// Debugging aid: instruments kernels to check each memory access at run time.
// An access out of bounds reads or writes element 0 instead, and the run fails with an error that
// names kernel, launch, tensor and index. Without the check, a driver may lose its queue or report
// nothing.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Layout of a bounds report, in int32 words. All words are 0 until an access is out of bounds.
enum BoundsReportWord : uint8_t {
  kReportLaunch,     // launch number plus one; the first work-item to report wins
  kReportParameter,  // parameter number, or -1 for local memory
  kReportIndexLow,   // low 32 bits of the index
  kReportIndexHigh,  // high 32 bits of the index
  kReportLanes,      // number of consecutive elements accessed
  kReportLimit,      // element count of the memory, capped at the maximum of int32
  kReportWords,
};

// Instruments every kernel of the list.
// Adds one report buffer per phase (load, run), and to each launch its number and the element
// counts of its buffers as arguments. Launches are numbered in list order, setup steps first.
// Requires that no kernel is in a launch sequence.
void CheckBounds(KernelList* list);

// Returns OutOfRange, naming kernel, launch, buffer and index, if a report holds a wrong access.
// `words` has kReportWords elements.
absl::Status ErrorOfReport(const KernelList& list, absl::Span<const int32_t> words);

}  // namespace tartan::compiler
