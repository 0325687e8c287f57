// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend_opencl/api/driver_failure.h"
#include "backend_opencl/cache/disk_cache.h"
#include "backend_opencl/context/build_program.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/context/pocl_program.h"
#include "backend_opencl/device/compiler_pages.h"
#include "backend_opencl/device/opencl_executable.h"
#include "backend_opencl/dialect/hidden_assembly.h"
#include "backend_opencl/launch_batch/launch_batch_source.h"
#include "backend_opencl/launch_batch/megakernel_source.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

using Clock = std::chrono::steady_clock;

// Increase it whenever the meaning of the stored data changes.
constexpr int kCacheFormatVersion = 2;

bool IsGpu(const OpenClContext& device) { return device.info().type == hal::DeviceType::kGpu; }

// True if kernels are built with batching. On GPUs, persistent kernels need instructions that the
// portable build excludes.
bool UsesLaunchBatches(const OpenClContext& device, const hal::ExecutableSource& source,
                       bool is_portable) {
  return device.quirks().batches_launches && source.uses_megakernel == IsGpu(device) &&
         !(is_portable && IsGpu(device)) &&
         std::count_if(source.kernels.begin(), source.kernels.end(),
                       [](const hal::KernelSource& kernel) { return kernel.in_launch_batch; }) > 0;
}

std::string JoinSource(const OpenClContext& device, const hal::ExecutableSource& source,
                       bool is_portable) {
  std::string text = source.prologue;
  for (const hal::KernelSource& kernel : source.kernels) {
    absl::StrAppend(&text, "\n", kernel.source);
  }
  if (UsesLaunchBatches(device, source, is_portable)) {
    absl::StrAppend(&text,
                    source.uses_megakernel
                        ? MegakernelSource(source.kernels, device.quirks().megakernel_pool_bytes)
                        : LaunchBatchSource(source.kernels));
  }
  return text;
}

// Number of kernels that are launched individually. Used for drivers of CPUs only.
int LaunchedCount(const OpenClContext& device, const hal::ExecutableSource& source) {
  return UsesLaunchBatches(device, source, /*is_portable=*/false)
             ? EntryPointCount(source.kernels)
             : static_cast<int>(source.kernels.size());
}

// Builds the cache key from everything that the compiled program depends on. Each part is preceded
// by its length, so different lists of parts have different keys.
std::string CacheKey(const OpenClContext& device, absl::string_view text,
                     absl::string_view options) {
  const hal::DeviceInfo& info = device.info();
  std::string key = absl::StrCat("opencl-c ", kCacheFormatVersion);
  for (absl::string_view part :
       {absl::string_view(info.platform), absl::string_view(device.platform_version()),
        absl::string_view(info.name), absl::string_view(info.driver_version), options, text}) {
    absl::StrAppend(&key, "\n", part.size(), ":", part);
  }
  return key;
}

// Macro that makes a source avoid compiler builtins.
constexpr absl::string_view kPortable = "TARTAN_PORTABLE";

struct BuildOptions {
  std::string usual;
  std::string portable;
};

BuildOptions OptionsFor(OpenClContext& device, const hal::ExecutableSource& source) {
  const std::string options = absl::StrCat(device.build_options(), source.options);
  return {options, absl::StrCat("-D", kPortable, " ", options)};
}

struct Built {
  ProgramHandle program;
  std::unique_ptr<PoclProgram> pocl_files;
  bool from_cache = false;
  bool has_all_kernels = true;  // true: no kernel is compiled at its first launch
  bool is_portable = false;
};

absl::StatusOr<Built> BuildThroughCache(const OpenClContext& device,
                                        const hal::ExecutableSource& source,
                                        const std::string& text, const std::string& options) {
  DiskCache* cache = device.cache();
  const std::string key = CacheKey(device, text, options);
  if (device.quirks().relies_on_own_cache) {
    const int kernels = LaunchedCount(device, source);
    TARTAN_ASSIGN_OR_RETURN(PoclBuild build,
                            BuildOnPocl(device, text, options, kernels, cache, key));
    return Built{std::move(build.program), std::move(build.files), build.from_cache,
                 build.has_all_kernels};
  }
  if (const auto payload = cache == nullptr ? std::nullopt : cache->Load(key); payload) {
    absl::StatusOr<ProgramHandle> program = BuildFromBinary(device, *payload, options);
    if (program.ok()) return Built{*std::move(program), nullptr, /*from_cache=*/true};
    if (!IsShortage(program.status())) cache->Remove(key);
  }
  TARTAN_ASSIGN_OR_RETURN(ProgramHandle program, BuildFromSource(device, text, options));
  const bool hides_assembly =
      absl::StrContains(text, kHiddenAssembly) && absl::StrContains(options, kHasWarpGroups);
  if (cache != nullptr || hides_assembly) {
    absl::StatusOr<std::string> binary = BinaryOf(program.get());
    if (hides_assembly) {
      TARTAN_RETURN_IF_ERROR(binary.status());
      TARTAN_ASSIGN_OR_RETURN(const bool has_opened, OpenHiddenAssembly(&*binary));
      if (has_opened) {
        TARTAN_ASSIGN_OR_RETURN(program, BuildFromBinary(device, *binary, options));
      }
    }
    // The program is usable without a binary; it is just not stored.
    if (binary.ok() && cache != nullptr) cache->Store(key, *binary);
  }
  return Built{std::move(program), nullptr, /*from_cache=*/false};
}

// Builds the source. If the driver rejects builtins, builds it again without them, and remembers
// that for the device's later programs.
absl::StatusOr<Built> BuildAsFarAsPossible(OpenClContext& device,
                                           const hal::ExecutableSource& source) {
  const std::string text = JoinSource(device, source, /*is_portable=*/false);
  const auto [options, portable] = OptionsFor(device, source);
  const auto build_portable = [&, &options = portable]() -> absl::StatusOr<Built> {
    const std::string without = JoinSource(device, source, /*is_portable=*/true);
    TARTAN_ASSIGN_OR_RETURN(Built built, BuildThroughCache(device, source, without, options));
    built.is_portable = true;
    return built;
  };
  const bool has_builtins = absl::StrContains(text, kPortable);
  if (has_builtins && device.is_portable()) return build_portable();
  absl::StatusOr<Built> built = BuildThroughCache(device, source, text, options);
  if (built.ok() || !has_builtins || !absl::IsInternal(built.status())) return built;
  absl::StatusOr<Built> without = build_portable();
  if (!without.ok()) return built;
  if (device.SetPortable() && !device.quiet()) {
    std::fprintf(stderr,
                 "tartan: the driver of %s cannot build compiler builtins: kernels do not use "
                 "them, and may be slower\n",
                 device.info().name.c_str());
  }
  return without;
}

// Reads the kernel's properties that hal checks at each launch.
absl::StatusOr<hal::EntryPoint> Inspect(cl_program program, cl_device_id device,
                                        const std::string& name) {
  cl_int error = CL_SUCCESS;
  KernelHandle kernel(CreateCl(&error, clCreateKernel, program, name.c_str()));
  TARTAN_RETURN_IF_ERROR(ToStatus(error, absl::StrCat("clCreateKernel of ", name)));
  cl_uint arguments = 0;
  TARTAN_CL_CALL(clGetKernelInfo, kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(arguments), &arguments,
                 nullptr);
  size_t local_size[3] = {0, 0, 0};
  TARTAN_CL_CALL(clGetKernelWorkGroupInfo, kernel.get(), device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                 sizeof(local_size), local_size, nullptr);
  hal::EntryPoint entry_point;
  entry_point.name = name;
  entry_point.argument_count = static_cast<int>(arguments);
  for (int i = 0; i < 3; ++i) entry_point.local_size[i] = static_cast<int64_t>(local_size[i]);
  return entry_point;
}

}  // namespace

bool IsCompiledOnDisk(const hal::DevicePtr& device, const hal::ExecutableSource& source) {
  OpenClContext& context = ContextOf(device);
  if (context.cache() == nullptr) return false;
  std::string text = JoinSource(context, source, /*is_portable=*/false);
  const auto [usual, portable] = OptionsFor(context, source);
  const bool is_portable = absl::StrContains(text, kPortable) && context.is_portable();
  if (is_portable) text = JoinSource(context, source, is_portable);
  const std::string& options = is_portable ? portable : usual;
  const std::optional<std::string> kept = context.cache()->Load(CacheKey(context, text, options));
  if (!kept.has_value() || !context.quirks().relies_on_own_cache) return kept.has_value();
  return HoldsKernels(*kept, LaunchedCount(context, source));
}

absl::StatusOr<hal::ExecutablePtr> CompileExecutable(hal::DevicePtr device,
                                                     const hal::ExecutableSource& source) {
  if (source.format != "opencl-c") {
    return absl::InvalidArgumentError(absl::StrCat(
        "the OpenCL backend compiles only the format \"opencl-c\", not \"", source.format, "\""));
  }
  OpenClContext& context = ContextOf(device);
  const Clock::time_point start = Clock::now();
  hal::CompileStatistics statistics;
  TARTAN_ASSIGN_OR_RETURN(Built built, BuildAsFarAsPossible(context, source));
  ++(built.from_cache ? statistics.cache_hits : statistics.cache_misses);
  if (built.from_cache && !built.has_all_kernels) ++statistics.cache_partial_hits;
  std::vector<hal::EntryPoint> entry_points;
  std::vector<int> cases;
  std::vector<std::vector<int>> kept;
  const bool batches_launches = UsesLaunchBatches(context, source, built.is_portable);
  int next_case = 0;
  for (const hal::KernelSource& kernel : source.kernels) {
    cases.push_back(kernel.in_launch_batch && batches_launches ? next_case++ : -1);
    kept.push_back(kernel.kept);
    TARTAN_ASSIGN_OR_RETURN(hal::EntryPoint entry_point,
                            Inspect(built.program.get(), context.id(), kernel.name));
    entry_points.push_back(std::move(entry_point));
  }
  if (context.quirks().relies_on_own_cache) ReturnCompilerPages();
  statistics.compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::make_shared<OpenClExecutable>(std::move(device), std::move(entry_points),
                                            std::move(cases), std::move(kept), statistics,
                                            std::move(built.program), std::move(built.pocl_files));
}

}  // namespace tartan::opencl
