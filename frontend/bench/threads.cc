// SPDX-License-Identifier: Apache-2.0
#include "frontend/bench/threads.h"

#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace tartan::bench {

absl::Status LimitThreads(int count) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return absl::InternalError(absl::StrCat("sched_getaffinity: ", std::strerror(errno)));
  }
  if (count > CPU_COUNT(&allowed)) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " threads were requested, but the process may use ",
                     CPU_COUNT(&allowed), " processors"));
  }
  // Uses the last processors, because operating systems use the first for their own work.
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && CPU_COUNT(&chosen) < count; --cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &chosen);
  }
  if (sched_setaffinity(0, sizeof(chosen), &chosen) != 0) {
    return absl::InternalError(absl::StrCat("sched_setaffinity: ", std::strerror(errno)));
  }
  const std::string text = absl::StrCat(count);
  for (const char* name : {"POCL_MAX_PTHREAD_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    setenv(name, text.c_str(), 1);
  }
  // OpenMP threads spin for milliseconds after their engine's turn, and would occupy the processors
  // of the next engine.
  setenv("GOMP_SPINCOUNT", "1000", 1);
  return absl::OkStatus();
}

}  // namespace tartan::bench
