// SPDX-License-Identifier: Apache-2.0
// What a driver reports of a device, and what else can be known of one.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/hardware_settings.h"

namespace tartan::hal {

enum class DeviceType : uint8_t { kCpu, kGpu, kAccelerator, kOther };
absl::string_view Name(DeviceType type);  // "cpu", "gpu", "accelerator", "other"

// NaN in every floating-point type.
inline constexpr uint8_t kPoison = 0xFF;

struct DeviceInfo {
  int index = 0;  // among the devices of all drivers; whoever joins several drivers' lists sets it
  int ordinal = 0;  // among the devices of its driver; what Driver::Open goes by
  std::string platform;
  std::string name;
  std::string vendor;
  std::string driver_version;
  std::string backend;  // "opencl"
  DeviceType type = DeviceType::kOther;
  int64_t memory_bytes = 0;
  int64_t max_allocation_bytes = 0;
  int64_t buffer_alignment = 1;  // of sub-buffer offsets, in bytes
  // Whether sub-buffers of one buffer may overlap in part; equal ranges are always allowed.
  bool sub_buffers_may_overlap = true;
  // For debugging: new memory holds kPoison in each byte, and so does the memory of a run before
  // its inputs are written. What nobody wrote is then NaN, -1 or no bool, and no value that may be
  // right.
  bool poisons_memory = false;
  // For debugging: a queue waits for each launch, so that an error names the launch that caused it.
  bool finishes_each_launch = false;
  // Of an opened device as the driver reports them; among ListDevices' with what was measured.
  HardwareSettings settings;
};

// The one that is used where none is named: the first GPU, else the first. Requires: not empty.
const DeviceInfo& PreferredDevice(absl::Span<const DeviceInfo> devices);

// How much Device::Settings finds out, each with those before it.
enum class Knowledge : uint8_t {
  kReported,  // what the driver reports: info().settings
  kCompiler,  // and what its compiler compiles for: a small program is built to ask it
  kMeasured,  // and what the device reaches: kernels run for a second
};

struct DeviceStatistics {
  int64_t allocated_bytes = 0;  // parts are not counted again
  int64_t peak_allocated_bytes = 0;
};

}  // namespace tartan::hal
