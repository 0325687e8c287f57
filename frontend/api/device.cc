// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/device.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend_opencl/cache/cache_folder.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/cache/stored_plans.h"
#include "backend_opencl/device/compile.h"
#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "frontend/api/background/compiler_process.h"
#include "frontend/api/device_queue.h"
#include "proto/program.pb.h"
#include "tile/base/cancellation.h"
#include "tile/base/environment.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"
#include "tile/compiler/dump_files.h"
#include "tile/compiler/passes/passes.h"
#include "tile/evaluator/build_identity.h"
#include "tile/evaluator/program_cache.h"
#include "tile/plan/store/tuning_database.h"

namespace tartan::api {
namespace {

std::unique_ptr<hal::Driver> MakeDriver(const DeviceOptions& options) {
  opencl::OpenClOptions opencl_options;
  opencl_options.use_disk_cache = options.use_disk_cache;
  opencl_options.verbose = options.verbose;
  opencl_options.quiet = options.quiet;
  opencl_options.memory_limit_bytes = options.memory_limit_bytes;
  opencl_options.calibrations =
      options.calibrate_again ? opencl::Calibrations::kAgain : opencl::Calibrations::kOnce;
  return opencl::MakeOpenClDriver(opencl_options);
}

bool Matches(const hal::DeviceInfo& info, absl::string_view selector) {
  int index = 0;
  if (absl::SimpleAtoi(selector, &index)) return info.index == index;
  const std::string wanted = absl::AsciiStrToLower(selector);
  return absl::StrContains(absl::AsciiStrToLower(info.platform), wanted) ||
         absl::StrContains(absl::AsciiStrToLower(info.name), wanted);
}

absl::StatusOr<compiler::CompileOptions> OptionsOfEnvironment() {
  compiler::CompileOptions options;
  const absl::string_view winograd = EnvironmentValue("TARTAN_WINOGRAD");
  if (winograd == "0") {
    options.winograd = plan::Winograd::kNever;
  } else if (winograd == "1") {
    options.winograd = plan::Winograd::kWhereFaster;
  } else if (!winograd.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the environment variable TARTAN_WINOGRAD is '",
                                                   winograd, "'; expected 0 or 1"));
  }
  options.check_bounds = EnvironmentValue("TARTAN_CHECK_BOUNDS") == "1";
  for (absl::string_view pass :
       absl::StrSplit(EnvironmentValue("TARTAN_LEAVE_OUT"), ',', absl::SkipEmpty())) {
    options.disabled_passes.insert(std::string(pass));
  }
  if (const absl::Status known = compiler::CheckOptional(options.disabled_passes); !known.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the environment variable TARTAN_LEAVE_OUT: ", known.message()));
  }
  return options;
}

// Returns whether TARTAN_HOST allows the host to compute small programs.
absl::StatusOr<bool> MayUseHost() {
  const absl::string_view host = EnvironmentValue("TARTAN_HOST");
  if (host.empty() || host == "on") return true;
  if (host == "off") return false;
  return absl::InvalidArgumentError(
      absl::StrCat("the environment variable TARTAN_HOST is '", host, "'; expected on or off"));
}

std::string NoteKey(const hal::DeviceInfo& info, absl::string_view name) {
  return absl::StrCat("note\n", evaluator::BuildIdentity(), "\n", info.platform, "\n", info.name,
                      "\n", info.driver_version, "\n", name);
}

// Maximum number of compiler processes: no more than the kernels of a model keep busy. Also limited
// by the number of processors.
constexpr unsigned kMaxProcesses = 16;

std::string RequestFor(const hal::DeviceInfo& info, const hal::ExecutableSource& source,
                       std::string program) {
  proto::CompileRequest request;
  request.set_version(kCompileRequestVersion);
  request.set_device(info.index);
  request.set_platform(info.platform);
  request.set_name(info.name);
  request.set_format(source.format);
  request.set_options(source.options);
  request.set_program(std::move(program));
  return request.SerializeAsString();
}

// Processes that load their compilers while this process does, for as long as somebody owns the
// list.
struct PreparedProcesses {
  using List = std::vector<std::unique_ptr<CompilerProcess>>;
  std::mutex mutex;
  std::weak_ptr<List> list;  // guarded by mutex, including its elements

  std::unique_ptr<CompilerProcess> Take() {
    std::lock_guard<std::mutex> lock(mutex);
    const std::shared_ptr<List> kept = list.lock();
    if (kept == nullptr || kept->empty()) return nullptr;
    std::unique_ptr<CompilerProcess> taken = std::move(kept->back());
    kept->pop_back();
    return taken;
  }
};

// `program` is the result of CompilerProgram and may be empty.
evaluator::CompilerProcesses ProcessesFor(const hal::DevicePtr& device,
                                          const std::string& program) {
  evaluator::CompilerProcesses processes;
  processes.count =
      static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMaxProcesses));
  // A raw pointer suffices: api::Device owns both the HAL device and the program cache that has
  // this lambda.
  processes.is_compiled = [device = device.get()](const hal::ExecutableSource& source) {
    return opencl::IsCompiledOnDisk(device->shared_from_this(), source);
  };
  if (program.empty()) return processes;
  const auto prepared = std::make_shared<PreparedProcesses>();
  const int index = device->info().index;
  processes.prepare = [program, index, prepared,
                       others = processes.count - 1](int wanted) -> std::shared_ptr<void> {
    std::lock_guard<std::mutex> lock(prepared->mutex);
    std::shared_ptr<PreparedProcesses::List> list = prepared->list.lock();
    if (list == nullptr) list = std::make_shared<PreparedProcesses::List>();
    while (list->size() < static_cast<size_t>(std::min(others, wanted))) {
      auto process = CompilerProcess::Start(program, index);
      if (process == nullptr) break;
      list->push_back(std::move(process));
    }
    prepared->list = list;
    return list;
  };
  processes.start = [program, prepared, info = device->info()](
                        const evaluator::ProgramSource& part) -> std::function<void()> {
    const std::string request = RequestFor(info, part.source, evaluator::SerializeProgram(part));
    const std::shared_ptr<CompilerProcess> process = prepared->Take();
    auto thread = std::make_shared<std::thread>(
        [program, request, process, index = info.index, cancellation = Cancellation::OfThread()] {
          const auto should_continue = [&] {
            return cancellation == nullptr || !cancellation->is_cancelled();
          };
          // If it fails, this process's driver compiles the kernel.
          (process ? process->Compile(request, should_continue)
                   : CompileInProcess(program, index, request, should_continue))
              .IgnoreError();
        });
    return [thread] { thread->join(); };
  };
  return processes;
}

compiler::CompileHooks HooksOfEnvironment() {
  compiler::CompileHooks hooks;
  if (const absl::string_view directory = EnvironmentValue("TARTAN_DUMP_DIR"); !directory.empty()) {
    hooks.dump = compiler::DumpToDirectory(std::string(directory));
  }
  return hooks;
}

}  // namespace

absl::StatusOr<hal::DeviceInfo> SelectDevice(const std::vector<hal::DeviceInfo>& devices,
                                             absl::string_view selector) {
  if (devices.empty()) {
    return absl::UnavailableError(
        "no OpenCL device was found; for the CPU install PoCL: apt-get install pocl-opencl-icd");
  }
  if (selector.empty()) selector = EnvironmentValue("TARTAN_DEVICE");
  if (selector.empty()) return hal::PreferredDevice(devices);
  std::string known;
  for (const hal::DeviceInfo& info : devices) {
    if (Matches(info, selector)) return info;
    absl::StrAppend(&known, "\n  ", info.index, ": ", info.name, " (", info.platform, ")");
  }
  return absl::NotFoundError(
      absl::StrCat("no device matches '", selector, "'; the devices are:", known));
}

absl::StatusOr<std::vector<hal::DeviceInfo>> ListDevices(const DeviceOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<hal::DeviceInfo>> {
    return MakeDriver(options)->ListDevices();
  });
}

Device::Device(hal::DevicePtr hal, std::shared_ptr<opencl::DiskCache> cache,
               compiler::CompileOptions options, compiler::CompileHooks hooks, bool quiet)
    : hal_(std::move(hal)),
      quiet_(quiet),
      cache_(std::move(cache)),
      programs_(std::make_shared<evaluator::ProgramCache>(hal_, opencl::DialectOf)),
      queue_(std::make_shared<DeviceQueue>(hal_)),
      options_(std::make_unique<const compiler::CompileOptions>(std::move(options))),
      hooks_(std::make_unique<const compiler::CompileHooks>(std::move(hooks))),
      tuned_(options_->tuned) {
  if (cache_ != nullptr) {
    programs_->SetStore({[cache = cache_](absl::string_view key) { return cache->Load(key); },
                         [cache = cache_](absl::string_view key, absl::string_view bytes) {
                           cache->Store(key, bytes);
                         }});
    programs_->SetProcesses(ProcessesFor(hal_, CompilerProgram()));
    if (const auto stored = opencl::LoadPlans(*cache_, info()); stored.has_value()) {
      tuned_ = std::make_shared<plan::TuningDatabase>(plan::TuningDatabase::Parse(*stored));
    }
  }
}

Device::Device(const Device& other, compiler::CompileOptions options, compiler::CompileHooks hooks)
    : hal_(other.hal_),
      quiet_(other.quiet_),
      cache_(other.cache_),
      programs_(other.programs_),
      queue_(other.queue_),
      options_(std::make_unique<const compiler::CompileOptions>(std::move(options))),
      hooks_(std::make_unique<const compiler::CompileHooks>(std::move(hooks))),
      tuned_(options_->tuned) {}

Device::~Device() = default;

std::shared_ptr<Device> Device::With(compiler::CompileOptions options,
                                     compiler::CompileHooks hooks) const {
  return std::shared_ptr<Device>(new Device(*this, std::move(options), std::move(hooks)));
}

std::shared_ptr<Device> Device::With(compiler::CompileHooks hooks) const {
  return With(options(), std::move(hooks));
}

std::shared_ptr<Device> Device::ForForkedProcess() const {
  return std::shared_ptr<Device>(new Device(hal_, nullptr, *options_, *hooks_, quiet_));
}

compiler::CompileOptions Device::options() const {
  compiler::CompileOptions options = *options_;
  std::lock_guard<std::mutex> lock(tuned_mutex_);
  options.tuned = tuned_;
  return options;
}

absl::StatusOr<std::shared_ptr<Device>> Device::InFloat64() const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<Device>> {
    if (!info().settings.has_float64) {
      return absl::UnimplementedError(absl::StrCat(info().name, " has no float64"));
    }
    compiler::CompileOptions wide = options();
    wide.in_float64 = true;
    return With(std::move(wide), *hooks_);
  });
}

std::shared_ptr<Device> Device::WithWinograd(plan::Winograd use) const {
  compiler::CompileOptions changed = options();
  changed.winograd = use;
  return With(std::move(changed), *hooks_);
}

bool Device::in_float64() const { return options().in_float64; }

std::shared_ptr<Device> Device::WithTier(compiler::Tier tier) const {
  compiler::CompileOptions changed = options();
  changed.tier = tier;
  return With(std::move(changed), *hooks_);
}

std::shared_ptr<Device> Device::WithPrecision(Precision precision) const {
  compiler::CompileOptions changed = options();
  changed.precision = precision;
  return With(std::move(changed), *hooks_);
}

std::shared_ptr<Device> Device::WithMemoryBudget(int64_t bytes) const {
  compiler::CompileOptions changed = options();
  changed.memory_budget = bytes;
  return With(std::move(changed), *hooks_);
}

Precision Device::precision() const { return options().precision; }

compiler::Tier Device::tier() const { return options().tier; }

bool Device::has_hooks() const {
  return hooks_->dump || hooks_->timing || hooks_->planner || !hooks_->stop_after.empty();
}

absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> Device::Compile(
    const proto::Program& program, const lang::Function* tree) const {
  return programs_->Get(program, options(), *hooks_, tree);
}

std::shared_ptr<const evaluator::CompiledProgram> Device::FindCompiled(
    const proto::Program& program) const {
  return programs_->GetIfCompiled(
      program, options(), *hooks_,
      [&](const hal::ExecutableSource& source) { return opencl::IsCompiledOnDisk(hal_, source); });
}

absl::StatusOr<evaluator::PlannedProgram> Device::Plan(const proto::Program& program) const {
  return programs_->Plan(program, options(), *hooks_);
}

absl::StatusOr<std::shared_ptr<const evaluator::CompiledProgram>> Device::OnHost(
    const proto::Program& program, double most_ms, int64_t times,
    const lang::Function* tree) const {
  if (!MayUseHost().value_or(true)) return nullptr;
  return programs_->GetOnHost(program, options(), *hooks_, most_ms, times, tree);
}

absl::StatusOr<std::vector<std::string>> Device::MakeCompileRequests(
    const proto::Program& program) const {
  if (cache_ == nullptr) return absl::FailedPreconditionError("there is no disk cache");
  TARTAN_ASSIGN_OR_RETURN(const auto parts, programs_->GetParts(program, options(), *hooks_));
  std::vector<std::string> requests;
  for (const evaluator::ProgramSource& part : parts) {
    requests.push_back(RequestFor(info(), part.source, evaluator::SerializeProgram(part)));
  }
  return requests;
}

std::optional<std::string> Device::LoadNote(absl::string_view name) const {
  return cache_ == nullptr ? std::nullopt : cache_->Load(NoteKey(info(), name));
}

void Device::StoreNote(absl::string_view name, absl::string_view note) const {
  if (cache_ != nullptr) cache_->Store(NoteKey(info(), name), note);
}

absl::Status Device::UpdatePlans(const std::function<void(plan::TuningDatabase*)>& change) {
  return CatchOutOfMemory([&]() -> absl::Status {
    std::lock_guard<std::mutex> lock(tuned_mutex_);
    const auto changed = [&](std::optional<std::string> stored) {
      plan::TuningDatabase database;
      if (stored.has_value()) database = plan::TuningDatabase::Parse(*stored);
      change(&database);
      std::string bytes = database.Serialize();
      tuned_ = std::make_shared<plan::TuningDatabase>(std::move(database));
      return bytes;
    };
    bool written = true;
    if (cache_ != nullptr) {
      written = opencl::UpdatePlans(*cache_, info(), changed);
    } else {
      changed(tuned_ == nullptr ? std::nullopt : std::make_optional(tuned_->Serialize()));
    }
    if (written) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat("the plans cannot be stored: the disk cache ",
                                                    opencl::DefaultCacheDirectory(),
                                                    " cannot be written"));
  });
}

absl::StatusOr<std::shared_ptr<Device>> Device::Open(absl::string_view selector,
                                                     const DeviceOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<Device>> {
    TARTAN_ASSIGN_OR_RETURN(compiler::CompileOptions compile_options, OptionsOfEnvironment());
    TARTAN_RETURN_IF_ERROR(MayUseHost().status());
    const std::unique_ptr<hal::Driver> driver = MakeDriver(options);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<hal::DeviceInfo> devices, driver->ListDevices());
    TARTAN_ASSIGN_OR_RETURN(const hal::DeviceInfo info, SelectDevice(devices, selector));
    TARTAN_ASSIGN_OR_RETURN(hal::DevicePtr hal, driver->Open(info));
    std::shared_ptr<opencl::DiskCache> cache;
    // The driver has reported why the disk cache cannot be used, if so.
    const std::string directory = opencl::DefaultCacheDirectory();
    if (options.use_disk_cache && opencl::CheckCacheFolder(directory).ok()) {
      cache = std::make_shared<opencl::DiskCache>(
          directory, opencl::OpenClOptions().cache_limit_bytes, options.verbose, options.quiet);
    }
    return std::shared_ptr<Device>(new Device(std::move(hal), std::move(cache),
                                              std::move(compile_options), HooksOfEnvironment(),
                                              options.quiet));
  });
}

}  // namespace tartan::api
