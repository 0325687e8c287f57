#include "backend_opencl/opencl_driver.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/device_query.h"
#include "backend_opencl/disk_cache.h"
#include "backend_opencl/opencl_device.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

class OpenClDriver : public hal::Driver {
 public:
  explicit OpenClDriver(std::shared_ptr<DiskCache> cache) : cache_(std::move(cache)) {}

  absl::string_view name() const override { return "opencl"; }

  absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices() override {
    TARTAN_ASSIGN_OR_RETURN(std::vector<FoundDevice> found, FindDevices());
    std::vector<hal::DeviceInfo> infos;
    for (FoundDevice& device : found) infos.push_back(std::move(device.info));
    return infos;
  }

  absl::StatusOr<hal::DevicePtr> Open(const hal::DeviceInfo& info) override {
    TARTAN_ASSIGN_OR_RETURN(std::vector<FoundDevice> found, FindDevices());
    for (FoundDevice& device : found) {
      if (device.info.ordinal != info.ordinal || device.info.name != info.name) continue;
      device.info.index = info.index;
      return OpenClDevice::Open(std::move(device), cache_);
    }
    return absl::UnavailableError(
        absl::StrCat("no OpenCL device ", info.ordinal, " named ", info.name));
  }

 private:
  const std::shared_ptr<DiskCache> cache_;  // may be null
};

}  // namespace

std::unique_ptr<hal::Driver> MakeOpenClDriver(const OpenClOptions& options) {
  std::shared_ptr<DiskCache> cache;
  if (options.use_disk_cache) {
    cache = std::make_shared<DiskCache>(
        options.cache_directory.empty() ? DefaultCacheDirectory() : options.cache_directory,
        options.cache_limit_bytes, options.verbose);
  }
  return std::make_unique<OpenClDriver>(std::move(cache));
}

}  // namespace tartan::opencl
