// SPDX-License-Identifier: Apache-2.0
// What is found out of an opened device beyond what its driver reports, when it is first needed,
// and kept in the disk cache: what its compiler compiles for, and what it reaches.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/device/calibration.h"
#include "backend_opencl/device/device_query.h"

namespace tartan::opencl {

// What the settings become and how programs are built once the compiler has answered.
struct CompilerKnowledge {
  HardwareSettings settings;
  std::string build_options;  // ending with a space where there are any
};

// Thread-safe: one thread finds out while others that want the same wait.
class DeviceKnowledge {
 public:
  // `cache` may be null: then nothing is measured.
  DeviceKnowledge(const FoundDevice& found, std::shared_ptr<DiskCache> cache,
                  Calibrations calibrations)
      : found_(found), cache_(std::move(cache)), calibrations_(calibrations) {}

  // Builds a small program in `context` for the first answer where the disk has none.
  const CompilerKnowledge& Compiler(cl_context context);
  // With what `measure` says where the device is to be measured. A failure is not kept.
  absl::StatusOr<HardwareSettings> Measured(
      cl_context context, const std::function<absl::StatusOr<Calibration>()>& measure);

  // Whether the functions above answer at once.
  bool KnowsCompiler() const;
  bool KnowsMeasured() const;

 private:
  bool Measures() const { return cache_ != nullptr && calibrations_ != Calibrations::kStored; }
  std::optional<Calibration> Stored() const;

  const FoundDevice found_;
  const std::shared_ptr<DiskCache> cache_;
  const Calibrations calibrations_;
  // Held while something is found out; measuring asks the compiler.
  std::mutex asking_;
  std::mutex measuring_;
  mutable std::mutex mutex_;                           // held while an answer is noted or looked at
  std::unique_ptr<const CompilerKnowledge> compiler_;  // guarded by mutex_; not changed once there
  std::optional<HardwareSettings> measured_;           // guarded by mutex_
};

}  // namespace tartan::opencl
