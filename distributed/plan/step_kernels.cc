// SPDX-License-Identifier: Apache-2.0
#include "distributed/plan/step_kernels.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tartan::plan_cluster {
namespace {

constexpr double kFloatBytes = 4;

// The name as Tile programs have it (frontend/api/inline.cc).
std::string Identifier(const std::string& name) {
  std::string identifier;
  for (const char c : name) {
    identifier.push_back(absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_');
  }
  const bool has_letter = !identifier.empty() && absl::ascii_isalpha(identifier[0]);
  if (!has_letter) return absl::StrCat("T", identifier);
  identifier[0] = absl::ascii_toupper(static_cast<unsigned char>(identifier[0]));
  return identifier;
}

// The names of the values that a kernel computes.
std::vector<std::string> NamesOf(absl::string_view values) {
  std::vector<std::string> names;
  for (absl::string_view value : absl::StrSplit(values, absl::ByAnyChar(";,"))) {
    value = absl::StripAsciiWhitespace(value);
    names.emplace_back(value.substr(0, value.find(' ')));
  }
  return names;
}

// The trained tensors that a kernel stores.
std::vector<size_t> UpdatedBy(const std::vector<std::string>& names,
                              const std::map<std::string, size_t>& tensors) {
  std::vector<size_t> updated;
  for (const std::string& name : names) {
    const auto found =
        absl::EndsWith(name, "_K0") ? tensors.find(name.substr(0, name.size() - 3)) : tensors.end();
    if (found != tensors.end()) updated.push_back(found->second);
  }
  return updated;
}

void AddActivations(absl::Span<const TrainedTensor> tensors, double forward_flops,
                    TrainingProfile* profile) {
  double elements = 0;
  double matrices = 0;
  double widths = 0;
  for (const TrainedTensor& tensor : tensors) {
    if (tensor.dims.size() < 2) continue;
    double size = 1;
    for (const int64_t dim : tensor.dims) size *= static_cast<double>(dim);
    elements += size;
    matrices += 1;
    widths += static_cast<double>(std::min(tensor.dims[0], tensor.dims[1]));
  }
  if (matrices == 0) return;
  const double rows = forward_flops / (2 * elements);
  profile->boundary_bytes = rows * widths / matrices * kFloatBytes;
  profile->reduced_activation_bytes = profile->boundary_bytes * matrices / 2;
}

}  // namespace

TrainingProfile ProfileStep(absl::Span<const StepKernel> kernels,
                            absl::Span<const TrainedTensor> tensors, double step_s) {
  TrainingProfile profile;
  std::map<std::string, size_t> by_name;
  for (size_t t = 0; t < tensors.size(); ++t) by_name[Identifier(tensors[t].name)] = t;
  double total = 0;
  for (const StepKernel& kernel : kernels) total += kernel.seconds;
  const double scale = total > step_s ? step_s / total : 1;
  profile.host_s = std::max(0.0, step_s - scale * total);
  std::vector<bool> is_ready(tensors.size());
  double forward_flops = 0;
  for (const StepKernel& kernel : kernels) {
    const double seconds = scale * kernel.seconds;
    const std::vector<std::string> names = NamesOf(kernel.values);
    const std::vector<size_t> updated = UpdatedBy(names, by_name);
    const bool is_gradient = absl::StrContains(updated.empty() ? names[0] : kernel.name, "_grad");
    (is_gradient       ? profile.backward_s
     : updated.empty() ? profile.forward_s
                       : profile.update_s) += seconds;
    if (!is_gradient && updated.empty()) forward_flops += kernel.flops;
    for (const size_t t : updated) {
      if (!is_ready[t]) profile.gradients.push_back({profile.backward_s, tensors[t].bytes});
      is_ready[t] = true;
    }
  }
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!is_ready[t]) profile.gradients.push_back({profile.backward_s, tensors[t].bytes});
  }
  AddActivations(tensors, forward_flops, &profile);
  return profile;
}

}  // namespace tartan::plan_cluster
