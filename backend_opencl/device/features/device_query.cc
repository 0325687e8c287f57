// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/device_query.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend_opencl/device/features/driver_quirks.h"
#include "backend_opencl/device/features/hardware_probe.h"
#include "backend_opencl/device/features/nvidia_features.h"
#include "backend_opencl/dialect/hidden_assembly.h"
#include "tile/base/environment.h"
#include "tile/base/status_macros.h"

namespace tartan::opencl {
namespace {

constexpr char kRemedy[] =
    "no OpenCL platform was found: install the device's driver, or for the CPU: apt-get install "
    "pocl-opencl-icd";

// Alignment in bits if the driver reports none: the size of long16, the largest vector type.
constexpr int64_t kDefaultAlignmentBits = 1024;

// A property unknown to the driver stays zero. A missing optional property must not make the device
// unusable.
template <class T>
T Query(cl_device_id device, cl_device_info name) {
  T value{};
  return clGetDeviceInfo(device, name, sizeof(value), &value, nullptr) == CL_SUCCESS ? value : T{};
}

template <class Object, class Function>
std::string QueryText(Function function, Object object, cl_uint name) {
  size_t size = 0;
  if (function(object, name, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (function(object, name, size, text.data(), nullptr) != CL_SUCCESS) return "";
  text.resize(std::min(text.size(), text.find('\0')));
  return std::string(absl::StripAsciiWhitespace(text));
}

hal::DeviceType TypeOf(cl_device_type type) {
  if (type & CL_DEVICE_TYPE_GPU) return hal::DeviceType::kGpu;
  if (type & CL_DEVICE_TYPE_CPU) return hal::DeviceType::kCpu;
  if (type & CL_DEVICE_TYPE_ACCELERATOR) return hal::DeviceType::kAccelerator;
  return hal::DeviceType::kOther;
}

// Queries cl_nv_device_attribute_query; devices of other vendors report nothing.
// TARTAN_MATRIX_UNIT=warps makes a Hopper GPU use mma.sync, so that this path can be tested there.
NvidiaFeatures QueryNvidiaFeatures(cl_device_id device) {
  constexpr cl_device_info kMajor = 0x4000;  // CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV
  constexpr cl_device_info kMinor = 0x4001;
  const cl_uint capability = Query<cl_uint>(device, kMajor) * 10 + Query<cl_uint>(device, kMinor);
  return NvidiaFeaturesOf(static_cast<int>(capability),
                          EnvironmentValue("TARTAN_MATRIX_UNIT") == "warps");
}

ReportedHardware Probe(cl_device_id device, hal::DeviceType type, const NvidiaFeatures& features) {
  ReportedHardware reported;
  reported.type = type;
  reported.compute_units = Query<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  reported.clock_mhz = Query<cl_uint>(device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  reported.max_work_group_size = Query<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  const auto sizes = Query<std::array<size_t, 3>>(device, CL_DEVICE_MAX_WORK_ITEM_SIZES);
  for (int i = 0; i < 3; ++i) reported.max_work_item_sizes[i] = static_cast<int64_t>(sizes[i]);
  reported.native_float_vector_width = Query<cl_uint>(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  reported.preferred_float_vector_width =
      Query<cl_uint>(device, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
  reported.local_memory_is_dedicated =
      Query<cl_device_local_mem_type>(device, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
  reported.local_memory_bytes = Query<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  reported.cache_bytes = Query<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  reported.cache_line_bytes = Query<cl_uint>(device, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE);
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
  if (type == hal::DeviceType::kCpu) {
    reported.host_l1_bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    reported.host_l2_bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  }
#endif
  reported.has_dot8 = features.has_dot8;
  const std::string extensions = QueryText(clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS);
  for (absl::string_view extension : absl::StrSplit(extensions, ' ')) {
    reported.has_float16 |= extension == "cl_khr_fp16";
    reported.has_dot8 |= extension == "cl_khr_integer_dot_product";
    reported.has_float64 |= extension == "cl_khr_fp64";
  }
  reported.has_float64 |= Query<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  return reported;
}

// Division may be off by 2.5 ulp unless correct rounding is requested, which would change quantized
// values.
std::string BuildOptions(cl_device_id device, const NvidiaFeatures& features) {
  const auto config = Query<cl_device_fp_config>(device, CL_DEVICE_SINGLE_FP_CONFIG);
  const bool can_round = (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  std::string options = can_round ? "-cl-fp32-correctly-rounded-divide-sqrt " : "";
  if (features.has_dot8) absl::StrAppend(&options, "-DTARTAN_DP4A ");
  if (features.has_scopes) absl::StrAppend(&options, "-DTARTAN_PTX ");
  if (features.matrix != MatrixInstructions::kNone) {
    absl::StrAppend(&options, "-D", kHasMatrixUnit, " ");
  }
  if (features.matrix == MatrixInstructions::kWarpGroups) {
    absl::StrAppend(&options, "-D", kHasWarpGroups, " ");
  }
  return options;
}

// Kernels for tensor cores may use most of a compute unit's local memory. In a persistent kernel,
// the space for launch records is subtracted. OpenCL reports 48 KiB, but NVIDIA's driver accepts
// kernels that declare more. This is known for Hopper and tested on other GPUs
// (features/local_memory_probe.h).
void SetMatrixUnit(const NvidiaFeatures& features, FoundDevice* found) {
  constexpr int64_t kOfOpenCl = 48 << 10;
  HardwareSettings& settings = found->info.settings;
  settings.matrix_rate = features.matrix_rate;
  if (features.matrix == MatrixInstructions::kWarpGroups) {
    settings.matrix_local_bytes = features.max_local_bytes;
  } else if (features.matrix == MatrixInstructions::kWarps) {
    settings.matrix_local_bytes = kOfOpenCl - kOutsideMegakernelPool;
    found->wanted_matrix_local_bytes = features.max_local_bytes - kOutsideMegakernelPool;
  }
}

FoundDevice Describe(cl_platform_id platform, cl_device_id device) {
  FoundDevice found;
  found.platform = platform;
  found.device = device;
  found.platform_version = QueryText(clGetPlatformInfo, platform, CL_PLATFORM_VERSION);
  hal::DeviceInfo& info = found.info;
  info.platform = QueryText(clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  info.name = QueryText(clGetDeviceInfo, device, CL_DEVICE_NAME);
  info.vendor = QueryText(clGetDeviceInfo, device, CL_DEVICE_VENDOR);
  info.driver_version = QueryText(clGetDeviceInfo, device, CL_DRIVER_VERSION);
  info.backend = "opencl";
  info.type = TypeOf(Query<cl_device_type>(device, CL_DEVICE_TYPE));
  info.memory_bytes = Query<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.max_allocation_bytes = Query<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  int64_t alignment_bits = Query<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
  if (alignment_bits < 8) alignment_bits = kDefaultAlignmentBits;
  info.buffer_alignment = alignment_bits / 8;
  const NvidiaFeatures features = QueryNvidiaFeatures(device);
  info.settings = SettingsFor(Probe(device, info.type, features));
  found.quirks = QuirksOf(info);
  if (info.type == hal::DeviceType::kGpu && !features.has_scopes) {
    found.quirks.batches_launches = false;
  }
  info.settings.batches_launches = found.quirks.batches_launches;
  SetMatrixUnit(features, &found);
  found.build_options = BuildOptions(device, features);
  info.poisons_memory = EnvironmentValue("TARTAN_POISON") == "1";
  info.finishes_each_launch = EnvironmentValue("TARTAN_FINISH_EACH") == "1";
  info.sub_buffers_may_overlap = !found.quirks.overlapping_sub_buffers_crash &&
                                 EnvironmentValue("TARTAN_DISJOINT_VIEWS") != "1";
  int64_t& local_memory = info.settings.local_memory_bytes;
  local_memory = std::min(local_memory, found.quirks.max_local_memory_bytes.value_or(local_memory));
  return found;
}

// A platform without devices, or with a failing driver, does not affect other platforms.
std::vector<cl_device_id> DevicesOf(cl_platform_id platform) {
  cl_uint count = 0;
  const auto ask = [&](cl_uint room, cl_device_id* found, cl_uint* there) {
    return CallCl(clGetDeviceIDs, platform, CL_DEVICE_TYPE_ALL, room, found, there) == CL_SUCCESS;
  };
  if (!ask(0, nullptr, &count)) return {};
  std::vector<cl_device_id> devices(count);
  if (!ask(count, devices.data(), nullptr)) return {};
  return devices;
}

}  // namespace

absl::StatusOr<std::vector<FoundDevice>> FindDevices() {
  cl_uint count = 0;
  const cl_int error = CallCl(clGetPlatformIDs, 0, nullptr, &count);
  if (error != CL_SUCCESS || count == 0) {
    return absl::UnavailableError(
        absl::StrCat(kRemedy, " (clGetPlatformIDs: ", ErrorName(error), ")"));
  }
  std::vector<cl_platform_id> platforms(count);
  TARTAN_CL_CALL(clGetPlatformIDs, count, platforms.data(), nullptr);
  std::vector<FoundDevice> found;
  for (cl_platform_id platform : platforms) {
    for (cl_device_id device : DevicesOf(platform)) {
      const bool usable = Query<cl_bool>(device, CL_DEVICE_AVAILABLE) &&
                          Query<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE);
      if (!usable) continue;
      found.push_back(Describe(platform, device));
      found.back().info.ordinal = static_cast<int>(found.size()) - 1;
      found.back().info.index = found.back().info.ordinal;
    }
  }
  return found;
}

}  // namespace tartan::opencl
