// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/hidden_assembly.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace tartan::opencl {

std::optional<std::string> OpenHiddenAssembly(absl::string_view ptx) {
  constexpr absl::string_view kTarget = ".target sm_90,";
  constexpr absl::string_view kTargetAlone = ".target sm_90\n";
  const bool has_target = absl::StrContains(ptx, kTarget) || absl::StrContains(ptx, kTargetAlone);
  if (!has_target || !absl::StrContains(ptx, kHiddenAssembly)) return std::nullopt;
  return absl::StrReplaceAll(
      ptx,
      {{kTarget, ".target sm_90a,"}, {kTargetAlone, ".target sm_90a\n"}, {kHiddenAssembly, ""}});
}

}  // namespace tartan::opencl
