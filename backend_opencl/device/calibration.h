// SPDX-License-Identifier: Apache-2.0
// What a device reaches, measured once and kept in the disk cache: its arithmetic peak, the
// bandwidth of its memory and the cost of a launch, which drivers do not report.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Where the measured settings of a device (hal::Knowledge::kMeasured) come from. Measurements are
// kept in the disk cache; without one there are none.
enum class Calibrations : uint8_t {
  kStored,  // from the disk; a device that was never measured is as its driver reports
  kOnce,    // a device that was never measured is measured when they are first asked for
  kAgain,   // Open measures in any case
};

struct Calibration {
  double gflops = 0;     // float32 multiply-adds in registers, two operations each
  double gbps = 0;       // read and written, by a copy far beyond the caches
  double launch_us = 0;  // of a kernel that does nothing, among many in a queue
  int64_t threads = 0;   // HardwareSettings::threads: work-items of the best work-group

  bool operator==(const Calibration&) const = default;
};

// Takes half a second. The device should have nothing else to do; where it has, the greatest of
// several measurements is the answer all the same.
absl::StatusOr<Calibration> Calibrate(hal::Device& device);

// What was measured before on a device of this name, driver and number of compute units.
std::optional<Calibration> LoadCalibration(DiskCache& cache, const hal::DeviceInfo& info);
void StoreCalibration(DiskCache& cache, const hal::DeviceInfo& info,
                      const Calibration& calibration);

void Apply(const Calibration& calibration, HardwareSettings* settings);

}  // namespace tartan::opencl
