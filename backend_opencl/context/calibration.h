// SPDX-License-Identifier: Apache-2.0
// Measures the performance of a device, which drivers do not report: peak arithmetic rate, memory
// bandwidth and launch cost. Results are stored in the disk cache.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "backend_opencl/cache/disk_cache.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Policy for the measured settings of a device (hal::Knowledge::kMeasured). Measurements need a
// disk cache; without one, the device keeps the reported settings.
enum class Calibrations : uint8_t {
  kStored,  // reads stored measurements; an unmeasured device keeps the reported settings
  kOnce,    // measures an unmeasured device at the first request for its measured settings
  kAgain,   // Open always measures
};

struct Calibration {
  double gflops = 0;     // float32 multiply-adds in registers; each counts as two operations
  double gbps = 0;       // bytes read plus bytes written, by a copy much larger than the caches
  double launch_us = 0;  // cost of an empty kernel among many in a queue
  int64_t threads = 0;   // HardwareSettings::threads: size of the fastest work-group in the copy
  // The bfloat16 dot instruction is not faster than float32 multiply-adds (bfloat16_rate.h), so
  // HardwareSettings::multiplies_bfloat16 becomes false.
  bool has_slow_dots = false;

  bool operator==(const Calibration&) const = default;
};

// Measures the device; takes about half a second. The device should be idle. On a busy device, the
// best of several measurements still gives a usable result.
absl::StatusOr<Calibration> Calibrate(hal::Device& device);

// Returns stored measurements of a device with the same name, driver and number of compute units.
std::optional<Calibration> LoadCalibration(DiskCache& cache, const hal::DeviceInfo& info);
void StoreCalibration(DiskCache& cache, const hal::DeviceInfo& info,
                      const Calibration& calibration);

void Apply(const Calibration& calibration, HardwareSettings* settings);

}  // namespace tartan::opencl
