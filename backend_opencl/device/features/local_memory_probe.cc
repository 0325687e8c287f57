// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/local_memory_probe.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "backend_opencl/device/features/probe_program.h"

namespace tartan::opencl {
namespace {

constexpr char kYes[] = "yes";
constexpr char kNo[] = "no";

// Returns a kernel whose array no compiler can optimize away.
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

bool TakesLocalArray(cl_context context, const FoundDevice& found, int64_t bytes,
                     DiskCache* cache) {
  if (const std::optional<bool> stored = Stored(found, bytes, cache)) return *stored;
  const absl::Status built = BuildProbe(context, found.device, KernelWith(bytes)).status();
  // A shortage of memory says nothing about the driver.
  const bool is_answer = built.ok() || !IsShortage(built);
  if (cache != nullptr && is_answer) cache->Store(KeyOf(found, bytes), built.ok() ? kYes : kNo);
  return built.ok();
}

bool KnowsLocalArray(const FoundDevice& found, int64_t bytes, DiskCache* cache) {
  return Stored(found, bytes, cache).has_value();
}

}  // namespace tartan::opencl
