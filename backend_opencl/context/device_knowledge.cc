// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/device_knowledge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "backend_opencl/cache/pocl_folder.h"
#include "backend_opencl/device/features/cpu_features.h"
#include "backend_opencl/device/features/hardware_probe.h"
#include "backend_opencl/device/features/local_memory_probe.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

std::string FeaturesKey(const HostFeatures& host, const FoundDevice& found) {
  return absl::StrCat("cpu features 1\n",
                      absl::StrJoin({found.platform_version, found.info.driver_version,
                                     found.info.name, host.identity},
                                    "\n"));
}

// Returns the stored features for this driver and processor.
std::optional<CompilerFeatures> StoredFeatures(const HostFeatures& host, const FoundDevice& found,
                                               DiskCache* cache) {
  if (cache == nullptr) return std::nullopt;
  const std::optional<std::string> stored = cache->Load(FeaturesKey(host, found));
  return stored.has_value() ? FeaturesFromText(*stored) : std::nullopt;
}

// Returns the compiler's features, stored or found by a small build. If even that build fails, the
// compiler counts as unknown; its errors appear when kernels are built.
CompilerFeatures FeaturesOf(cl_context context, const HostFeatures& host, const FoundDevice& found,
                            DiskCache* cache) {
  if (const auto stored = StoredFeatures(host, found, cache)) return *stored;
  // PoCL writes files during the build. The lock keeps them from being attributed to another
  // program.
  const auto lock = PoclFolder::OfProcess().LockToBuild();
  const absl::StatusOr<CompilerFeatures> features = ReadCompilerFeatures(context, found.device);
  if (!features.ok()) return {};
  if (cache != nullptr) cache->Store(FeaturesKey(host, found), ToText(*features));
  return *features;
}

bool IsCpu(const FoundDevice& found) { return found.info.type == hal::DeviceType::kCpu; }

}  // namespace

const CompilerKnowledge& DeviceKnowledge::Compiler(cl_context context) {
  const auto known = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    return compiler_.get();
  };
  if (const CompilerKnowledge* compiler = known()) return *compiler;
  std::lock_guard<std::mutex> asking(asking_);
  if (const CompilerKnowledge* compiler = known()) return *compiler;
  auto compiler = std::make_unique<CompilerKnowledge>(
      CompilerKnowledge{found_.info.settings, found_.build_options});
  if (IsCpu(found_)) {
    const HostFeatures host = ReadHostFeatures();
    const CompilerFeatures features = FeaturesOf(context, host, found_, cache_.get());
    FollowCpu(features, host, &compiler->settings);
    absl::StrAppend(&compiler->build_options, CpuBuildOptions(features, host));
  }
  const int64_t wanted = found_.wanted_matrix_local_bytes;
  if (wanted > 0 && TakesLocalArray(context, found_, wanted, cache_.get())) {
    compiler->settings.matrix_local_bytes = wanted;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  compiler_ = std::move(compiler);
  return *compiler_;
}

bool DeviceKnowledge::KnowsCompiler() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (compiler_ != nullptr) return true;
  }
  if (IsCpu(found_)) return StoredFeatures(ReadHostFeatures(), found_, cache_.get()).has_value();
  const int64_t wanted = found_.wanted_matrix_local_bytes;
  return wanted == 0 || KnowsLocalArray(found_, wanted, cache_.get());
}

std::optional<Calibration> DeviceKnowledge::Stored() const {
  if (cache_ == nullptr) return std::nullopt;
  return LoadCalibration(*cache_, found_.info);
}

absl::StatusOr<HardwareSettings> DeviceKnowledge::Measured(
    cl_context context, const std::function<absl::StatusOr<Calibration>()>& measure) {
  const auto known = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    return measured_;
  };
  if (const auto measured = known()) return *measured;
  std::lock_guard<std::mutex> measuring(measuring_);
  if (const auto measured = known()) return *measured;
  std::optional<Calibration> calibration;
  if (calibrations_ != Calibrations::kAgain) calibration = Stored();
  if (!calibration.has_value() && Measures()) {
    TARTAN_ASSIGN_OR_RETURN(calibration, measure());
    StoreCalibration(*cache_, found_.info, *calibration);
    // If two processes measure at once, both use the measurement that was stored last, so that they
    // share compiled programs.
    if (const auto stored = Stored()) calibration = stored;
  }
  HardwareSettings settings = Compiler(context).settings;
  if (calibration.has_value()) Apply(*calibration, &settings);
  std::lock_guard<std::mutex> lock(mutex_);
  measured_ = settings;
  return settings;
}

bool DeviceKnowledge::KnowsMeasured() const {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (measured_.has_value()) return true;
  }
  if (!KnowsCompiler()) return false;
  return !Measures() || (calibrations_ != Calibrations::kAgain && Stored().has_value());
}

}  // namespace tartan::opencl
