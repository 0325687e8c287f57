// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/training_ranks.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {

absl::StatusOr<GlobalOptions> OptionsOfRank(const Context& context,
                                            const train::GradientExchange& ranks) {
  GlobalOptions options = context.options();
  options.quiet = options.quiet || ranks.rank() > 0;
  int index = 0;
  if (absl::SimpleAtoi(options.device, &index)) return options;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<hal::DeviceInfo> devices,
                          At(Stage::kDevice, api::ListDevices(context.device_options())));
  TARTAN_ASSIGN_OR_RETURN(const hal::DeviceInfo first,
                          At(Stage::kDevice, api::SelectDevice(devices, options.device)));
  if (first.type == hal::DeviceType::kCpu) return options;
  std::vector<int> equal;
  for (const hal::DeviceInfo& info : devices) {
    if (info.name == first.name && info.platform == first.platform) equal.push_back(info.index);
  }
  const size_t number = static_cast<size_t>(ranks.local_rank()) % equal.size();
  options.device = absl::StrCat(equal[number]);
  return options;
}

}  // namespace tartan::cli
