// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/launch_batch_code.h"

#include <dlfcn.h>

#include <cfenv>

namespace tartan::opencl {
namespace {

// Sets the thread's floating-point environment to the default for the object's lifetime.
class UsualArithmetic {
 public:
  UsualArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~UsualArithmetic() { std::fesetenv(&before_); }
  UsualArithmetic(const UsualArithmetic&) = delete;
  UsualArithmetic& operator=(const UsualArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

template <class T>
T* PointerTo(uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): a kernel told it
}

}  // namespace

std::unique_ptr<LaunchBatchCode> LaunchBatchCode::At(uint64_t address) {
  Dl_info info;
  if (address == 0 || dladdr(PointerTo<void>(address), &info) == 0) return nullptr;
  void* library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return std::unique_ptr<LaunchBatchCode>(
      new LaunchBatchCode(library, reinterpret_cast<LaunchBatchFunction>(address)));  // NOLINT
}

LaunchBatchCode::~LaunchBatchCode() { dlclose(library_); }

void LaunchBatchCode::Run(const LaunchBatchAddresses& places, int32_t end, uint32_t run,
                          bool alone) const {
  const UsualArithmetic usual;
  function_(PointerTo<const int32_t>(places[kStepsAddress]),
            PointerTo<const uint64_t>(places[kArgumentsAddress]),
            PointerTo<int32_t>(places[kCountersAddress]), 0, end, run, alone ? 1 : 0);
}

}  // namespace tartan::opencl
