// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/check_bounds.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tartan::compiler {
namespace {

constexpr char kReportName[] = "tt_report";
constexpr char kLaunchName[] = "tt_launch";
constexpr char kLimitPrefix[] = "tt_limit_";

void CheckKernel(loop::Kernel* kernel) {
  kernel->sizes.push_back({kLaunchName});
  for (const loop::Parameter& parameter : kernel->parameters) {
    kernel->sizes.push_back({absl::StrCat(kLimitPrefix, parameter.name)});
  }
  kernel->parameters.push_back({kReportName, DataType::kInt32, /*is_output=*/true});
  kernel->name += "_checked";
  kernel->checks_bounds = true;
}

// Adds a persistent report buffer, cleared before each phase. Persistent, because a temporary would
// change the memory layout of a run, and with it whether a wrong access shows.
int AddReport(std::vector<Step>* steps, KernelList* list) {
  const TensorShape shape{DataType::kInt32, {kReportWords}};
  list->buffers.push_back({"bounds report", BufferKind::kPersistent, shape, shape.byte_size()});
  const int report = static_cast<int>(list->buffers.size()) - 1;
  const FillStep clear{report, DataType::kInt32, 0};
  list->setup.insert(list->setup.begin(), clear);
  if (steps != &list->setup) steps->insert(steps->begin(), clear);
  return report;
}

int64_t ElementsOf(const BufferInfo& buffer, DataType index_type) {
  const int64_t elements = buffer.bytes / ByteWidth(buffer.shape.type);
  return index_type == DataType::kInt64
             ? elements
             : std::min<int64_t>(elements, std::numeric_limits<int32_t>::max());
}

std::vector<LaunchStep*> LaunchesOf(std::vector<Step>* steps) {
  std::vector<LaunchStep*> launches;
  for (Step& step : *steps) {
    if (auto* launch = std::get_if<LaunchStep>(&step)) launches.push_back(launch);
  }
  return launches;
}

}  // namespace

void CheckBounds(KernelList* list) {
  int64_t number = 0;
  const auto check = [&](std::vector<Step>* steps) {
    const std::vector<LaunchStep*> launches = LaunchesOf(steps);
    if (launches.empty()) return -1;
    const int report = static_cast<int>(list->buffers.size());
    for (LaunchStep* launch : launches) {
      const loop::Kernel& kernel = list->kernels[launch->kernel];
      if (kernel.sizes.empty()) std::copy_n(kernel.global_size, 3, launch->global_size.begin());
      launch->sizes.push_back(number++);
      for (const int buffer : launch->buffers) {
        launch->sizes.push_back(ElementsOf(list->buffers[buffer], kernel.index_type));
      }
      launch->buffers.push_back(report);
      launch->writes_once.clear();
    }
    return AddReport(steps, list);
  };
  list->bounds_reports.setup = check(&list->setup);
  list->bounds_reports.run = check(&list->steps);
  for (loop::Kernel& kernel : list->kernels) CheckKernel(&kernel);
}

absl::Status ErrorOfReport(const KernelList& list, absl::Span<const int32_t> words) {
  if (words[kReportLaunch] == 0) return absl::OkStatus();
  const int number = words[kReportLaunch] - 1;
  const LaunchStep* wrong = nullptr;
  int next = 0;
  for (const std::vector<Step>* steps : {&list.setup, &list.steps}) {
    for (const Step& step : *steps) {
      const auto* launch = std::get_if<LaunchStep>(&step);
      if (launch != nullptr && next++ == number) wrong = launch;
    }
  }
  if (wrong == nullptr) return absl::InternalError("a bounds report names an unknown launch");
  const int parameter = words[kReportParameter];
  std::string memory = "local memory";
  if (parameter >= 0 && parameter < static_cast<int>(wrong->buffers.size())) {
    const BufferInfo& buffer = list.buffers[wrong->buffers[parameter]];
    memory = absl::StrCat("'", buffer.name, "' ", buffer.shape.ToString());
  }
  const int64_t index = (static_cast<int64_t>(words[kReportIndexHigh]) << 32) |
                        static_cast<uint32_t>(words[kReportIndexLow]);
  return absl::OutOfRangeError(absl::StrCat(
      "kernel ", list.kernels[wrong->kernel].name, ", launch ", number, " (", wrong->description,
      "): index ", index, " with ", words[kReportLanes], " lanes is outside of ", memory,
      ", which has ", words[kReportLimit], " elements"));
}

}  // namespace tartan::compiler
