// SPDX-License-Identifier: Apache-2.0
// A built program, and recordings of launches of its kernels.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/pocl_program.h"
#include "backend_opencl/launch_batch/launch_batch.h"
#include "backend_opencl/launch_batch/megakernel.h"
#include "hal/hal.h"

namespace tartan::opencl {

class OpenClExecutable : public hal::Executable {
 public:
  // `cases[e]` is entry point e's number among the batched kernels of the program, or -1. `kept[e]`
  // lists its weight-stationary arguments (hal::KernelSource::kept).
  OpenClExecutable(hal::DevicePtr device, std::vector<hal::EntryPoint> entry_points,
                   std::vector<int> cases, std::vector<std::vector<int>> kept,
                   hal::CompileStatistics statistics, ProgramHandle program,
                   std::unique_ptr<PoclProgram> pocl_files)
      : Executable(std::move(device), std::move(entry_points), statistics),
        cases_(std::move(cases)),
        kept_(std::move(kept)),
        pocl_files_(std::move(pocl_files)),
        program_(std::move(program)),
        idle_(this->entry_points().size()) {}

  cl_program program() const { return program_.get(); }
  absl::Span<const int> cases() const { return cases_; }
  absl::Span<const std::vector<int>> kept() const { return kept_; }
  // null on drivers other than PoCL
  PoclProgram* pocl_files() const { return pocl_files_.get(); }

  // Takes a kernel object with unspecified arguments, for exclusive use until GiveBack. Objects are
  // reused because releasing one searches the program's list of all kernel objects, which is slow
  // for a thousand launches. Thread-safe.
  absl::StatusOr<KernelHandle> TakeKernel(int entry_point);
  void GiveBack(int entry_point, KernelHandle kernel);

 private:
  const std::vector<int> cases_;
  const std::vector<std::vector<int>> kept_;
  const std::unique_ptr<PoclProgram> pocl_files_;  // must be destroyed after the program
  ProgramHandle program_;
  std::mutex mutex_;
  std::vector<std::vector<KernelHandle>> idle_;  // by entry point; guarded by mutex_
};

// A kernel launch. It owns a kernel object because arguments are state of the kernel object.
struct PreparedLaunch {
  KernelHandle kernel;
  int entry_point = 0;
  std::array<size_t, 3> global_size;
  std::array<size_t, 3> local_size;
};

struct PreparedCopy {
  cl_mem from = nullptr;
  cl_mem to = nullptr;
  size_t from_offset = 0;
  size_t to_offset = 0;
  size_t size = 0;
};

// A launch, a copy, or a batch of several launches and copies.
using RecordedWork = std::variant<PreparedLaunch, PreparedCopy, std::unique_ptr<LaunchBatch>,
                                  std::unique_ptr<Megakernel>>;

class OpenClRecording : public hal::Recording {
 public:
  OpenClRecording(hal::ExecutablePtr executable, std::vector<hal::BufferPtr> buffers,
                  std::vector<RecordedWork> work)
      : Recording(executable->device()),
        executable_(std::move(executable)),
        buffers_(std::move(buffers)),
        work_(std::move(work)) {}

  ~OpenClRecording() override;

  absl::Span<const RecordedWork> work() const { return work_; }
  // True if the host thread may execute the whole recording (LaunchBatch::RunOnHost).
  bool may_run_on_host() const;
  // Returns the executable at the first call if launches make its driver compile, else null.
  std::shared_ptr<OpenClExecutable> TakeCompiling() const;
  absl::string_view NameOf(const PreparedLaunch& launch) const {
    return executable_->entry_points()[launch.entry_point].name;
  }

 private:
  hal::ExecutablePtr executable_;
  std::vector<hal::BufferPtr> buffers_;  // buffers referred to by kernel arguments
  std::vector<RecordedWork> work_;
  mutable std::atomic<bool> is_taken_{false};
};

// `hal` has checked the launches.
absl::StatusOr<std::shared_ptr<OpenClRecording>> RecordLaunches(
    const hal::ExecutablePtr& executable, absl::Span<const hal::Launch> launches);

}  // namespace tartan::opencl
