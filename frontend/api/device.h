// A device opened for use: the HAL device and the cache of programs compiled for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"

namespace tartan::evaluator {
class ProgramCache;
}

namespace tartan::api {

// Every device of every driver. Unavailable with the remedy when there is no OpenCL platform.
absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices();

// The device of `devices` that Device::Open takes for `selector`.
absl::StatusOr<hal::DeviceInfo> SelectDevice(const std::vector<hal::DeviceInfo>& devices,
                                             absl::string_view selector);

struct DeviceOptions {
  bool use_disk_cache = true;
  bool verbose = false;  // tells on stderr why the disk cache is not used where it cannot be
  // Measures what the device reaches even if that is known. It is done once for every device, and
  // kept in the disk cache: info().settings tells it.
  bool calibrate_again = false;
};

// With TARTAN_DUMP_DIR in the environment, everything a device compiles is written there, stage by
// stage.
class Device {
 public:
  // `selector`: an index, or a case-insensitive part of the platform or device name; empty: the
  // environment's TARTAN_DEVICE, else a GPU if there is one, else the CPU. NotFound lists what
  // there is when nothing matches.
  static absl::StatusOr<std::shared_ptr<Device>> Open(absl::string_view selector = "",
                                                      const DeviceOptions& options = {});
  ~Device();

  const hal::DeviceInfo& info() const { return hal_->info(); }
  const hal::DevicePtr& hal() const { return hal_; }
  evaluator::ProgramCache& programs() const { return *programs_; }

 private:
  explicit Device(hal::DevicePtr hal);

  hal::DevicePtr hal_;
  std::unique_ptr<evaluator::ProgramCache> programs_;
};

}  // namespace tartan::api
