// SPDX-License-Identifier: Apache-2.0
// Describes devices: what a driver reports about one (`DeviceInfo`), how much more can be found out
// (`Knowledge`), and allocation statistics.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/hardware_settings.h"

namespace tartan::hal {

enum class DeviceType : uint8_t { kCpu, kGpu, kAccelerator, kOther };
absl::string_view Name(DeviceType type);  // "cpu", "gpu", "accelerator", "other"

// Byte written into uninitialized memory when `DeviceInfo::poisons_memory` is set. Every
// floating-point type reads it as NaN.
inline constexpr uint8_t kPoison = 0xFF;

struct DeviceInfo {
  // Position among the devices of all drivers. The caller that merges the lists of several drivers
  // assigns it.
  int index = 0;
  // Position among the devices of its driver; `Driver::Open` selects by it.
  int ordinal = 0;
  std::string platform;
  std::string name;
  std::string vendor;
  std::string driver_version;
  std::string backend;  // "opencl"
  DeviceType type = DeviceType::kOther;
  int64_t memory_bytes = 0;
  int64_t max_allocation_bytes = 0;
  int64_t buffer_alignment = 1;  // bytes; required alignment of sub-buffer offsets
  // True if sub-buffers of one buffer may partially overlap. Identical ranges are always allowed.
  bool sub_buffers_may_overlap = true;
  // Debugging aid. New memory is filled with `kPoison`, and so is the memory of each execution
  // before its inputs are written. A read of uninitialized memory then yields NaN, -1 or an invalid
  // bool.
  bool poisons_memory = false;
  // Debugging aid. A queue waits for each launch, so that an error names the launch that caused it.
  bool finishes_each_launch = false;
  // These settings include stored measurements in the results of `ListDevices`. After `Open` they
  // are the values that the driver reports.
  HardwareSettings settings;
};

// Returns the default device: the first GPU, or the first device if there is no GPU. Requires a
// non-empty list.
const DeviceInfo& PreferredDevice(absl::Span<const DeviceInfo> devices);

// Levels of knowledge for `Device::Settings`. Each level includes the ones before it.
enum class Knowledge : uint8_t {
  kReported,  // reported by the driver: info().settings
  kCompiler,  // plus the compiler's target features, found by building a small program
  kMeasured,  // plus peak performance, measured by running kernels for about a second
};

struct DeviceStatistics {
  int64_t allocated_bytes = 0;  // sub-buffers are not counted
  int64_t peak_allocated_bytes = 0;
};

}  // namespace tartan::hal
