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

// The trained tensors for which a kernel stores a value of a name with this suffix.
std::vector<size_t> StoredBy(const std::vector<std::string>& names, const std::string& suffix,
                             const std::map<std::string, size_t>& tensors) {
  std::vector<size_t> stored;
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, suffix)) continue;
    const auto found = tensors.find(name.substr(0, name.size() - suffix.size()));
    if (found != tensors.end()) stored.push_back(found->second);
  }
  return stored;
}

bool UpdatesSpan(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return absl::StartsWith(name, "Span") && absl::EndsWith(name, "_K0");
  });
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
    const std::vector<size_t> updated = StoredBy(names, "_K0", by_name);
    std::vector<size_t> complete = StoredBy(names, "_sum", by_name);
    const bool is_update = !updated.empty() || UpdatesSpan(names);
    const bool is_gradient =
        !complete.empty() || absl::StrContains(is_update ? kernel.name : names[0], "_grad");
    (is_gradient ? profile.backward_s
     : is_update ? profile.update_s
                 : profile.forward_s) += seconds;
    if (!is_gradient && !is_update) forward_flops += kernel.flops;
    complete.insert(complete.end(), updated.begin(), updated.end());
    for (const size_t t : complete) {
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
