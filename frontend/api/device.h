// SPDX-License-Identifier: Apache-2.0
// An opened device: the HAL device and the cache of programs compiled for it.
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
namespace tartan::lang {
struct Function;
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
enum class Winograd : uint8_t;  // tile/plan/select/select_winograd.h
}  // namespace tartan::plan

namespace tartan::api {

// The device of `devices` that Device::Open opens for `selector`.
absl::StatusOr<hal::DeviceInfo> SelectDevice(const std::vector<hal::DeviceInfo>& devices,
                                             absl::string_view selector);

class DeviceQueue;

struct DeviceOptions {
  bool use_disk_cache = true;
  bool verbose = false;            // reports on stderr why the disk cache cannot be used
  bool quiet = false;              // suppresses warnings of the driver's compiler on stderr
  int64_t memory_limit_bytes = 0;  // limit on device memory in bytes; 0: no limit
  // If set, Open measures the device's speed even if it is known. Otherwise it is measured once per
  // device, when shape-specialised kernels are first compiled, and stored in the disk cache.
  bool calibrate_again = false;
};

// All devices of all drivers. Returns Unavailable with a remedy if there is no OpenCL platform.
absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices(const DeviceOptions& options = {});

// Version of the proto::CompileRequest messages that Device::MakeCompileRequests returns.
inline constexpr int kCompileRequestVersion = 1;

// Environment variables that a device reads:
// - TARTAN_DUMP_DIR: a folder for the dumps of every compiler stage (tile/compiler/dump_files.h).
// - TARTAN_WINOGRAD=0: disables Winograd's algorithm for 3x3 convolutions.
// - TARTAN_WINOGRAD=1: allows larger Winograd tiles. They are faster but less exact than direct
//   sums, by at most 1e-4 of the output's range. Open refuses other values.
// - TARTAN_LEAVE_OUT: comma-separated passes to skip (CompileOptions::disabled_passes).
// - TARTAN_CHECK_BOUNDS=1: kernels check every memory access; an access out of bounds fails the run
//   (compiler/check_bounds.h).
class Device {
 public:
  // `selector` is an index or a case-insensitive part of the platform or device name. If it is
  // empty, the environment's TARTAN_DEVICE is used, then a GPU if there is one, then the CPU.
  // NotFound lists the available devices if none matches.
  static absl::StatusOr<std::shared_ptr<Device>> Open(absl::string_view selector = "",
                                                      const DeviceOptions& options = {});
  ~Device();

  // Returns the same device with other compile options and hooks. The options' settings are
  // replaced by the device's own. Both devices share compiled programs.
  std::shared_ptr<Device> With(compiler::CompileOptions options,
                               compiler::CompileHooks hooks) const;
  std::shared_ptr<Device> With(compiler::CompileHooks hooks) const;
  // The options given to With, and the plans that tuning stored.
  compiler::CompileOptions options() const;

  // Returns the same device with this use of Winograd's algorithm instead of the environment's.
  std::shared_ptr<Device> WithWinograd(plan::Winograd use) const;
  // Returns the same device computing models and functions entirely in float64 (ir::InFloat64),
  // with float64 results: a reference for error measurements. Returns Unimplemented if the device
  // has no float64.
  absl::StatusOr<std::shared_ptr<Device>> InFloat64() const;
  bool in_float64() const;
  // Returns the same device compiling kernels of this tier.
  std::shared_ptr<Device> WithTier(compiler::Tier tier) const;
  compiler::Tier tier() const;
  // Returns the same device with matmuls allowed in reduced precision where that is faster.
  // - On GPUs with tensor cores: any reduced precision.
  // - On CPUs: kBFloat16 and kInt8.
  // - kInt8: exact (shape-specialised) kernels compute matmuls by constants with 8-bit factors; on
  //   GPUs only large ones (graph/matmul/quantize_matmuls.h has the error bound).
  //
  // Other devices compute in float32.
  std::shared_ptr<Device> WithPrecision(Precision precision) const;
  Precision precision() const;
  // Returns the same device with a memory budget: programs that exceed it recompute values to save
  // memory, as far as possible. The budget includes states.
  std::shared_ptr<Device> WithMemoryBudget(int64_t bytes) const;
  // Returns the same device for computation by the host in a process that was forked. It shares
  // nothing that another thread of the parent may have locked: it has no disk cache, and a program
  // cache of its own. Plans that were tuned after the device was opened are missing.
  std::shared_ptr<Device> ForForkedProcess() const;
  // True if hooks observe or change the compilation.
  bool has_hooks() const;
  bool quiet() const { return quiet_; }

  const hal::DeviceInfo& info() const { return hal_->info(); }
  const hal::DevicePtr& hal() const { return hal_; }
  // Orders all reads and writes of device tensors (device_tensor.h).
  const std::shared_ptr<DeviceQueue>& queue() const { return queue_; }
  // `info().settings` with measured values added; measures the device if nobody has.
  absl::StatusOr<HardwareSettings> MeasuredSettings() const {
    return hal_->Settings(hal::Knowledge::kMeasured);
  }

  // Compiles `program` with this device's options, or returns it from the cache. `tree` is the
  // program's code, parsed; null: the code is parsed.
  absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> Compile(
      const proto::Program& program, const lang::Function* tree = nullptr) const;
  // Returns the program if it and its kernels are already compiled, in this process or on disk;
  // null otherwise.
  std::shared_ptr<const evaluator::CompiledProgram> FindCompiled(
      const proto::Program& program) const;

  // Returns the compiler's result, kernel by kernel, for people to read. Builds no kernel.
  absl::StatusOr<evaluator::PlannedProgram> Plan(const proto::Program& program) const;

  // Returns the program for evaluation on the host if computing it `times` times takes at most
  // `most_ms` and less than compiling kernels; null otherwise.
  absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> OnHost(
      const proto::Program& program, double most_ms, int64_t times,
      const lang::Function* tree = nullptr) const;

  // Returns the proto::CompileRequests with which other processes can compile the program's kernels
  // into the disk cache, where Compile finds them. FailedPrecondition without a disk cache.
  absl::StatusOr<std::vector<std::string>> MakeCompileRequests(const proto::Program& program) const;

  // Notes about programs on this device, stored by name in the disk cache for this build only.
  // Without a cache Remember does nothing and Recall returns nullopt.
  std::optional<std::string> LoadNote(absl::string_view name) const;
  void StoreNote(absl::string_view name, absl::string_view note) const;

  // Changes the tuned plans of this device, in the disk cache and for later compilations. Plans
  // that another process stored meanwhile are loaded first. Returns PermissionDenied if the disk
  // cache cannot be written. Without a disk cache, the change lasts as long as the device.
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
  const std::unique_ptr<const compiler::CompileOptions> options_;  // without later plans
  const std::unique_ptr<const compiler::CompileHooks> hooks_;
  mutable std::mutex tuned_mutex_;
  std::shared_ptr<const plan::TuningDatabase> tuned_;  // guarded by tuned_mutex_
};

}  // namespace tartan::api
