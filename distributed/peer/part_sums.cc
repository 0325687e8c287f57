// SPDX-License-Identifier: Apache-2.0
#include "distributed/peer/part_sums.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

constexpr int64_t kGroup = 128;           // work-items
constexpr int64_t kMostGroups = 132 * 8;  // enough loads in flight to fill the memory of an H100

constexpr char kBody[] = R"(
kernel void add_parts(global ELEMENT* to, global const ELEMENT* own, global ELEMENT* slots,
                      long to_first, long own_first, long slot, long rank, long ranks,
                      long publishes, long count) {
  for (long i = get_global_id(0); i < count; i += get_global_size(0)) {
    SUM sum = 0;
    for (long r = 0; r < ranks; ++r)
      sum += LOAD(r == rank ? own[own_first + i] : slots[(r - (r > rank)) * slot + i]);
    const ELEMENT rounded = STORE(sum);
    to[to_first + i] = rounded;
    if (publishes) slots[(ranks - 1) * slot + i] = rounded;
  }
}
)";

std::string TypesOf(const char* element, const char* sum, const char* load, const char* store) {
  return absl::StrCat("#define ELEMENT ", element, "\n#define SUM ", sum, "\n#define LOAD(X) ",
                      load, "\n#define STORE(X) ", store, "\n");
}

absl::StatusOr<std::string> TextOf(DataType type) {
  const auto plain = [](const char* name) { return TypesOf(name, name, "(X)", "(X)"); };
  switch (type) {
    case DataType::kFloat32:
      return plain("float");
    case DataType::kFloat64:
      return absl::StrCat("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n", plain("double"));
    case DataType::kInt32:
      return plain("int");
    case DataType::kInt64:
      return plain("long");
    case DataType::kBFloat16:  // rounds to the nearest, ties to even
      return absl::StrCat(
          "ushort round_sum(float sum) {\n"
          "  const uint bits = as_uint(sum);\n"
          "  return isnan(sum) ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;\n"
          "}\n",
          TypesOf("ushort", "float", "as_float((uint)(X) << 16)", "round_sum(X)"));
    default:
      return absl::InvalidArgumentError(absl::StrCat(Name(type), " cannot be added over ranks"));
  }
}

}  // namespace

absl::StatusOr<hal::ExecutablePtr> PartSums::KernelOf(DataType type) {
  hal::ExecutablePtr& kernel = kernels_[type];
  if (kernel != nullptr) return kernel;
  TARTAN_ASSIGN_OR_RETURN(const std::string types, TextOf(type));
  hal::ExecutableSource source;
  source.format = "opencl-c";
  source.kernels.push_back({"add_parts", absl::StrCat(types, kBody)});
  TARTAN_ASSIGN_OR_RETURN(kernel, device_->Compile(source));
  return kernel;
}

absl::Status PartSums::Add(DataType type, const Elements& own, const Slots& others,
                           const Elements& to, int64_t count, bool publishes, hal::Queue& queue) {
  if (count == 0) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const hal::ExecutablePtr kernel, KernelOf(type));
  hal::Launch launch;
  launch.arguments = {to.buffer, own.buffer, others.buffer};
  launch.numbers = {to.first, own.first, others.size, rank_, ranks_, publishes ? 1 : 0, count};
  const int64_t groups = std::min((count + kGroup - 1) / kGroup, kMostGroups);
  launch.global_size = {groups * kGroup, 1, 1};
  launch.local_size = {kGroup, 1, 1};
  return queue.Run(kernel, launch).status();
}

}  // namespace tartan::distributed
