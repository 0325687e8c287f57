// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/opencl_driver.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/cache/cache_folder.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/cache/pocl_folder.h"
#include "backend_opencl/context/calibration.h"
#include "backend_opencl/device/compiler_pages.h"
#include "backend_opencl/device/features/device_query.h"
#include "backend_opencl/device/missing_device.h"
#include "backend_opencl/device/opencl_device.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

void Report(bool quiet, const std::string& line) {
  if (!quiet) std::fprintf(stderr, "tartan: %s\n", line.c_str());
}

class OpenClDriver : public hal::Driver {
 public:
  OpenClDriver(std::string cache_directory, std::shared_ptr<DiskCache> cache,
               const OpenClOptions& options)
      : cache_directory_(std::move(cache_directory)),
        cache_(std::move(cache)),
        calibrations_(options.calibrations),
        quiet_(options.quiet),
        memory_limit_bytes_(options.memory_limit_bytes) {}

  absl::string_view name() const override { return "opencl"; }

  absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices() override {
    TARTAN_ASSIGN_OR_RETURN(std::vector<FoundDevice> found, Find());
    std::vector<hal::DeviceInfo> infos;
    for (FoundDevice& device : found) {
      ApplyStored(&device.info);
      infos.push_back(std::move(device.info));
    }
    return infos;
  }

  absl::StatusOr<hal::DevicePtr> Open(const hal::DeviceInfo& info) override {
    TARTAN_ASSIGN_OR_RETURN(std::vector<FoundDevice> found, Find());
    for (FoundDevice& device : found) {
      if (device.info.ordinal != info.ordinal || device.info.name != info.name) continue;
      device.info.index = info.index;
      TARTAN_ASSIGN_OR_RETURN(hal::DevicePtr opened,
                              OpenClDevice::Open(std::move(device), cache_, calibrations_, quiet_));
      if (calibrations_ == Calibrations::kAgain) {
        TARTAN_RETURN_IF_ERROR(opened->Settings(hal::Knowledge::kMeasured).status());
      }
      return opened;
    }
    return absl::UnavailableError(
        absl::StrCat("no OpenCL device ", info.ordinal, " named ", info.name));
  }

 private:
  absl::StatusOr<std::vector<FoundDevice>> Find() const {
    absl::StatusOr<std::vector<FoundDevice>> found;
    PoclFolder& folder = PoclFolder::OfProcess();
    if (folder.root().empty()) TARTAN_RETURN_IF_ERROR(CheckRoomForDrivers());
    folder.FindWith(cache_directory_, [&] {
      LoadCompilers();
      found = FindDevices();
    });
    if (const absl::Status refusal = folder.TakeRefusal(); !refusal.ok()) {
      Report(quiet_, absl::StrCat("continuing without POCL_CACHE_DIR: ", refusal.message()));
    }
    CallAfterLoading();
    ReturnCompilerPages();  // pages touched by static constructors
    const bool none = found.ok() ? found->empty() : absl::IsUnavailable(found.status());
    if (none) TARTAN_RETURN_IF_ERROR(WhyNoDevice(folder.status()));
    if (found.ok() && memory_limit_bytes_ > 0) {
      for (FoundDevice& device : *found) {
        device.info.memory_bytes = std::min(device.info.memory_bytes, memory_limit_bytes_);
      }
    }
    return found;
  }

  void ApplyStored(hal::DeviceInfo* info) const {
    if (cache_ == nullptr) return;
    const std::optional<Calibration> calibration = LoadCalibration(*cache_, *info);
    if (calibration.has_value()) Apply(*calibration, &info->settings);
  }

  const std::string cache_directory_;       // empty: no cache directory
  const std::shared_ptr<DiskCache> cache_;  // may be null
  const Calibrations calibrations_;
  const bool quiet_;
  const int64_t memory_limit_bytes_;
};

}  // namespace

std::unique_ptr<hal::Driver> MakeOpenClDriver(const OpenClOptions& options) {
  std::shared_ptr<DiskCache> cache;
  std::string directory;
  if (options.use_disk_cache) {
    directory = options.cache_directory.empty() ? DefaultCacheDirectory() : options.cache_directory;
    if (const absl::Status usable = CheckCacheFolder(directory); usable.ok()) {
      cache = std::make_shared<DiskCache>(directory, options.cache_limit_bytes, options.verbose,
                                          options.quiet);
    } else {
      Report(options.quiet, absl::StrCat("continuing without the disk cache: ", usable.message()));
      directory.clear();
    }
  }
  return std::make_unique<OpenClDriver>(std::move(directory), std::move(cache), options);
}

}  // namespace tartan::opencl
