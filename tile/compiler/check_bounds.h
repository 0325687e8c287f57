// SPDX-License-Identifier: Apache-2.0
// Debugging aid: kernels that check each access to memory. A wrong access reads or writes element 0
// instead, and the run fails with an error that names kernel, launch, tensor and index. A driver
// would lose its queue, or say nothing.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// What a report holds, as int32 words. All are 0 while no access was wrong.
enum BoundsReportWord : uint8_t {
  kReportLaunch,     // the launch's number plus one; the first work-item that writes it wins
  kReportParameter,  // its number, or -1 for local memory
  kReportIndexLow,   // the two halves of the index
  kReportIndexHigh,
  kReportLanes,  // how many consecutive elements the access has
  kReportLimit,  // how many elements the memory has, as far as an int32 holds it
  kReportWords,
};

// Makes every kernel of the list check its accesses, and adds what the check needs: a report for
// each phase, and with each launch its number and the element counts of its buffers. Requires that
// no kernel is in a sequence. Launches are numbered in the order of the list, setup steps first.
void CheckBounds(KernelList* list);

// OutOfRange, naming the kernel, the launch, the buffer and the index, if a report holds a wrong
// access; `words` has kReportWords elements.
absl::Status ErrorOfReport(const KernelList& list, absl::Span<const int32_t> words);

}  // namespace tartan::compiler
