// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/verify_list.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/loop/verify.h"

namespace tartan::compiler {
namespace {

class Verifier {
 public:
  explicit Verifier(const KernelList& list) : list_(list) {}

  absl::Status Check(const Step& step) const {
    return Match(
        step, [&](const LaunchStep& launch) { return CheckLaunch(launch); },
        [&](const FillStep& fill) { return CheckType(fill.buffer, fill.type, "a fill"); },
        [&](const CopyStep& copy) { return CheckCopy(copy); });
  }

  // `sees_bits`: the user may reinterpret the elements as signed integers of the same width.
  absl::Status CheckType(int buffer, DataType type, absl::string_view user,
                         bool sees_bits = false) const {
    if (buffer < 0 || buffer >= static_cast<int>(list_.buffers.size())) {
      return absl::InternalError(
          absl::StrCat(user, " names buffer ", buffer, " of ", list_.buffers.size()));
    }
    const BufferInfo& info = list_.buffers[buffer];
    if (info.shape.type == type) return absl::OkStatus();
    if (sees_bits && IsSignedInteger(type) && ByteWidth(type) == ByteWidth(info.shape.type)) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat(user, " uses '", info.name, "', whose type is ",
                                            Name(info.shape.type), ", as ", Name(type)));
  }

 private:
  absl::Status CheckLaunch(const LaunchStep& launch) const {
    const loop::Kernel& kernel = list_.kernels[launch.kernel];
    if (launch.buffers.size() != kernel.parameters.size()) {
      return absl::InternalError(absl::StrCat("kernel ", kernel.name, " has ",
                                              kernel.parameters.size(), " parameters, not ",
                                              launch.buffers.size()));
    }
    if (launch.sizes.size() != kernel.sizes.size()) {
      return absl::InternalError(absl::StrCat("kernel ", kernel.name, " has ", kernel.sizes.size(),
                                              " sizes, not ", launch.sizes.size()));
    }
    for (size_t p = 0; p < launch.buffers.size(); ++p) {
      TARTAN_RETURN_IF_ERROR(CheckType(launch.buffers[p], kernel.parameters[p].stored,
                                       absl::StrCat("kernel ", kernel.name),
                                       /*sees_bits=*/!kernel.parameters[p].is_output));
    }
    return absl::OkStatus();
  }

  absl::Status CheckCopy(const CopyStep& copy) const {
    const BufferInfo& from = list_.buffers[copy.from];
    const BufferInfo& to = list_.buffers[copy.to];
    TARTAN_RETURN_IF_ERROR(CheckType(copy.from, to.shape.type, "a copy"));
    if (from.bytes == to.bytes) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("a copy of '", from.name, "' moves ", from.bytes,
                                            " bytes, but '", to.name, "' has ", to.bytes));
  }

  const KernelList& list_;
};

// Checks that the views of each buffer are equal or disjoint.
absl::Status CheckViews(const KernelList& list) {
  std::map<int, std::set<std::pair<int64_t, int64_t>>> views;  // begin and end by buffer
  for (const BufferInfo& info : list.buffers) {
    if (info.base < 0 || info.bytes == 0) continue;
    views[info.base].emplace(info.offset, info.offset + info.bytes);
  }
  for (const auto& [base, ranges] : views) {
    int64_t end = 0;
    for (const auto& [first, last] : ranges) {
      if (first < end) {
        return absl::InternalError(
            absl::StrCat("views of '", list.buffers[base].name, "' overlap at byte ", first));
      }
      end = last;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyList(const KernelList& list) {
  std::set<absl::string_view> names;
  for (const loop::Kernel& kernel : list.kernels) {
    TARTAN_RETURN_IF_ERROR(loop::Verify(kernel));
    if (names.insert(kernel.name).second) continue;
    return absl::InternalError(absl::StrCat("two kernels are named ", kernel.name));
  }
  TARTAN_RETURN_IF_ERROR(CheckViews(list));
  const Verifier verifier(list);
  for (const auto* steps : {&list.setup, &list.steps}) {
    for (const Step& step : *steps) TARTAN_RETURN_IF_ERROR(verifier.Check(step));
  }
  for (size_t o = 0; o < list.outputs.size(); ++o) {
    TARTAN_RETURN_IF_ERROR(
        verifier.CheckType(list.outputs[o], list.output_shapes[o].type, "an output"));
  }
  return absl::OkStatus();
}

}  // namespace tartan::compiler
