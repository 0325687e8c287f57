// SPDX-License-Identifier: Apache-2.0
// A device opened for use: the HAL device and the cache of programs compiled for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/base/precision.h"

namespace tartan::evaluator {
class CompiledProgram;
class ProgramCache;
struct PlannedProgram;  // tile/evaluator/program_cache.h
}  // namespace tartan::evaluator
namespace tartan::proto {
class Program;
}
namespace tartan::opencl {
class DiskCache;
}
namespace tartan::compiler {
struct CompileHooks;
struct CompileOptions;
enum class Tier : uint8_t;  // tile/compiler/compile_options.h
}  // namespace tartan::compiler
namespace tartan::plan {
class TuningDatabase;
enum class Winograd : uint8_t;  // tile/plan/select_winograd.h
}  // namespace tartan::plan

namespace tartan::api {

// The device of `devices` that Device::Open takes for `selector`.
absl::StatusOr<hal::DeviceInfo> SelectDevice(const std::vector<hal::DeviceInfo>& devices,
                                             absl::string_view selector);

class DeviceQueue;

struct DeviceOptions {
  bool use_disk_cache = true;
  bool verbose = false;  // tells on stderr why the disk cache is not used where it cannot be
  bool quiet = false;    // leaves out warnings of the driver's compiler on stderr
  int64_t memory_limit_bytes = 0;  // the most that is taken of the device's memory; 0: all
  // Open measures what the device reaches, even if that is known. Else it is measured when kernels
  // for exact sizes are first compiled, once for every device, and kept in the disk cache.
  bool calibrate_again = false;
};

// Every device of every driver. Unavailable with the remedy when there is no OpenCL platform.
absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices(const DeviceOptions& options = {});

// Of the proto::CompileRequest that Device::MakeCompileRequests gives.
inline constexpr int kCompileRequestVersion = 1;

// With TARTAN_DUMP_DIR in the environment, everything a device compiles is written there, stage by
// stage (tile/compiler/dump_files.h). TARTAN_WINOGRAD=0 there keeps Winograd's algorithm for 3x3
// convolutions out; 1 lets it use larger tiles, which are faster but less exact than direct sums
// (by 1e-4 of the output's range at most); Open refuses any other value. TARTAN_LEAVE_OUT names
// passes that are left out (CompileOptions::disabled_passes), with commas between them. With
// TARTAN_CHECK_BOUNDS=1 kernels check every access to memory, and a run that would leave its memory
// fails (compiler/check_bounds.h).
class Device {
 public:
  // `selector`: an index, or a case-insensitive part of the platform or device name; empty: the
  // environment's TARTAN_DEVICE, else a GPU if there is one, else the CPU. NotFound lists what
  // there is when nothing matches.
  static absl::StatusOr<std::shared_ptr<Device>> Open(absl::string_view selector = "",
                                                      const DeviceOptions& options = {});
  ~Device();

  // The same device, but what is run through it is compiled with these options and seen by these
  // hooks. The options' settings are the device's own. Compiled programs are shared.
  std::shared_ptr<Device> With(compiler::CompileOptions options,
                               compiler::CompileHooks hooks) const;
  std::shared_ptr<Device> With(compiler::CompileHooks hooks) const;
  // What With changes, and what tuning kept.
  compiler::CompileOptions options() const;

  // The same device, but what is run through it uses Winograd's algorithm as told here and not by
  // the environment.
  std::shared_ptr<Device> WithWinograd(plan::Winograd use) const;
  // The same device, but models and functions run through it compute all floats in float64
  // (ir::InFloat64) and give float64: what errors are measured against. Unimplemented where it has
  // no float64.
  absl::StatusOr<std::shared_ptr<Device>> InFloat64() const;
  bool in_float64() const;
  // The same device, but what is run through it has kernels of this tier.
  std::shared_ptr<Device> WithTier(compiler::Tier tier) const;
  compiler::Tier tier() const;
  // The same device, but products of what is run through it may be computed with a GPU's matrix
  // unit, in so much precision, where that is quicker, or with kBFloat16 on a CPU. With kInt8 exact
  // kernels take products by constants with factors of 8 bits, on CPUs and where those are large on
  // GPUs (graph/products/quantize_products.h has the bound of their errors). Other devices compute
  // in float32 as ever.
  std::shared_ptr<Device> WithPrecision(Precision precision) const;
  Precision precision() const;
  // The same device, but programs compiled through it make values again where they need more bytes,
  // their states among them, as far as that helps.
  std::shared_ptr<Device> WithMemoryBudget(int64_t bytes) const;
  // Something sees or steers what is compiled through it.
  bool has_hooks() const;
  bool quiet() const { return quiet_; }

  const hal::DeviceInfo& info() const { return hal_->info(); }
  const hal::DevicePtr& hal() const { return hal_; }
  // The order of everything that reads or writes device tensors (device_tensor.h).
  const std::shared_ptr<DeviceQueue>& queue() const { return queue_; }
  // info().settings, with what else is known once the device was measured; measures it where nobody
  // has.
  absl::StatusOr<HardwareSettings> MeasuredSettings() const {
    return hal_->Settings(hal::Knowledge::kMeasured);
  }

  // Compiled for this device with its options, or taken from what was compiled already.
  absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> Compile(
      const proto::Program& program) const;
  // The same if it and its kernels are compiled already, by this process or on disk; null
  // otherwise.
  std::shared_ptr<const evaluator::CompiledProgram> FindCompiled(
      const proto::Program& program) const;

  // What Compile makes of it, kernel by kernel for people to read; builds none of them.
  absl::StatusOr<evaluator::PlannedProgram> Plan(const proto::Program& program) const;

  // The same for the host to compute `times` times, where that takes it no longer than `most_ms`,
  // nor than kernels to be compiled; null otherwise.
  absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> OnHost(
      const proto::Program& program, double most_ms, int64_t times) const;

  // What other processes need to compile the kernels of that program into the disk cache, from
  // where Compile then takes them: proto::CompileRequests. FailedPrecondition without a disk
  // cache.
  absl::StatusOr<std::vector<std::string>> MakeCompileRequests(const proto::Program& program) const;

  // What somebody found out about programs on this device, under a name of theirs: kept in the disk
  // cache, for this build alone. Nothing where nothing is kept.
  std::optional<std::string> Recall(absl::string_view name) const;
  void Remember(absl::string_view name, absl::string_view note) const;

  // Changes the plans that tuning keeps for this device (what another process kept meanwhile is
  // there too), in the disk cache and for what is compiled from now on. PermissionDenied where the
  // disk cache cannot be written; without one the change lasts as long as the device.
  absl::Status UpdatePlans(const std::function<void(plan::TuningDatabase*)>& change);

 private:
  Device(hal::DevicePtr hal, std::shared_ptr<opencl::DiskCache> cache,
         compiler::CompileOptions options, compiler::CompileHooks hooks, bool quiet);
  Device(const Device& other, compiler::CompileOptions options, compiler::CompileHooks hooks);

  const hal::DevicePtr hal_;
  const bool quiet_;
  const std::shared_ptr<opencl::DiskCache> cache_;  // null without one
  const std::shared_ptr<evaluator::ProgramCache> programs_;
  const std::shared_ptr<DeviceQueue> queue_;
  mutable std::mutex options_mutex_;
  std::unique_ptr<compiler::CompileOptions> options_;  // guarded by options_mutex_
  std::unique_ptr<const compiler::CompileHooks> hooks_;
};

}  // namespace tartan::api
