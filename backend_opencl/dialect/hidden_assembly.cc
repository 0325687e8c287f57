// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/hidden_assembly.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace tartan::opencl {

absl::StatusOr<bool> OpenHiddenAssembly(std::string* ptx) {
  if (!absl::StrContains(*ptx, kHiddenAssembly)) return false;
  constexpr absl::string_view kTarget = ".target sm_90,";
  constexpr absl::string_view kTargetAlone = ".target sm_90\n";
  if (!absl::StrContains(*ptx, kTarget) && !absl::StrContains(*ptx, kTargetAlone)) {
    return absl::InternalError("the driver builds no sm_90 program for kernels with tensor cores");
  }
  absl::StrReplaceAll(
      {{kTarget, ".target sm_90a,"}, {kTargetAlone, ".target sm_90a\n"}, {kHiddenAssembly, ""}},
      ptx);
  return true;
}

}  // namespace tartan::opencl
