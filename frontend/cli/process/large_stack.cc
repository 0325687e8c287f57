// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/process/large_stack.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>

namespace tartan::cli {
namespace {

// The usual stack size on Linux.
constexpr size_t kStackBytes = size_t{8} << 20;

struct Call {
  absl::FunctionRef<ExitCode()> work;
  ExitCode code;
};

void* Run(void* argument) {
  auto* const call = static_cast<Call*>(argument);
  call->code = call->work();
  return nullptr;
}

bool IsStackSmall() {
  struct rlimit limit;
  return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         limit.rlim_cur < kStackBytes;
}

// Sets the default stack size of threads created later. Returns false if the system refuses.
bool SetDefaultStack() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return false;
  const bool is_set = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                      pthread_setattr_default_np(&attributes) == 0;
  pthread_attr_destroy(&attributes);
  return is_set;
}

}  // namespace

ExitCode RunOnLargeStack(absl::FunctionRef<ExitCode()> work) {
  Call call = {work, ExitCode::kMemory};
  pthread_t thread;
  if (IsStackSmall() && SetDefaultStack() && pthread_create(&thread, nullptr, Run, &call) == 0) {
    pthread_join(thread, nullptr);
    return call.code;
  }
  return work();
}

}  // namespace tartan::cli
