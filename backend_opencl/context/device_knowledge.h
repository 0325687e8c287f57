// SPDX-License-Identifier: Apache-2.0
// Finds out and stores device properties that the driver does not report: the target features of
// the driver's compiler, and measured performance. Each is found out at the first request and kept
// in the disk cache.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/context/calibration.h"
#include "backend_opencl/device/features/device_query.h"

namespace tartan::opencl {

// Settings and build options that follow from the compiler's target features.
struct CompilerKnowledge {
  HardwareSettings settings;
  std::string build_options;  // compiler flags; end with a space unless empty
};

// Thread-safe. While one thread finds out a property, other threads that request the same property
// wait.
class DeviceKnowledge {
 public:
  // `cache` may be null; nothing is measured then.
  DeviceKnowledge(const FoundDevice& found, std::shared_ptr<DiskCache> cache,
                  Calibrations calibrations)
      : found_(found), cache_(std::move(cache)), calibrations_(calibrations) {}

  // Returns the stored features, or builds a small program in `context` to find them.
  const CompilerKnowledge& Compiler(cl_context context);
  // Returns the settings including measured performance. Calls `measure` if `calibrations` allows
  // it and no measurement is stored. A failure is not stored.
  absl::StatusOr<HardwareSettings> Measured(
      cl_context context, const std::function<absl::StatusOr<Calibration>()>& measure);

  // True if the corresponding function above would return without building or measuring.
  bool KnowsCompiler() const;
  bool KnowsMeasured() const;

 private:
  bool Measures() const { return cache_ != nullptr && calibrations_ != Calibrations::kStored; }
  std::optional<Calibration> Stored() const;

  const FoundDevice found_;
  const std::shared_ptr<DiskCache> cache_;
  const Calibrations calibrations_;
  // Held while a property is found out. Measuring also requests the compiler's features.
  std::mutex asking_;
  std::mutex measuring_;
  mutable std::mutex mutex_;                           // held while a result is stored or read
  std::unique_ptr<const CompilerKnowledge> compiler_;  // guarded by mutex_; not modified once set
  std::optional<HardwareSettings> measured_;           // guarded by mutex_
};

}  // namespace tartan::opencl
