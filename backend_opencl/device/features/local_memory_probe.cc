// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/local_memory_probe.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

constexpr char kYes[] = "yes";
constexpr char kNo[] = "no";

// A kernel that no compiler can do without the array in.
std::string KernelWith(int64_t bytes) {
  return absl::StrCat("__kernel void probe(__global int* out, int at) {\n  __local int array[",
                      bytes / 4,
                      "];\n"
                      "  const int item = (int)get_local_id(0);\n"
                      "  for (int i = item; i < ",
                      bytes / 4,
                      "; i += (int)get_local_size(0)) array[i] = out[i];\n"
                      "  barrier(CLK_LOCAL_MEM_FENCE);\n  out[item] = array[at + item];\n}\n");
}

std::string KeyOf(const FoundDevice& found, int64_t bytes) {
  return absl::StrCat("local array 1\n", found.info.platform, "\n", found.platform_version, "\n",
                      found.info.driver_version, "\n", found.info.name, "\n", bytes);
}

std::optional<bool> Stored(const FoundDevice& found, int64_t bytes, DiskCache* cache) {
  if (cache == nullptr) return std::nullopt;
  const std::optional<std::string> answer = cache->Load(KeyOf(found, bytes));
  if (!answer.has_value()) return std::nullopt;
  return *answer == kYes;
}

}  // namespace

bool BuildsLocalArray(cl_context context, cl_device_id device, int64_t bytes) {
  const std::string text = KernelWith(bytes);
  const char* begin = text.data();
  const size_t length = text.size();
  cl_int error = CL_SUCCESS;
  const ProgramHandle program(
      CreateCl(&error, clCreateProgramWithSource, context, 1, &begin, &length));
  if (error != CL_SUCCESS) return false;
  return CallCl(clBuildProgram, program.get(), 1, &device, "-w", nullptr, nullptr) == CL_SUCCESS;
}

bool TakesLocalArray(cl_context context, const FoundDevice& found, int64_t bytes,
                     DiskCache* cache) {
  if (const std::optional<bool> stored = Stored(found, bytes, cache)) return *stored;
  const bool takes = BuildsLocalArray(context, found.device, bytes);
  if (cache != nullptr) cache->Store(KeyOf(found, bytes), takes ? kYes : kNo);
  return takes;
}

bool KnowsLocalArray(const FoundDevice& found, int64_t bytes, DiskCache* cache) {
  return Stored(found, bytes, cache).has_value();
}

}  // namespace tartan::opencl
