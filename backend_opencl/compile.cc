#include "backend_opencl/compile.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend_opencl/build_program.h"
#include "backend_opencl/disk_cache.h"
#include "backend_opencl/opencl_executable.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

using Clock = std::chrono::steady_clock;

// Changes whenever what is stored under a key changes its meaning.
constexpr int kCacheFormatVersion = 1;

std::string JoinSource(const hal::ExecutableSource& source) {
  std::string text = source.prologue;
  for (const hal::KernelSource& kernel : source.kernels) {
    absl::StrAppend(&text, "\n", kernel.source);
  }
  return text;
}

// Everything that the compiled program depends on. Each part is preceded by its length, so that no
// two lists of parts give one key.
std::string CacheKey(const OpenClDevice& device, absl::string_view text,
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

// What to store for a program that has just been built.
std::optional<std::string> PayloadOf(const OpenClDevice& device, cl_program program) {
  if (device.quirks().relies_on_own_cache) return PoclCacheIdentity();
  absl::StatusOr<std::string> binary = BinaryOf(program);
  if (!binary.ok()) return std::nullopt;  // the program itself is good
  return *std::move(binary);
}

absl::StatusOr<ProgramHandle> BuildThroughCache(const OpenClDevice& device,
                                                const hal::ExecutableSource& source,
                                                hal::CompileStatistics* statistics) {
  const std::string text = JoinSource(source);
  const std::string options = absl::StrCat(device.build_options(), source.options);
  DiskCache* cache = device.cache();
  const std::string key = cache == nullptr ? "" : CacheKey(device, text, options);
  std::optional<std::string> payload;
  if (cache != nullptr) payload = cache->Load(key);
  if (payload.has_value() && device.quirks().relies_on_own_cache) {
    // Such a driver is given the source again and finds what it compiled.
    if (payload == PoclCacheIdentity()) {
      ++statistics->cache_hits;
      return BuildFromSource(device, text, options);
    }
  } else if (payload.has_value()) {
    absl::StatusOr<ProgramHandle> program = BuildFromBinary(device, *payload, options);
    if (program.ok()) {
      ++statistics->cache_hits;
      return program;
    }
    cache->Remove(key);
  }
  ++statistics->cache_misses;
  TARTAN_ASSIGN_OR_RETURN(ProgramHandle program, BuildFromSource(device, text, options));
  if (cache != nullptr) {
    payload = PayloadOf(device, program.get());
    if (payload.has_value()) cache->Store(key, *payload);
  }
  return program;
}

// Reads what the launch checks of hal need to know of a kernel.
absl::StatusOr<hal::EntryPoint> Inspect(cl_program program, cl_device_id device,
                                        const std::string& name) {
  cl_int error = CL_SUCCESS;
  KernelHandle kernel(clCreateKernel(program, name.c_str(), &error));
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

absl::StatusOr<hal::ExecutablePtr> CompileExecutable(std::shared_ptr<OpenClDevice> device,
                                                     const hal::ExecutableSource& source) {
  if (source.format != "opencl-c") {
    return absl::InvalidArgumentError(absl::StrCat(
        "the OpenCL backend compiles the format \"opencl-c\", not \"", source.format, "\""));
  }
  const Clock::time_point start = Clock::now();
  hal::CompileStatistics statistics;
  TARTAN_ASSIGN_OR_RETURN(ProgramHandle program, BuildThroughCache(*device, source, &statistics));
  std::vector<hal::EntryPoint> entry_points;
  for (const hal::KernelSource& kernel : source.kernels) {
    TARTAN_ASSIGN_OR_RETURN(hal::EntryPoint entry_point,
                            Inspect(program.get(), device->id(), kernel.name));
    entry_points.push_back(std::move(entry_point));
  }
  statistics.compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return std::make_shared<OpenClExecutable>(std::move(device), std::move(entry_points), statistics,
                                            std::move(program));
}

}  // namespace tartan::opencl
