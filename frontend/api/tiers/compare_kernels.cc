// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tiers/compare_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tile/base/environment.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status Differs(size_t output, const HostTensor& ready, int64_t i, double expected,
                     double actual) {
  return absl::InternalError(absl::StrCat("exact kernels give ", actual, " for element ", i,
                                          " of output ", output, " ", ready.shape().ToString(),
                                          ", ready kernels give ", expected));
}

absl::Status CompareOutput(size_t output, const HostTensor& ready, const HostTensor& exact,
                           double tolerance) {
  if (ready.shape() != exact.shape()) {
    return absl::InternalError(absl::StrCat("output ", output, " of exact kernels is ",
                                            exact.shape().ToString(), ", of ready kernels ",
                                            ready.shape().ToString()));
  }
  const bool is_float = IsFloat(ready.type());
  double greatest = 0;
  for (int64_t i = 0; is_float && i < ready.element_count(); ++i) {
    const double value = std::abs(ready.GetDouble(i));
    if (std::isfinite(value)) greatest = std::max(greatest, value);
  }
  constexpr int64_t kOneIn = 100;  // integers may follow from comparisons of floats
  int64_t different = 0;
  for (int64_t i = 0; i < ready.element_count(); ++i) {
    const double a = ready.GetDouble(i);
    const double b = exact.GetDouble(i);
    const bool is_same = a == b || (std::isnan(a) && std::isnan(b));
    if (is_same || (is_float && std::abs(a - b) <= tolerance * greatest)) continue;
    ++different;
    if (is_float || different * kOneIn > ready.element_count()) {
      return Differs(output, ready, i, a, b);
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool ComparesKernels() { return EnvironmentValue("TARTAN_CHECK_SWAP") == "1"; }

double SwapTolerance(const Device& device) {
  return device.precision() == Precision::kFloat32 ? kSumTolerance : kRoundedTolerance;
}

absl::Status CompareKernels(absl::Span<const HostTensor> ready, absl::Span<const HostTensor> exact,
                            double tolerance) {
  for (size_t o = 0; o < ready.size(); ++o) {
    TARTAN_RETURN_IF_ERROR(CompareOutput(o, ready[o], exact[o], tolerance));
  }
  return absl::OkStatus();
}

}  // namespace tartan::api
